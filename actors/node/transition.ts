/** The behaviour of a node. */
import { answered, asked } from './asked.ts';
import type { AgentSettings } from '../../transport/protocol/frames.ts';
import type { ExecutionId, SessionId } from '../../transport/protocol/ids.ts';
import type { Behaviour } from '../behaviour.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged, unreachable } from '../step.ts';
import {
  changeCluster,
  clearRecoveryKey,
  createAlias,
  deleteAlias,
  forget,
  remove,
  revoked,
  setRecoveryKey,
} from './administration.ts';
import { deliver, rescan, withheld } from './delivery.ts';
import {
  acknowledged,
  cancel,
  cancelRecoveryEffects,
  expired,
  finished,
  loaded,
  lookedUp,
  outputPart,
  run,
} from './executions.ts';
import { advertised } from './vpn-advertisement.ts';
import { directWanted, vpnRefused, vpnReported, vpnTold, observed } from './vpn.ts';
import { withinLookUps } from './look-ups.ts';
import type { NodeMessage } from './messages.ts';
import { connected, disconnected, late, reported, silenceRecoveryEffects, silent } from './session.ts';
import { dampingRecoveryEffects, shown } from './status.ts';
import {
  attempted,
  createSshPublicKey,
  createSshUsername,
  deleteSshPublicKey,
  deleteSshUsername,
  grantsChecked,
  grantRecoveryEffects,
  grantsReported,
  loginRefused,
  verified,
  unansweredReported,
} from './ssh.ts';
import { NOTHING_READ } from './state.ts';
import type { LiveSession, NodeState } from './state.ts';

/** What a node's behaviour depends on besides its state. */
export interface NodeSettings {
  /** Silence after which a node without a session is unreachable, in ms. */
  readonly unreachableAfterMs: number;
  /**
   * How long a better status must have lasted before it is told, once a node changes often, in ms; 0: none is held
   * back.
   */
  readonly dampingMs: number;
  readonly vpnDomain: string;
  /** Handed to every agent with its welcome. */
  readonly agent: AgentSettings;
}

/** What a node does with one message. Pure: `nowMs` is Unix time in ms. */
export function nodeBehaviour(settings: NodeSettings): Behaviour<NodeState, NodeMessage> {
  function decide(state: NodeState, message: NodeMessage, nowMs: number): Step<NodeState> {
    switch (message.type) {
      case 'agent-connected':
        return connected(state, message, settings, nowMs);
      case 'agent-disconnected':
        return current(state, message.session) === null
          ? unchanged(state)
          : disconnected(state, message, settings.unreachableAfterMs, nowMs);
      case 'agent-reported': {
        const session = current(state, message.session);
        return session === null
          ? unchanged(state)
          : reported(state, session, message.report, settings.dampingMs, nowMs);
      }
      case 'report-late': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : late(state, session, settings.dampingMs, nowMs);
      }
      case 'silence-elapsed':
        return silent(state, message, settings.unreachableAfterMs, nowMs);
      case 'status-lasted':
        return shown(state, settings.dampingMs, nowMs);
      case 'executions-acknowledged':
        return current(state, message.session) === null ? unchanged(state) : acknowledged(state, message, nowMs);
      case 'output-part-arrived':
        return current(state, message.session) === null ? unchanged(state) : outputPart(state, message);
      case 'results-arrived':
        return current(state, message.session) === null ? unchanged(state) : finished(state, message, nowMs);
      case 'ssh-attempted': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : attempted(state, session, message, nowMs);
      }
      case 'ssh-verified': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : verified(state, session, message, nowMs);
      }
      case 'ssh-unanswered-reported': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : unansweredReported(state, session, message, nowMs);
      }
      case 'ssh-grants-reported': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : grantsReported(state, session, message);
      }
      case 'ssh-grants-checked':
        return current(state, message.session) === null ? unchanged(state) : grantsChecked(state, message);
      case 'mesh-advertised': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : advertised(state, session, message, settings.agent.mesh, nowMs);
      }
      case 'mesh-observed':
        return observed(state, message, nowMs);
      case 'direct-wanted': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : directWanted(state, message, nowMs);
      }
      case 'mesh-reported': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : vpnReported(state, session, message, nowMs);
      }
      case 'mesh-told':
        return vpnTold(state, message);
      case 'run':
        return run(state, message, nowMs);
      case 'rescan':
        return rescan(state);
      case 'executions-loaded':
        return loaded(state, message, nowMs);
      case 'executions-asked':
        return current(state, message.session) === null ? unchanged(state) : asked(state, message);
      case 'executions-looked-up':
        return message.retry.type === 'executions-asked'
          ? answered(state, message, message.retry, nowMs, decide)
          : lookedUp(state, message, nowMs, decide);
      case 'delivery-withheld': {
        const session = current(state, message.session);
        return session === null ? unchanged(state) : withheld(state, session, message.executions, nowMs);
      }
      case 'executions-expired':
        return expired(state, message, nowMs);
      case 'cancel':
        return cancel(state, message, nowMs);
      case 'create-alias':
        return createAlias(state, message, settings.vpnDomain, nowMs);
      case 'delete-alias':
        return deleteAlias(state, message);
      case 'create-ssh-username':
        return createSshUsername(state, message, nowMs);
      case 'delete-ssh-username':
        return deleteSshUsername(state, message);
      case 'create-ssh-public-key':
        return createSshPublicKey(state, message, nowMs);
      case 'delete-ssh-public-key':
        return deleteSshPublicKey(state, message);
      case 'set-recovery-key':
        return setRecoveryKey(state, message, nowMs);
      case 'clear-recovery-key':
        return clearRecoveryKey(state, message);
      case 'change-cluster':
        return changeCluster(state, message, settings.vpnDomain, nowMs);
      case 'delete':
        return remove(state, message, nowMs);
      case 'forget':
        return forget(state, nowMs);
      case 'revoked':
        return revoked(state, message.reason);
      case 'refused':
        return refused(state, message, nowMs);
      default:
        return unreachable(message);
    }
  }

  /** Keeps count of the reads under way, and of what ended meanwhile. */
  function transition(state: NodeState, message: NodeMessage, nowMs: number): Step<NodeState> {
    if (message.type !== 'executions-loaded' && message.type !== 'executions-looked-up')
      return counted(withinLookUps(decide(state, message, nowMs), nowMs));
    // Asked by an actor that crashed: what it says is older than the rows that this one was made of.
    if (state.reads === 0)
      return message.type === 'executions-loaded' ? unchanged(state) : counted(decide(state, message.retry, nowMs));
    return counted(decide({ ...state, reads: state.reads - 1 }, message, nowMs));
  }

  return { transition, recoveryEffects: (state, nowMs) => recoveryEffects(state, settings, nowMs), refreshed };
}

