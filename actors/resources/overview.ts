/** What goes on in the whole fleet, as clients see it. */
import { z } from 'zod';
import type { NodeStatus } from './node.ts';
import { PeerAdminResource } from './peer-admin.ts';
import { resource, type Given } from './resource.ts';

/**
 * What an overview counts is counted up to this: it is known then that they are too many, and counting millions costs
 * seconds.
 */
export const OVERVIEW_COUNTED_MAX = 100_000;

/** Failures that an overview names, the latest first. */
export const OVERVIEW_FAILURES_MAX = 5;

/** First characters of a script that stand for it in an overview. */
export const OVERVIEW_SCRIPT_CHARACTERS_MAX = 256;

/** Admins that an overview names, by name: of more, those with problems before the others. */
export const OVERVIEW_ADMINS_MAX = 20;

/** Webhooks in trouble that an overview names: those whose deliveries wait before those that only gave up. */
export const OVERVIEW_WEBHOOKS_MAX = 5;

/** Deliveries of such a webhook are counted up to this. */
export const OVERVIEW_DELIVERIES_COUNTED_MAX = 1_000;

/**
 * A webhook whose next delivery waits for so long is in trouble, in ms: one that is well answers within one or two
 * seconds.
 */
export const OVERVIEW_WAITING_MS = 15_000;

/** What ended within this time before it was read is news, in ms. */
export const OVERVIEW_RECENT_MS = 3_600_000;

const failure = z.object({
  id: z.uuid(),
  command_id: z.uuid(),
  node_id: z.uuid(),
  command_text: z.string().describe(`Its first ${OVERVIEW_SCRIPT_CHARACTERS_MAX} characters.`),
  exit_code: z.int(),
  completed_at: z.iso.datetime(),
});
/** An execution that failed. */
export type OverviewFailure = Given<typeof failure>;

const webhook = z.object({
  id: z.uuid(),
  url: z.string(),
  waiting_since: z.iso.datetime().nullable().describe('When its next delivery was made. Null: none waits for long.'),
  waiting: z.int(),
  dropped: z.int().describe('Given up in the hour before as_of, of those made last.'),
  last_status_code: z.int().nullable(),
  last_error: z.string().nullable(),
});
/** A webhook in trouble, and how the latest try of the delivery that waits went, else of the latest given up. */
export type OverviewWebhook = Given<typeof webhook>;

const webhooks = z.object({
  waiting: z.int().describe('How many have waited for over 15 s, but for what is sent again by hand.'),
  dropped: z.int().describe('How many gave up a delivery in the hour before as_of, of the 100 made last of each.'),
  deliveries_counted_max: z.int().describe('Deliveries of one are not counted beyond this.'),
  named: z.array(webhook).max(OVERVIEW_WEBHOOKS_MAX),
});
/** Webhooks in trouble: how many, and the first of them. */
export type OverviewWebhooks = Given<typeof webhooks>;

const statusTotal = z.object({ count: z.int(), recent: z.int().describe('Came to it in the hour before as_of.') });

const nodeTotals = z.object({
  healthy: statusTotal,
  unhealthy: statusTotal,
  unreachable: statusTotal,
} satisfies Record<NodeStatus, typeof statusTotal>);
/** How many nodes have each status, and came to it lately. */
export type OverviewNodeTotals = Given<typeof nodeTotals>;

const count = z.int().nullable();

/** What goes on. Null is what took too long to count. */
export const OverviewResource = resource(
  'Overview',
  'What goes on in the whole fleet, some seconds old at most. What took too long to count is null.',
  {
    as_of: z.iso.datetime().describe('When it was read, by the clock of the database.'),
    counted_max: z.int().describe('Nothing is counted beyond this: a count of so many says that there may be more.'),
    node_totals: nodeTotals.nullable().describe('All nodes by status.'),
    commands_in_flight: count.describe(
      'Commands of which executions are in flight; more than counted_max of those, and there may be more commands.',
    ),
    executions_in_flight: count.describe('Pending or sent.'),
    executions_completed: count.describe('In the hour before as_of, whatever their exit code.'),
    executions_failed: count.describe('Completed in the hour before as_of with an exit code of 1 or more.'),
    latest_failures: z
      .array(failure)
      .max(OVERVIEW_FAILURES_MAX)
      .nullable()
      .describe(`Of those that failed in that hour, the latest ${OVERVIEW_FAILURES_MAX}.`),
    deliveries_waiting: count.describe('Deliveries to webhooks that are not finished.'),
    deliveries_dropped: count.describe('Given up in the hour before as_of, of the 10,000 made last of those given up.'),
    events_stored: count.describe('In the minute before as_of.'),
    admins: z
      .array(z.object(PeerAdminResource.shape))
      .max(OVERVIEW_ADMINS_MAX)
      .nullable()
      .describe(`As in list_admins, ${OVERVIEW_ADMINS_MAX} by name: of more, those with problems first.`),
    webhooks_in_trouble: webhooks
      .nullable()
      .describe(`Names ${OVERVIEW_WEBHOOKS_MAX}: those that wait, the longest first, before those that only gave up.`),
  },
);
/** What goes on. */
export type OverviewResource = z.output<typeof OverviewResource>;

/** The same as the rows have it, which know no links between admins. */
export type Overview = Omit<OverviewResource, 'admins'> & {
  readonly admins: readonly Omit<PeerAdminResource, 'link' | 'clusters'>[] | null;
};
