/** Commands and executions as clients see them. */
import { z } from 'zod';
import {
  EXECUTION_STATUSES,
  type CommandResource,
  type CommandSummary,
  type ExecutionResource,
} from '../../actors/resources.ts';
import type { Targeting } from '../../actors/targeting.ts';

const FilterValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

const TargetingView: z.ZodType<Targeting> = z.object({
  type: z.enum(['all', 'nodes', 'clusters']),
  node_ids: z.array(z.uuid()).optional(),
  cluster_names: z.array(z.string()).optional(),
  cluster_filters: FilterValues.optional(),
  node_filters: FilterValues.optional(),
});

const count = z.int().min(0);

const SummaryView: z.ZodType<CommandSummary> = z
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

/** A command: the fields of `CommandResource`. */
export const CommandView: z.ZodType<CommandResource> = z
  .object({
    id: z.uuid(),
    command_text: z.string(),
    targeting: TargetingView,
    timeout: z.int().nullable().describe('ms'),
    expired_at: z.iso.datetime().nullable(),
    summary: SummaryView,
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Command', description: 'A script and the nodes it was meant for.' });

/** An execution: the fields of `ExecutionResource`. */
export const ExecutionView: z.ZodType<ExecutionResource> = z
  .object({
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
    target_all: z.boolean(),
    expired_at: z.iso.datetime().nullable(),
    sent_at: z.iso.datetime().nullable(),
    completed_at: z.iso.datetime().nullable(),
    cancelled_at: z.iso.datetime().nullable(),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'CommandExecution', description: 'One command on one node.' });
