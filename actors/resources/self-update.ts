/** Self-update requests and what became of their nodes, as clients see them. */
import { z } from 'zod';
import { ListedTargeting } from '../targeting-schema.ts';
import { resource, stored, type Given } from './resource.ts';

/** All statuses of a request; the last one is for good. Source: docs/api.md, Resources. */
export const SELF_UPDATE_STATUSES = ['pending', 'processing', 'completed'] as const;
/** How far a request is. */
export type SelfUpdateStatus = (typeof SELF_UPDATE_STATUSES)[number];

/** All statuses of a node in a request. */
export const SELF_UPDATE_RESULTS = ['waiting', 'triggered', 'failed', 'skipped', 'updated', 'rolled_back'] as const;
/** What became of a node. */
export type SelfUpdateResult = (typeof SELF_UPDATE_RESULTS)[number];

/** How a row of a node stands: `due` is shown as `waiting`. */
export type SelfUpdateNodeState = SelfUpdateResult | 'due';

/** What all requests come to. Nodes are those of requests that are not completed. */
export interface SelfUpdateTotals {
  readonly requests: Readonly<Record<SelfUpdateStatus, number>>;
  readonly nodes: Readonly<Record<SelfUpdateNodeState, number>>;
  /** For how long the request that is latest should have gone on, in s; 0: none is late. */
  readonly overdueS: number;
}

const count = z.int().min(0);

/** How a request went, in nodes: what is neither triggered nor failed was skipped. */
export const SelfUpdateSummary = z.object({ total: count, triggered: count, failed: count });
export type SelfUpdateSummary = Given<typeof SelfUpdateSummary>;

/** How many nodes have each status. */
export const SelfUpdateProgress = z.object({
  waiting: count,
  triggered: count,
  failed: count,
  skipped: count,
  updated: count,
  rolled_back: count,
} satisfies Record<SelfUpdateResult, typeof count>);
export type SelfUpdateProgress = Given<typeof SelfUpdateProgress>;

/** Waves that a single read names: those that are over last, and what is under way and comes next. */
export const WAVES_SHOWN_MAX = 100;

/** Nodes that have their turn together, by what became of them. */
export const SelfUpdateWave = z.object({
  wave: z.int().min(1),
  waiting: count.describe('Their turn has not come.'),
  under_way: count.describe('Their turn has come, and it is not known yet what comes of it.'),
  done: count,
  failed: count.describe('Failed, or gone back to the version before.'),
  skipped: count,
  began_at: z.iso.datetime().nullable().describe('When its first node had its turn.'),
});
export type SelfUpdateWave = Given<typeof SelfUpdateWave>;

/** Which nodes have their turn next, and what that waits for. */
export const SelfUpdateNext = z.object({
  wave: z.int().min(1),
  waiting: count.describe('Nodes of that wave that wait.'),
  under_way: count.describe('Nodes that are under way: another one has its turn once one of them is judged.'),
  judged_by: z.iso.datetime().nullable().describe('When the first of them is judged at the latest.'),
});
export type SelfUpdateNext = Given<typeof SelfUpdateNext>;

/** A request. */
export const SelfUpdateRequestResource = resource(
  'SelfUpdateRequest',
  'Healthy nodes that are told to fetch the newest stable agent.',
  {
    id: z.uuid(),
    targeting: ListedTargeting,
    batch_size: z.int().nullable().describe('Nodes at once; null: all.'),
    max_failures: z.int().nullable().describe('Failures after which no more nodes are told; null: any number.'),
    health_timeout: z.int().describe('s'),
    status: z.enum(SELF_UPDATE_STATUSES),
    summary: SelfUpdateSummary.nullable().describe('Null until it is completed.'),
    progress: SelfUpdateProgress.optional().describe('On single reads only: nodes by their status now.'),
    wave_count: count.optional().describe('On single reads only. 0: of a release that knew no waves.'),
    waves: z
      .array(SelfUpdateWave)
      .max(WAVES_SHOWN_MAX)
      .optional()
      .describe(
        `On single reads only: at most ${WAVES_SHOWN_MAX}, around the first that is not over. Each is of batch_size nodes.`,
      ),
    next: SelfUpdateNext.nullable()
      .optional()
      .describe('On single reads only: who has their turn next. Null: nobody waits for it.'),
    ...stored,
  },
);
export type SelfUpdateRequestResource = z.output<typeof SelfUpdateRequestResource>;

/** A node of a request. */
export const SelfUpdateResultResource = resource('SelfUpdateResult', 'What became of one node of a request.', {
  node_id: z.uuid(),
  cluster_name: z.string(),
  status: z.enum(SELF_UPDATE_RESULTS),
  wave: z
    .int()
    .nullable()
    .describe('From 1; those of a wave have their turn before those of the next. Null: of a release before.'),
  from_version: z.string().nullable(),
  to_version: z.string().nullable(),
  error: z.string().nullable(),
  triggered_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});
export type SelfUpdateResultResource = z.output<typeof SelfUpdateResultResource>;
