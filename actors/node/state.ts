/** What a node's actor holds: its record, its session, and the executions that its agent still waits for. */
import type { TokenBucket } from '../../transport/net/token-bucket.ts';
import type { HealthReport } from '../../transport/protocol/agent-description.ts';
import type { ExecutionId, NodeId, SessionId } from '../../transport/protocol/ids.ts';
import type { AliasRecord, VpnPlace, NodeRecord, OpenExecution } from '../records.ts';
import type { NodeUpdates } from './updates-state.ts';
import type { VpnAllowances, VpnSession } from './vpn-state.ts';
import type { SshAllowance, SshSession } from '../ssh/login-attempts.ts';

/**
 * Most open executions that a node holds in memory; the rest waits in the database as `backlog`. Bounds memory (L2) and
 * the agent's `holding`.
 */
export const OPEN_EXECUTIONS_MAX = 256;

/**
 * The live session, as far as behaviour cares. `delivered` are executions sent or recalled on this session or held by
 * the agent, until they are over: it grows no larger than what is open.
 */
export interface LiveSession {
  readonly id: SessionId;
  readonly connectedAtMs: number;
  readonly report: HealthReport;
  readonly reportedAtMs: number;
  readonly reportLate: boolean;
  /** Since when everything that it reports works; null while something does not. */
  readonly wellSinceMs: number | null;
  readonly delivered: ReadonlySet<ExecutionId>;
  /** The admin, by its name, that passes it on; null: its agent came to the owner by itself. */
  readonly relayedBy: string | null;
  /** Whether the agent says how executions ended that it no longer holds. */
  readonly recalls: boolean;
  /** Whether it tells its updater when it is asked to. */
  readonly updates: boolean;
  readonly ssh: SshSession;
  readonly vpn: VpnSession;
}

/** The state of one node. `open` is bounded by OPEN_EXECUTIONS_MAX. */
export interface NodeState {
  readonly record: NodeRecord;
  readonly aliases: readonly AliasRecord[];
  /** As it is known to the VPN; null: it is no member. */
  readonly vpn: VpnPlace | null;
  readonly session: LiveSession | null;
  /** In creation order. */
  readonly open: ReadonlyMap<ExecutionId, OpenExecution>;
  /** More open executions wait in the database than `open` holds. */
  readonly backlog: boolean;
  /**
   * Whether a `load-open` is under way. `more`: rows were stored since it was asked for, so that it must be asked for
   * again.
   */
  readonly loading: false | 'asked' | 'more';
  /** Loads and look-ups under way. */
  readonly reads: number;
  /**
   * What ended since the oldest of them was asked for: it may show these as open, and they must not run again (C3).
   * Empty when none is under way.
   */
  readonly over: ReadonlySet<ExecutionId>;
  /**
   * The youngest execution that the rows brought here. Word of this one or an older one that comes by itself may be
   * late: it was read, ran and is over, perhaps, before the answer to its commit was here. Null: the rows brought none.
   */
  readonly newestRead: ExecutionId | null;
  /** How many SSH logins are looked at from now on. */
  readonly sshAllowance: SshAllowance;
  /** How many executions that are not here its agent may still name. */
  readonly lookUps: TokenBucket;
  /** What it may still cost the other members of its VPN. */
  readonly vpnAllowances: VpnAllowances;
  /** How much news of its machine is stored from now on. */
  readonly factsAllowance: TokenBucket;
  readonly updates: NodeUpdates;
}

/** A node that reads nothing. One object for all. */
export const NOTHING_READ: Pick<NodeState, 'loading' | 'reads' | 'over' | 'newestRead'> = {
  loading: false,
  reads: 0,
  over: new Set(),
  newestRead: null,
};

/** The younger of these: their ids are in the order of their creation. */
export function youngest(known: ExecutionId | null, executions: Iterable<ExecutionId>): ExecutionId | null {
  let found = known;
  for (const id of executions) if (found === null || id > found) found = id;
  return found;
}

/** A node's own id. */
export function nodeId(state: NodeState): NodeId {
  return state.record.id;
}
