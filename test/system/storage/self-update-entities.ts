/** Self-update requests of the small fleet: as entities to store, and as the resources that clients should then see. */
import type { EntityManager } from '@mikro-orm/postgresql';
import {
  SELF_UPDATE_STATUSES,
  type SelfUpdateNodeState,
  type SelfUpdateRequestResource,
  type SelfUpdateResultResource,
} from '../../../actors/resources/self-update.ts';
import { SelfUpdateNode, SelfUpdateRequest } from '../../../persistence/entities/self-update.ts';

/** Of which the fleet is made: see entities.ts. */
interface Chance {
  readonly next: (bound: number) => number;
  readonly pick: <T>(values: readonly T[]) => T;
  readonly time: () => Date;
  readonly madeAt: () => { readonly id: string; readonly insertedAt: Date };
  readonly randomId: () => string;
}

/** All states of a row. */
const STATES: readonly SelfUpdateNodeState[] = [
  'waiting',
  'due',
  'triggered',
  'updated',
  'rolled_back',
  'failed',
  'skipped',
];

/** What is under way belongs to nodes that are gone: no actor begins with it. */
const UNDER_WAY = new Set<SelfUpdateNodeState>(['due', 'triggered']);

/** Makes them: what their rows must fit stands in the CHECKs of the tables. */
export function makeSelfUpdates(chance: Chance, nodes: readonly { readonly id: string }[]) {
  const { next, pick, time, madeAt, randomId } = chance;
  const updates = Array.from({ length: 13 }, (_, index) => {
    const status = SELF_UPDATE_STATUSES[index % 3] ?? 'pending';
    const isOver = status === 'completed';
    return {
      ...madeAt(),
      targeting: { type: 'all' as const },
      batchSize: pick([null, 3]),
      maxFailures: pick([null, 2]),
      healthTimeoutMs: 300_000,
      status,
      total: 9,
      triggered: isOver ? next(5) : null,
      failed: isOver ? next(5) : null,
      completedAt: isOver ? time() : null,
      updatedAt: time(),
    };
  });
  const updateNodes = updates.flatMap(({ id: requestId }) =>
    [...Array(next(9)).keys()].map((place) => {
      const state = pick(STATES);
      return {
        requestId,
        nodeId: UNDER_WAY.has(state) ? randomId() : (nodes[place]?.id ?? randomId()),
        clusterName: 'prod',
        wave: pick([place + 1, 1, null]),
        ...rowOf(state, time),
      };
    }),
  );
  return { updates, updateNodes };
}

/** Fields of a node in this state. */
function rowOf(state: SelfUpdateNodeState, time: () => Date) {
  const isOver = state !== 'waiting' && !UNDER_WAY.has(state);
  const wasTriggered = state === 'triggered' || state === 'updated' || state === 'rolled_back';
  return {
    state,
    fromVersion: '1.0.0',
    toVersion: state === 'updated' ? '1.1.0' : null,
    error: state === 'failed' ? 'the updater answered 401' : null,
    dueAt: state === 'waiting' || state === 'skipped' ? null : time(),
    askedAt: null,
    triggeredAt: wasTriggered ? time() : null,
    judgedAt: null,
    finishedAt: isOver ? time() : null,
  };
}

/** Entities as `makeSelfUpdates` makes them. */
export type SelfUpdateEntities = ReturnType<typeof makeSelfUpdates>;

/** Stores them. */
export async function storeSelfUpdates(
  em: Pick<EntityManager, 'insertMany'>,
  { updates, updateNodes }: SelfUpdateEntities,
): Promise<void> {
  await em.insertMany(SelfUpdateRequest, [...updates]);
  await em.insertMany(SelfUpdateNode, [...updateNodes]);
}

/** The request of a result, which does not name it. */
export const requestOf = new WeakMap<object, string>();

/** As lists show them. */
export function selfUpdateResources({ updates, updateNodes }: SelfUpdateEntities): {
  readonly self_update_requests: readonly SelfUpdateRequestResource[];
  readonly self_update_results: readonly SelfUpdateResultResource[];
} {
  return {
    self_update_requests: updates.map((update) => ({
      id: update.id,
      targeting: update.targeting,
      batch_size: update.batchSize,
      max_failures: update.maxFailures,
      health_timeout: 300,
      status: update.status,
      summary:
        update.triggered === null || update.failed === null
          ? null
          : { total: update.total, triggered: update.triggered, failed: update.failed },
      inserted_at: update.insertedAt.toISOString(),
      updated_at: update.updatedAt.toISOString(),
    })),
    self_update_results: updateNodes.map((row) => {
      const result: SelfUpdateResultResource = {
        node_id: row.nodeId,
        cluster_name: row.clusterName,
        status: row.state === 'due' ? 'waiting' : row.state,
        wave: row.wave,
        from_version: row.fromVersion,
        to_version: row.toVersion,
        error: row.error,
        triggered_at: row.triggeredAt?.toISOString() ?? null,
        finished_at: row.finishedAt?.toISOString() ?? null,
      };
      requestOf.set(result, row.requestId);
      return result;
    }),
  };
}
