/** What operators do to a node: aliases, recovery key, move, delete. */
import { CLOSE, DELETED_REASON } from '../../transport/protocol/close-codes.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { encodeRecoveryKey } from '../../transport/protocol/enrollment.ts';
import { VPN_ALIASES_MAX } from '../../transport/protocol/vpn.ts';
import type { Notice } from '../notice.ts';
import type { IdempotencyRecord } from '../records.ts';
import type { Effect, Step } from '../step.ts';
import { answer, refuse, step, unchanged } from '../step.ts';
import { ok } from '../refusal.ts';
import type { Idempotency, MessageOf } from './messages.ts';
import { aliasResource, nodeResource } from './resource.ts';
import { nodeSnapshot } from './snapshots.ts';
import { NOTHING_READ, type NodeState } from './state.ts';
import { seen } from './status.ts';

/**
 * Adds an alias; not more than the names of a machine that others are told of. A name taken in the cluster is refused
 * by its constraint.
 */
export function createAlias(
  state: NodeState,
  message: MessageOf<'create-alias'>,
  domain: string,
  nowMs: number,
): Step<NodeState> {
  if (state.aliases.length >= VPN_ALIASES_MAX)
    return step(
      state,
      [],
      [
        refuse(message.replyTo, {
          code: 'conflict',
          message: `The node has ${VPN_ALIASES_MAX} aliases already. Delete one first.`,
        }),
      ],
    );
  const { record } = state;
  const alias = { id: message.id, name: message.name };
  const resource = aliasResource(alias, record, domain, nowMs);
  const write = {
    kind: 'alias-created' as const,
    id: alias.id,
    node: record.id,
    cluster: record.cluster,
    name: alias.name,
    atMs: nowMs,
  };
  return step(
    { ...state, aliases: [...state.aliases, alias] },
    [
      {
        write,
        events: [],
        notices: changed(state),
        idempotencyRecord: idempotencyRecord(message.idempotency, resource),
      },
    ],
    [answer(message.replyTo, ok(resource))],
  );
}

/** Removes an alias of this node. */
export function deleteAlias(state: NodeState, message: MessageOf<'delete-alias'>): Step<NodeState> {
  const aliases = state.aliases.filter((alias) => alias.id !== message.id);
  if (aliases.length === state.aliases.length)
    return step(state, [], [refuse(message.replyTo, { code: 'not_found', message: 'Resource not found' })]);
  return step(
    { ...state, aliases },
    [{ write: { kind: 'alias-deleted', id: message.id }, events: [], notices: changed(state) }],
    [answer(message.replyTo, ok(null))],
  );
}

/** Stores a new recovery key in place of an older one; its text is answered this once. */
export function setRecoveryKey(
  state: NodeState,
  message: MessageOf<'set-recovery-key'>,
  nowMs: number,
): Step<NodeState> {
  const { record } = state;
  const resource = { recovery_key: encodeRecoveryKey(record.id, message.key) };
  const write = {
    kind: 'recovery-key-set' as const,
    node: record.id,
    cluster: record.cluster,
    keyHash: message.keyHash,
    atMs: nowMs,
  };
  return step(
    state,
    [{ write, events: [], notices: [], idempotencyRecord: idempotencyRecord(message.idempotency, resource) }],
    [answer(message.replyTo, ok(resource))],
  );
}

/** Removes the recovery key; none is a refusal by its guard. */
export function clearRecoveryKey(state: NodeState, message: MessageOf<'clear-recovery-key'>): Step<NodeState> {
  return step(
    state,
    [{ write: { kind: 'recovery-key-cleared', node: state.record.id }, events: [], notices: [] }],
    [answer(message.replyTo, ok(null))],
  );
}

/**
 * Moves the node. Its recovery key goes in the same transaction (E2); its agent says hello again and learns the new
 * cluster.
 */
