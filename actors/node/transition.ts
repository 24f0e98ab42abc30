/** The behaviour of a node. */
import { answered, asked } from './start-permission.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { SessionId } from '../../transport/protocol/ids.ts';
import type { Behaviour } from '../behaviour.ts';
import { step, unchanged, unreachable, type Step } from '../step.ts';
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
import { deliver, hasUndelivered, rescan, withheld } from './delivery.ts';
import { acknowledged, cancel, expired, finished, loaded, outputPart, run } from './executions.ts';
import { factsChanged } from './facts.ts';
import { removeLabel, setLabels } from './labels.ts';
import { lookedUp } from './looked-up.ts';
import { advertised } from './vpn-advertisement.ts';
import { directWanted, vpnRefused, vpnReported, vpnTold, observed } from './vpn.ts';
import { withinLookUps } from './look-ups.ts';
import type { NodeMessage } from './messages.ts';
import { silent } from './reachability.ts';
import { recoveryEffects, refreshed } from './recovery.ts';
import { connected, disconnected, late, reported } from './session.ts';
import { shown } from './status.ts';
import { attempted, grantsChecked, grantsReported, loginRefused, verified, unansweredReported } from './ssh-logins.ts';
import { createSshPublicKey, createSshUsername, deleteSshPublicKey, deleteSshUsername } from './ssh-usernames.ts';
import { NOTHING_READ, type NodeState } from './state.ts';
import { update, updateAnswered, updateEnded } from './updates.ts';

/**
 * What an agent acknowledged waits for its result, in ms: most commands take less, and both are one write then. As long
 * a command that takes longer is shown as pending.
 */
const RESULT_LINGER_MS = 20;

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
  const decide: Decide = (state, message, nowMs) =>
    isNews(message) ? ofSession(state, message, settings, nowMs) : ofNode(state, message, settings, nowMs, decide);
  return {
    transition: (state, message, nowMs) => transition(state, message, nowMs, decide),
    recoveryEffects: (state, nowMs) => recoveryEffects(state, settings, nowMs),
    refreshed,
    lingerMs: (state, message) =>
      message.type === 'executions-acknowledged' && !hasUndelivered(state) ? RESULT_LINGER_MS : 0,
  };
}

type Decide = (state: NodeState, message: NodeMessage, nowMs: number) => Step<NodeState>;

/** Keeps count of the reads under way, and of what ended meanwhile. */
function transition(state: NodeState, message: NodeMessage, nowMs: number, decide: Decide): Step<NodeState> {
  if (message.type !== 'executions-loaded' && message.type !== 'executions-looked-up')
    return counted(withinLookUps(decide(state, message, nowMs), nowMs));
  // Asked by an actor that crashed: what it says is older than the rows that this one was made of.
  if (state.reads === 0)
    return message.type === 'executions-loaded' ? unchanged(state) : counted(decide(state, message.retry, nowMs));
  return counted(decide({ ...state, reads: state.reads - 1 }, message, nowMs));
}

/** News of a session, or of what it asked for: nothing once a newer session took its place. */
type News = Exclude<Extract<NodeMessage, { readonly session: SessionId }>, { readonly type: 'agent-connected' }>;

function isNews(message: NodeMessage): message is News {
  return 'session' in message && message.type !== 'agent-connected';
}

