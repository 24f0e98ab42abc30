/** The behaviour of a cluster: its limit, its keys, and who joins. */
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { Behaviour } from '../behaviour.ts';
import type { Change, Step } from '../step.ts';
import { answer, refuse, step, unchanged, unreachable } from '../step.ts';
import { idempotencyRecord } from '../node/administration.ts';
import type { ClusterRecord, EnrollmentKeyRecord } from '../records.ts';
import { ok } from '../refusal.ts';
import type { ColdWrite } from '../writes.ts';
import { enroll } from './enrollment.ts';
import { directWanted, vpnRead, vpnWanted } from './vpn.ts';
import type { ClusterMessage, MessageOf } from './messages.ts';
import { clusterResource, enrollmentKeyResource } from './resource.ts';
import type { ClusterState } from './state.ts';

/** What a cluster's behaviour depends on besides its state. */
export interface ClusterSettings {
  readonly vpnDomain: string;
  /** Handed to every agent that enrols. */
  readonly agent: AgentSettings;
}

/** What a cluster does with one message. Pure: `nowMs` is Unix time in ms. */
export function clusterBehaviour(settings: ClusterSettings): Behaviour<ClusterState, ClusterMessage> {
  function transition(state: ClusterState, message: ClusterMessage, nowMs: number): Step<ClusterState> {
    if (message.type === 'create') return create(state, message, settings, nowMs);
    const { record } = state;
    if (record === null) return unborn(state, message);
    switch (message.type) {
      case 'limit':
        return limit(state, record, message, settings, nowMs);
      case 'delete':
        return remove(state, record, message);
      case 'create-key':
        return createKey(state, record, message, nowMs);
      case 'update-key':
        return updateKey(state, message, nowMs);
      case 'delete-key':
        return step(state, [cold({ kind: 'key-deleted', id: message.id })], [answer(message.replyTo, ok(null))]);
      case 'enroll':
        return enroll(state, record, message, settings.agent, nowMs);
      case 'count-changed':
        return step({ ...state, record: { ...record, nodeCount: record.nodeCount + message.by } }, []);
      case 'vpn-read':
        return vpnRead(state, record, message, settings.vpnDomain);
      case 'vpn-wanted':
        return vpnWanted(state, record, message, settings.vpnDomain);
      case 'direct-wanted':
        return directWanted(state, record, message, nowMs);
      case 'refused':
        return unchanged(state); // every cluster write has someone who waits, who was told
      default:
        return unreachable(message);
    }
  }
  return { transition, recoveryEffects: () => [], refreshed: (live, rows) => ({ ...rows, vpn: live.vpn }) };
}

function create(
  state: ClusterState,
  message: MessageOf<'create'>,
  settings: ClusterSettings,
  nowMs: number,
): Step<ClusterState> {
  if (state.record !== null)
    return step(state, [], [refuse(message.replyTo, { code: 'conflict', message: 'The cluster exists already.' })]);
  const record: ClusterRecord = {
    id: state.id,
    name: message.name,
    ipv4Range: message.ipv4Range,
    ipv6Range: message.ipv6Range,
    nodeLimit: message.nodeLimit,
    nodeCount: 0,
    insertedAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const resource = clusterResource(record, settings.vpnDomain);
  const write: ColdWrite = {
    kind: 'cluster-created',
    id: record.id,
    name: record.name,
    ipv4Range: record.ipv4Range,
    ipv6Range: record.ipv6Range,
    nodeLimit: record.nodeLimit,
    atMs: nowMs,
  };
  return step(
    { ...state, record },
    [{ ...cold(write), idempotencyRecord: idempotencyRecord(message.idempotency, resource) }],
    [answer(message.replyTo, ok(resource))],
  );
}

function limit(
  state: ClusterState,
  record: ClusterRecord,
  message: MessageOf<'limit'>,
  settings: ClusterSettings,
  nowMs: number,
): Step<ClusterState> {
  // Whether it has more nodes than that is for the rows to say: the count here is behind when another admin moves nodes
  // in.
  const limited = { ...record, nodeLimit: message.nodeLimit, updatedAtMs: nowMs };
  return step(
    { ...state, record: limited },
    [cold({ kind: 'cluster-limited', cluster: record.id, nodeLimit: message.nodeLimit, atMs: nowMs })],
    [answer(message.replyTo, ok(clusterResource(limited, settings.vpnDomain)))],
  );
}

function remove(state: ClusterState, record: ClusterRecord, message: MessageOf<'delete'>): Step<ClusterState> {
  return step(
    state,
    [cold({ kind: 'cluster-deleted', cluster: record.id })],
    [answer(message.replyTo, ok(null)), { type: 'stop' }],
  );
}

function createKey(
  state: ClusterState,
  record: ClusterRecord,
  message: MessageOf<'create-key'>,
  nowMs: number,
): Step<ClusterState> {
  const key: EnrollmentKeyRecord = {
    id: message.id,
    cluster: record.id,
    clusterName: record.name,
    name: message.name,
    expiredAtMs: message.expiredAtMs,
    usesRemaining: message.usesRemaining,
    lastUsedAtMs: null,
    labels: message.labels,
    insertedAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const resource = enrollmentKeyResource(key, message.key);
  const write: ColdWrite = {
    kind: 'key-created',
    id: key.id,
    cluster: record.id,
    name: key.name,
    nonceHash: message.nonceHash,
    sealedKey: message.sealedKey,
    expiredAtMs: key.expiredAtMs,
    usesRemaining: key.usesRemaining,
    ...(message.isPublic === true && { isPublic: true as const }),
    labels: message.labels,
    atMs: nowMs,
  };
  return step(
    state,
    [{ ...cold(write), idempotencyRecord: idempotencyRecord(message.idempotency, resource) }],
    [answer(message.replyTo, ok(resource))],
  );
}

function updateKey(state: ClusterState, message: MessageOf<'update-key'>, nowMs: number): Step<ClusterState> {
  const fields = {
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.expiredAtMs === undefined ? {} : { expiredAtMs: message.expiredAtMs }),
    ...(message.usesRemaining === undefined ? {} : { usesRemaining: message.usesRemaining }),
    ...(message.labels === undefined ? {} : { labels: message.labels }),
  };
  const key = { ...message.key, ...fields, updatedAtMs: nowMs };
  return step(
    state,
    [cold({ kind: 'key-updated', id: key.id, ...fields, atMs: nowMs })],
    [answer(message.replyTo, ok(enrollmentKeyResource(key, message.blob)))],
  );
}

/** Nothing but `create` can be said to a cluster that is not stored. */
function unborn(state: ClusterState, message: ClusterMessage): Step<ClusterState> {
  return 'replyTo' in message
    ? step(state, [], [refuse(message.replyTo, { code: 'not_found', message: 'Resource not found' }), { type: 'stop' }])
    : step(state, [], [{ type: 'stop' }]);
}

function cold(write: ColdWrite): Change {
  return { write, events: [], notices: [] };
}