export function changeCluster(
  state: NodeState,
  message: MessageOf<'change-cluster'>,
  domain: string,
  nowMs: number,
): Step<NodeState> {
  const { record } = state;
  if (record.cluster === message.to)
    return step(state, [], [answer(message.replyTo, ok(nodeResource(record, state.aliases, domain)))]);
  const moved = { ...seen(state, nowMs), cluster: message.to, clusterName: message.toName, updatedAtMs: nowMs };
  const write = { kind: 'node-moved' as const, node: record.id, from: record.cluster, to: message.to, atMs: nowMs };
  const event = {
    type: 'edge.node.cluster_changed' as const,
    subject: record.id,
    atMs: nowMs,
    data: { ...nodeSnapshot(moved, state.aliases), previous_cluster_name: record.clusterName },
  };
  const effects: Effect[] = [
    ...renewal(state, message.to),
    { type: 'tell', told: { to: { kind: 'cluster', id: record.cluster }, message: { type: 'count-changed', by: -1 } } },
    { type: 'tell', told: { to: { kind: 'cluster', id: message.to }, message: { type: 'count-changed', by: 1 } } },
    answer(message.replyTo, ok(nodeResource(moved, state.aliases, domain))),
    // Its writes carry the lease of its cluster: it starts again under the new one.
    restart(state),
  ];
  return step({ ...state, record: moved }, [{ write, events: [event], notices: changed(state) }], effects);
}

/** Deletes the node: open executions are dropped, the token is worth nothing, the session ends at once (E5). */
export function remove(state: NodeState, message: MessageOf<'delete'>, nowMs: number): Step<NodeState> {
  const { record } = state;
  const effects: Effect[] = [
    ...hangUp(state, CLOSE.revoked, DELETED_REASON),
    { type: 'tell', told: { to: { kind: 'cluster', id: record.cluster }, message: { type: 'count-changed', by: -1 } } },
    answer(message.replyTo, ok(null)),
    { type: 'stop' },
  ];
  return step(
    state,
    [
      {
        write: { kind: 'node-deleted', node: record.id, atMs: nowMs },
        events: [],
        notices: [{ type: 'node-removed', node: record.id }],
      },
    ],
    effects,
  );
}

/**
 * Deletes a node with a random id that nobody hears any more, as `remove` does, but for its id: an agent that comes
 * back with it after all is let in again by its enrolment key. Unchanged for one that is there.
 */
export function forget(state: NodeState, nowMs: number): Step<NodeState> {
  const { record, session } = state;
  if (session !== null || record.status !== 'unreachable' || record.idType !== 'random') return unchanged(state);
  const effects: Effect[] = [
    { type: 'tell', told: { to: { kind: 'cluster', id: record.cluster }, message: { type: 'count-changed', by: -1 } } },
    { type: 'stop' },
  ];
  const write = { kind: 'node-deleted', node: record.id, isForgotten: true, atMs: nowMs } as const;
  return step(state, [{ write, events: [], notices: [{ type: 'node-removed', node: record.id }] }], effects);
}

/** Someone else changed this node's rows under it: its session ends and it starts again from them. */
export function revoked(state: NodeState, reason: string): Step<NodeState> {
  return step(state, [], [...hangUp(state, CLOSE.revoked, reason), restart(state)]);
}

/** What a node may still cost outlives that: else its machine would have it whole again as often as it enrols (L1). */
function restart(state: NodeState): Effect {
  // The reminder of the news that waits ends with this actor.
  const vpnAllowances = { ...state.vpnAllowances, isNewsWaiting: false };
  return { type: 'restart', live: { ...state, ...NOTHING_READ, session: null, vpnAllowances } };
}

/** The answer to keep under the client's key, when it gave one. */
export function idempotencyRecord(idempotency: Idempotency | null, resource: unknown): IdempotencyRecord | undefined {
  return idempotency === null ? undefined : { ...idempotency, answer: resource };
}

function renewal({ session }: NodeState, cluster: ClusterId): readonly Effect[] {
  return session === null ? [] : [{ type: 'renew-session', session: session.id, cluster }];
}

function hangUp(state: NodeState, code: (typeof CLOSE)[keyof typeof CLOSE], reason: string): readonly Effect[] {
  return state.session === null ? [] : [{ type: 'hang-up', session: state.session.id, code, reason }];
}

function changed(state: NodeState): readonly Notice[] {
  return [{ type: 'node-changed', node: state.record.id }, { type: 'events-stored' }];
}