function counted(decided: Step<NodeState>): Step<NodeState> {
  const { state, effects } = decided;
  const reads =
    state.reads + effects.filter((effect) => effect.type === 'load-open' || effect.type === 'look-up').length;
  const over = reads === 0 ? NOTHING_READ.over : state.over;
  return reads === state.reads && over === state.over
    ? decided
    : step({ ...state, reads, over }, decided.changes, effects);
}

/** The live session when the news is of it; null when it is of an older one. */
function current(state: NodeState, session: SessionId): LiveSession | null {
  return state.session?.id === session ? state.session : null;
}

/** A write found its row in another state: someone else ended that execution, so the agent must end it too. */
function refused(state: NodeState, message: Extract<NodeMessage, { type: 'refused' }>, nowMs: number): Step<NodeState> {
  if (message.write.kind === 'ssh-verified') return loginRefused(state, message.write);
  if (message.write.kind === 'mesh-member-set') return vpnRefused(state, message.refusal);
  const next = deliver(state, nowMs);
  if (!('execution' in message.write) || state.session === null || state.open.has(message.write.execution)) return next;
  return step(
    next.state,
    [],
    [
      { type: 'send', session: state.session.id, frame: { type: 'settle', executions: [message.write.execution] } },
      ...next.effects,
    ],
  );
}

/**
 * After boot or a crash there is no session: the agent comes back by itself. Cancels that were asked for are asked for
 * again.
 */
function recoveryEffects(state: NodeState, settings: NodeSettings, nowMs: number): readonly Effect[] {
  const effects: Effect[] = [...cancelRecoveryEffects(state, [...state.open.keys()]), ...grantRecoveryEffects(state)];
  const pendingCancels = [...state.open.values()].filter(
    (execution) => execution.status === 'pending' && execution.cancelRequestedAtMs !== null,
  );
  if (pendingCancels.length > 0) {
    effects.push({
      type: 'tell',
      told: {
        to: { kind: 'node', id: state.record.id },
        message: { type: 'cancel', executions: pendingCancels.map((execution) => execution.id), replyTo: null },
      },
    });
  }
  // Silence counts from now, not from what was last stored.
  effects.push(
    ...silenceRecoveryEffects(state, settings.unreachableAfterMs, nowMs),
    ...dampingRecoveryEffects(state, settings.dampingMs, nowMs),
  );
  return effects;
}

/** Rows know the executions, the live state knows the session, and what is being read. */
function refreshed(live: NodeState, rows: NodeState): NodeState {
  const loading = live.loading === false ? false : 'more';
  return {
    ...rows,
    session: live.session,
    sshAllowance: live.sshAllowance,
    lookUps: live.lookUps,
    vpnAllowances: live.vpnAllowances,
    loading,
    reads: live.reads,
    over: live.reads === 0 ? live.over : new Set([...live.over, ...endedSince(live, rows)]),
  };
}

/**
 * What was open and is not any more. Behind a backlog the rows hold the oldest ones only: of what is younger nothing is
 * known.
 */
function endedSince(live: NodeState, rows: NodeState): readonly ExecutionId[] {
  const youngest = rows.backlog ? [...rows.open.keys()].at(-1) : undefined;
  return [...live.open.keys()].filter((id) => !rows.open.has(id) && (youngest === undefined || id < youngest));
}