function ofSession(state: NodeState, message: News, settings: NodeSettings, nowMs: number): Step<NodeState> {
  const { session } = state;
  if (session?.id !== message.session) return unchanged(state);
  switch (message.type) {
    case 'agent-disconnected':
      return disconnected(state, message, settings.unreachableAfterMs, nowMs);
    case 'agent-reported':
      return reported(state, session, message.report, settings.dampingMs, nowMs);
    case 'report-late':
      return late(state, session, settings.dampingMs, nowMs);
    case 'executions-acknowledged':
      return acknowledged(state, message, nowMs);
    case 'executions-asked':
      return asked(state, message);
    case 'output-part-arrived':
      return outputPart(state, message);
    case 'results-arrived':
      return finished(state, message, nowMs);
    case 'delivery-withheld':
      return withheld(state, session, message.executions, nowMs);
    case 'ssh-attempted':
      return attempted(state, session, message, nowMs);
    case 'ssh-verified':
      return verified(state, session, message, nowMs);
    case 'ssh-unanswered-reported':
      return unansweredReported(state, session, message, nowMs);
    case 'ssh-grants-reported':
      return grantsReported(state, session, message);
    case 'ssh-grants-checked':
      return grantsChecked(state, message);
    case 'facts-changed':
      return factsChanged(state, message, nowMs);
    case 'vpn-advertised':
      return advertised(state, session, message, settings.agent.mesh, nowMs);
    case 'direct-wanted':
      return directWanted(state, message, nowMs);
    case 'update-answered':
      return updateAnswered(state, message, nowMs);
    case 'update-ended':
      return updateEnded(state, session, message.outcome, nowMs);
    case 'vpn-reported':
      return vpnReported(state, session, message, nowMs);
    default:
      return unreachable(message);
  }
}

function ofNode(
  state: NodeState,
  message: Exclude<NodeMessage, News>,
  settings: NodeSettings,
  nowMs: number,
  decide: Decide,
): Step<NodeState> {
  switch (message.type) {
    case 'agent-connected':
      return connected(state, message, settings, nowMs);
    case 'silence-elapsed':
      return silent(state, message, settings.unreachableAfterMs, nowMs);
    case 'status-lasted':
      return shown(state, settings.dampingMs, nowMs);
    case 'vpn-observed':
      return observed(state, message, nowMs);
    case 'vpn-told':
      return vpnTold(state, message);
    case 'run':
      return run(state, message, nowMs);
    case 'rescan':
      return rescan(state);
    case 'update':
      return update(state, message.due, nowMs);
    case 'executions-loaded':
      return loaded(state, message, nowMs);
    case 'executions-looked-up':
      return message.retry.type === 'executions-asked'
        ? answered(state, message, message.retry, nowMs, decide)
        : lookedUp(state, message, nowMs, decide);
    case 'executions-expired':
      return expired(state, message, nowMs);
    case 'cancel':
      return cancel(state, message, nowMs);
    case 'forget':
      return forget(state, nowMs);
    case 'revoked':
      return revoked(state, message.reason);
    case 'refused':
      return refused(state, message, nowMs);
    case 'create-alias':
    case 'delete-alias':
    case 'create-ssh-username':
    case 'delete-ssh-username':
    case 'create-ssh-public-key':
    case 'delete-ssh-public-key':
    case 'set-recovery-key':
    case 'clear-recovery-key':
    case 'set-labels':
    case 'remove-label':
    case 'change-cluster':
    case 'delete':
      return administered(state, message, settings, nowMs);
    default:
      return unreachable(message);
  }
}

/** What administrators ask for. */
type Request = Extract<
  NodeMessage,
  {
    readonly type:
      | `${'create' | 'delete'}-${'alias' | 'ssh-username' | 'ssh-public-key'}`
      | `${'set' | 'clear'}-recovery-key`
      | 'set-labels'
      | 'remove-label'
      | 'change-cluster'
      | 'delete';
  }
>;

function administered(state: NodeState, message: Request, settings: NodeSettings, nowMs: number): Step<NodeState> {
  switch (message.type) {
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
    case 'set-labels':
      return setLabels(state, message, settings.vpnDomain, nowMs);
    case 'remove-label':
      return removeLabel(state, message, nowMs);
    case 'change-cluster':
      return changeCluster(state, message, settings.vpnDomain, nowMs);
    case 'delete':
      return remove(state, message, nowMs);
    default:
      return unreachable(message);
  }
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

/** A write found its row in another state: someone else ended that execution, so the agent must end it too. */
function refused(state: NodeState, message: Extract<NodeMessage, { type: 'refused' }>, nowMs: number): Step<NodeState> {
  if (message.write.kind === 'ssh-verified') return loginRefused(state, message.write);
  if (message.write.kind === 'vpn-member-set') return vpnRefused(state, message.refusal);
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
