/**
 * What connecting, reporting and going away do to a node. The newest session wins; news of an older one is ignored,
 * because agents reconnect mid-flight.
 */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import { PROTOCOL_VERSION } from '../../transport/protocol/version.ts';
import type { ExecutionId, SessionId } from '../../transport/protocol/ids.ts';
import type { Effect, Step } from '../step.ts';
import { step } from '../step.ts';
import { NO_SSH } from '../ssh/login-attempts.ts';
import { deliver } from './delivery.ts';
import { cancelRecoveryEffects, markSent } from './executions.ts';
import { missing } from './looked-up.ts';
import { NEW_VPN_SESSION } from './vpn-state.ts';
import type { MessageOf } from './messages.ts';
import { registration } from './registration.ts';
import type { LiveSession, NodeState } from './state.ts';
import { silenceEffect, silenceRecoveryEffects } from './reachability.ts';
import { judged, shown } from './status.ts';
import { updatesOfSession } from './updates.ts';

/**
 * A new session: the older one is hung up, what the agent holds is reconciled with what is open, and the rest is
 * delivered.
 */
export function connected(
  state: NodeState,
  message: MessageOf<'agent-connected'>,
  { agent, dampingMs }: { readonly agent: AgentSettings; readonly dampingMs: number },
  nowMs: number,
): Step<NodeState> {
  const { session: id, hello } = message;
  const session = judged(
    {
      id,
      connectedAtMs: nowMs,
      report: hello.report,
      reportedAtMs: nowMs,
      reportLate: false,
      wellSinceMs: null,
      relayedBy: message.relayedBy ?? null,
      delivered: new Set(hello.holding),
      recalls: hello.recalls ?? false,
      updates: hello.updates ?? false,
      ssh: NO_SSH,
      vpn: NEW_VPN_SESSION,
    },
    nowMs,
  );
  const replaced: readonly Effect[] =
    state.session === null || state.session.id === id
      ? []
      : [
          {
            type: 'hang-up',
            session: state.session.id,
            code: CLOSE.replaced,
            reason: 'a newer session of this node took over',
          },
        ];

  const registered = registration({ ...state, session }, hello.registration, nowMs);
  const status = shown(registered.state, dampingMs, nowMs);
  const reconciled = reconcile(status.state, id, hello.holding, nowMs);
  const delivery = deliver(reconciled.state, nowMs);
  const updates = updatesOfSession(delivery.state, nowMs);

  const welcome: Effect = {
    type: 'send',
    isEarly: true, // a fleet that comes back is let in at once, and its statuses are stored behind it
    session: id,
    cluster: state.record.cluster, // the gate may have read its row before the node moved
    frame: { type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: state.record.clusterName, settings: agent },
  };
  return step(
    updates.state,
    [...registered.changes, ...status.changes, ...reconciled.changes, ...updates.changes],
    [...replaced, welcome, ...status.effects, ...reconciled.effects, ...delivery.effects, ...updates.effects],
  );
}

/** The session ended. The node stays what it was until it was silent for long enough. */
export function disconnected(
  state: NodeState,
  message: MessageOf<'agent-disconnected'>,
  unreachableAfterMs: number,
  nowMs: number,
): Step<NodeState> {
  const gone = { ...state, record: { ...state.record, lastSeenAtMs: message.lastHeardMs }, session: null };
  return step(
    gone,
    [],
    message.isOurs
      ? silenceRecoveryEffects(gone, unreachableAfterMs, nowMs)
      : [silenceEffect(message.lastHeardMs + unreachableAfterMs - nowMs, nowMs)],
  );
}

/** A report: in time, and perhaps of another health. */
export function reported(
  state: NodeState,
  session: LiveSession,
  report: LiveSession['report'],
  dampingMs: number,
  nowMs: number,
): Step<NodeState> {
  return shown(
    { ...state, session: judged({ ...session, report, reportedAtMs: nowMs, reportLate: false }, nowMs) },
    dampingMs,
    nowMs,
  );
}

/** Reports stopped while the session lives. */
export function late(state: NodeState, session: LiveSession, dampingMs: number, nowMs: number): Step<NodeState> {
  return shown({ ...state, session: judged({ ...session, reportLate: true }, nowMs) }, dampingMs, nowMs);
}

/**
 * The agent's journal is the truth about what it has. Pending and held: sent. Sent and not held: it ended there, and
 * this database is one of before, or the machine lost it; it never runs again (C3). Held and not open here: looked up,
 * then ended at the agent.
 */
function reconcile(
  state: NodeState,
  session: SessionId,
  holding: readonly ExecutionId[],
  nowMs: number,
): Step<NodeState> {
  const sent = markSent(state, holding, nowMs);
  const { state: next, changes, effects } = missing(sent.state, [...sent.state.open.values()], nowMs);
  const strange = holding.filter((id) => !state.open.has(id));
  // The agent has them, as if it acknowledged them now: those that are open become sent, and get the cancel that they
  // missed.
  const lookUp: readonly Effect[] =
    strange.length === 0
      ? []
      : [
          {
            type: 'look-up',
            executions: strange,
            retry: { type: 'executions-acknowledged', session, executions: strange, atMs: nowMs },
          },
        ];
  return step(
    next,
    [...sent.changes, ...changes],
    [...effects, ...lookUp, ...cancelRecoveryEffects(next, [...next.open.keys()])],
  );
}
