/** Commands and their executions as clients see them. */
import { z } from 'zod';
import { ListedTargeting } from '../targeting-schema.ts';
import { resource, stored, type Given } from './resource.ts';

/** All statuses of an execution; the first two are open, the others terminal. Source: docs/api.md, Resources. */
export const EXECUTION_STATUSES = ['pending', 'sent', 'completed', 'cancelled', 'expired', 'dropped'] as const;
/** How far an execution is. */
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** States that never change again. Source: docs/promises.md, C6. */
export function isTerminal(status: ExecutionStatus): boolean {
  return status !== 'pending' && status !== 'sent';
}

const count = z.int().min(0);

const summary = z
  .object({
    total: count,
    pending: count,
    sent: count,
    completed: count,
    succeeded: count,
    failed: count,
    cancelled: count,
    expired: count,
    dropped: count,
  })
  .describe('How many executions are in each state; succeeded and failed split completed by exit code.');
/** How many executions of a command are in each state. */
export type CommandSummary = Given<typeof summary>;

/** By the type alone: not of a group, whatever that holds. */
export const targetAll = z
  .boolean()
  .describe(
    'Whether the targeting of the command is of type all. Filters and labels may leave out nodes all the same.',
  );

/** A command. */
export const CommandResource = resource('Command', 'A script and the nodes it was meant for.', {
  id: z.uuid(),
  command_text: z.string(),
  targeting: ListedTargeting,
  timeout: z.int().nullable().describe('ms'),
  expired_at: z.iso.datetime().nullable(),
  summary,
  ...stored,
  updated_at: stored.updated_at.describe('As inserted_at: a command never changes, only its executions do.'),
});
export type CommandResource = z.output<typeof CommandResource>;

/** An execution. On a page of a list that would grow too large with its output, that is withheld. */
export const ExecutionResource = resource('CommandExecution', 'One command on one node.', {
  id: z.uuid(),
  command_id: z.uuid(),
  node_id: z.uuid(),
  cluster_name: z.string(),
  command_text: z.string(),
  timeout: z.int().nullable().describe('ms'),
  status: z.enum(EXECUTION_STATUSES),
  exit_code: z.int().nullable(),
  output: z.string().nullable().describe('Null until it is over, and where it is withheld.'),
  output_truncated: z.boolean().describe('There was more than is kept: the first and last halves of it are.'),
  output_withheld: z.boolean().describe('This page of a list has no room for it: get the execution by itself.'),
  target_all: targetAll,
  expired_at: z.iso.datetime().nullable(),
  sent_at: z.iso.datetime().nullable(),
  completed_at: z.iso.datetime().nullable(),
  cancelled_at: z.iso.datetime().nullable(),
  ...stored,
});
export type ExecutionResource = z.output<typeof ExecutionResource>;
