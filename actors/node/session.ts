/** What connecting, reporting and going away do to a node. The newest session wins; news of an older one is ignored, because agents reconnect mid-flight. */
import { CLOSE } from '../../transport/protocol/close-codes.ts';
import type { AgentSettings, Registration } from '../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION } from '../../transport/protocol/version.ts';
import type { ExecutionId, SessionId } from '../../transport/protocol/ids.ts';
import type { DomainEvent } from '../events.ts';
import type { Change, Effect, Step } from '../kit/step.ts';
import { step, unchanged } from '../kit/step.ts';
import type { NodeRecord } from '../records.ts';
import { NO_SSH } from '../ssh/login.ts';
import { deliver } from './delivery.ts';
import { cancelsOwed, markSent } from './executions.ts';
import { lost } from './endings.ts';
import type { NodeMessage } from './messages.ts';
import { nodeSnapshot } from './snapshots.ts';
import type { LiveSession, NodeState } from './state.ts';
import { inStatus, seen, statusOf } from './status.ts';

type Said<T extends NodeMessage['type']> = Extract<NodeMessage, { type: T }>;

/** A new session: the older one is hung up, what the agent holds is reconciled with what is open, and the rest is delivered. */
export function connected(state: NodeState, message: Said<'agent-connected'>, settings: AgentSettings, nowMs: number): Step<NodeState> {
  const { session: id, hello } = message;
  const session: LiveSession = { id, report: hello.report, reportLate: false, delivered: new Set(hello.holding), ssh: NO_SSH };
  const replaced: readonly Effect[] = state.session === null || state.session.id === id ? [] : [{ type: 'hang-up', session: state.session.id, code: CLOSE.replaced, reason: 'a newer session of this node took over' }];

  const registered = registration({ ...state, session }, hello.registration, nowMs);
  const status = inStatus(registered.state, statusOf(session), nowMs);
  const reconciled = reconcile(status.state, id, hello.holding, nowMs);
  const delivery = deliver(reconciled.state, nowMs);

  const welcome: Effect = { type: 'send', session: id, frame: { type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: state.record.clusterName, settings } };
  return step(delivery.state, [...registered.changes, ...status.changes, ...reconciled.changes], [...replaced, welcome, ...reconciled.effects, ...delivery.effects]);
}

/** The session ended. The node stays what it was until it was silent for long enough. */
export function disconnected(state: NodeState, message: Said<'agent-disconnected'>, unreachableAfterMs: number, nowMs: number): Step<NodeState> {
  const record = { ...state.record, lastSeenAtMs: message.lastHeardMs };
  const afterMs = Math.max(0, message.lastHeardMs + unreachableAfterMs - nowMs);
  return step({ ...state, record, session: null }, [], [{ type: 'remind', key: 'silence', afterMs, message: { type: 'silence-elapsed', sinceMs: message.lastHeardMs } }]);
}

/** A report: in time, and perhaps of another health. */
export function reported(state: NodeState, session: LiveSession, report: LiveSession['report'], nowMs: number): Step<NodeState> {
  const heard: LiveSession = { ...session, report, reportLate: false };
  return inStatus({ ...state, session: heard }, statusOf(heard), nowMs);
}

/** Reports stopped while the session lives. */
export function late(state: NodeState, session: LiveSession, nowMs: number): Step<NodeState> {
  const silent: LiveSession = { ...session, reportLate: true };
  return inStatus({ ...state, session: silent }, statusOf(silent), nowMs);
}

/** Nothing was heard for long enough, and no session came in the meantime. */
export function silent(state: NodeState, nowMs: number): Step<NodeState> {
  return state.session === null ? inStatus(state, 'unreachable', nowMs) : unchanged(state);
}

/**
 * The agent's journal is the truth about what it has. Pending and held: sent. Sent and not held: the machine lost it, so it is
 * over with 137 and never runs again (C3). Held and not open here: looked up, then ended at the agent.
 */
function reconcile(state: NodeState, session: SessionId, holding: readonly ExecutionId[], nowMs: number): Step<NodeState> {
  const held = new Set(holding);
  const sent = markSent(state, holding, nowMs);
  const open = new Map(sent.state.open);
  const changes: Change[] = [...sent.changes];
  for (const execution of sent.state.open.values()) {
    if (execution.status !== 'sent' || held.has(execution.id)) continue;
    open.delete(execution.id);
    changes.push(lost(execution, nowMs));
  }
  const strange = holding.filter((id) => !state.open.has(id));
  // The agent has them, as if it acknowledged them now: those that are open become sent, and get the cancel that they missed.
  const lookUp: readonly Effect[] = strange.length === 0 ? [] : [{ type: 'look-up', executions: strange, retry: { type: 'executions-acknowledged', session, executions: strange } }];
  const next = { ...sent.state, open };
  return step(next, changes, [...lookUp, ...cancelsOwed(next, [...open.keys()])]);
}

/** Stores what the agent says of itself when it is news. */
function registration(state: NodeState, said: Registration, nowMs: number): Step<NodeState> {
  const known = state.record;
  if (isSame(known, said)) return unchanged(state);
  const record: NodeRecord = { ...seen(state, nowMs), version: said.version, idType: said.id_type, ports: said.ports, selfUpdateEnabled: said.self_update_enabled, updatedAtMs: nowMs };
  const data = nodeSnapshot(record);
  const events: DomainEvent[] = [{ type: 'edge.node.reregistered', subject: record.id, atMs: nowMs, data }];
  if (known.version !== said.version) events.push({ type: 'edge.node.version_changed', subject: record.id, atMs: nowMs, data: { ...data, previous_version: known.version } });
  const change: Change = {
    write: { kind: 'node-registered', node: record.id, version: record.version, idType: record.idType, ports: record.ports, selfUpdateEnabled: record.selfUpdateEnabled, atMs: nowMs },
    events,
    notices: [{ type: 'node-changed', node: record.id }, { type: 'events-stored' }],
  };
  return step({ ...state, record }, [change]);
}

function isSame(known: NodeRecord, said: Registration): boolean {
  const ports = Object.keys(said.ports) as (keyof Registration['ports'])[];
  return known.version === said.version && known.idType === said.id_type && known.selfUpdateEnabled === said.self_update_enabled && ports.every((port) => known.ports[port] === said.ports[port]);
}
