/** What goes on in the whole fleet, as clients see it. */
import { z } from 'zod';
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

/** Admins that an overview names, by name. */
export const OVERVIEW_ADMINS_MAX = 20;

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

const count = z.int().nullable();

/** What goes on. Null is what took too long to count. */
export const OverviewResource = resource(
  'Overview',
  'What goes on in the whole fleet, some seconds old at most. What took too long to count is null.',
  {
    as_of: z.iso.datetime().describe('When it was read, by the clock of the database.'),
    counted_max: z.int().describe('Nothing is counted beyond this: a count of so many says that there may be more.'),
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
      .describe(`As in list_admins, the first ${OVERVIEW_ADMINS_MAX} by name.`),
  },
);
/** What goes on. */
export type OverviewResource = z.output<typeof OverviewResource>;

/** The same as the rows have it, which know no links between admins. */
export type Overview = Omit<OverviewResource, 'admins'> & {
  readonly admins: readonly Omit<PeerAdminResource, 'link' | 'clusters'>[] | null;
};
