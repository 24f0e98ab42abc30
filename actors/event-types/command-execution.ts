/** Events of command executions. Each carries the whole execution but its output, which is in its record. */
import { z } from 'zod';
import { EXECUTION_STATUSES, targetAll, type ExecutionStatus } from '../resources/command.ts';
import { eventType, id, instantOrNull, instantText } from './definition.ts';
import { EXAMPLE_CLUSTER, EXAMPLE_IDS, EXAMPLE_TIMES } from './examples.ts';

const EXIT_CODE = 'Exit code; 124 after a timeout, 128 + n when signal n ended it.';
const nothing = z.null();

function status<S extends ExecutionStatus>(only: S) {
  return z.literal(only).describe('How far it is: always this.');
}

/** An execution at the moment of the event. Source: docs/events.md. */
export const ExecutionSnapshot = z.strictObject({
  command_execution_id: id('The execution.'),
  command_id: id('The command that it belongs to.'),
  node_id: id('The node that it is for.'),
  cluster_name: z.string().describe('The cluster of the node when the command was created.'),
  command_text: z.string().describe('The script.'),
  timeout: z.int().min(1).nullable().describe('Time that it may take, in ms. Null for no limit.'),
  status: z.enum(EXECUTION_STATUSES).describe('How far it is.'),
  exit_code: z.int().nullable().describe(EXIT_CODE),
  target_all: targetAll,
  expired_at: instantOrNull('When it expires unless it is over by then. Null for never.'),
  sent_at: instantOrNull('When the agent acknowledged it.'),
  completed_at: instantOrNull('When the agent reported its result.'),
  cancelled_at: instantOrNull('When it was cancelled.'),
  inserted_at: instantText('When it was created.'),
  updated_at: instantText('When anything of the above last changed.'),
});
/** Its type. */
export type ExecutionSnapshot = Readonly<z.output<typeof ExecutionSnapshot>>;

const sentAt = instantText('When the agent acknowledged it.');
const neverSent = nothing.describe('Not acknowledged yet.');
const sentOrNot = instantOrNull('When the agent acknowledged it. Null when it never got that far.');
const noResult = nothing.describe('There is no result.');
const notCompleted = nothing.describe('Not completed.');
const notCancelled = nothing.describe('Not cancelled.');

const execution: ExecutionSnapshot = {
  command_execution_id: EXAMPLE_IDS.execution,
  command_id: EXAMPLE_IDS.command,
  node_id: EXAMPLE_IDS.node,
  cluster_name: EXAMPLE_CLUSTER,
  command_text: 'uptime',
  timeout: 30_000,
  status: 'pending',
  exit_code: null,
  target_all: false,
  expired_at: null,
  sent_at: null,
  completed_at: null,
  cancelled_at: null,
  inserted_at: EXAMPLE_TIMES.created,
  updated_at: EXAMPLE_TIMES.created,
};
const pending = {
  ...execution,
  status: 'pending',
  exit_code: null,
  sent_at: null,
  completed_at: null,
  cancelled_at: null,
} as const;
const sent = { ...pending, status: 'sent', sent_at: EXAMPLE_TIMES.sent, updated_at: EXAMPLE_TIMES.sent } as const;
const completed = {
  ...sent,
  status: 'completed',
  exit_code: 0,
  completed_at: EXAMPLE_TIMES.ended,
  updated_at: EXAMPLE_TIMES.ended,
} as const;

/** By type. What each fixes is C7 of docs/promises.md. */
export const COMMAND_EXECUTION_EVENTS = {
  'edge.command_execution.created': eventType({
    description: 'A command was created and this node is one of its targets.',
    data: ExecutionSnapshot.extend({
      status: status('pending'),
      exit_code: noResult,
      sent_at: neverSent,
      completed_at: notCompleted,
      cancelled_at: notCancelled,
    }),
    example: { time: EXAMPLE_TIMES.created, data: pending },
  }),
  'edge.command_execution.sent': eventType({
    description: 'The agent acknowledged that it has the execution in its journal.',
    data: ExecutionSnapshot.extend({
      status: status('sent'),
      exit_code: noResult,
      sent_at: sentAt,
      completed_at: notCompleted,
      cancelled_at: notCancelled,
    }),
    example: { time: EXAMPLE_TIMES.sent, data: sent },
  }),
  'edge.command_execution.completed': eventType({
    description: 'The agent reported a result. The exit code tells success from failure; the output is in the record.',
    data: ExecutionSnapshot.extend({
      status: status('completed'),
      exit_code: z.int().describe(EXIT_CODE),
      sent_at: sentAt,
      completed_at: instantText('When the agent reported its result.'),
      cancelled_at: notCancelled,
    }),
    example: { time: EXAMPLE_TIMES.ended, data: completed },
  }),
  'edge.command_execution.cancelled': eventType({
    description:
      'The execution was cancelled, by request, because its agent was stopped, or because its machine lost it.',
    data: ExecutionSnapshot.extend({
      status: status('cancelled'),
      exit_code: z.int().describe('143 when it was cancelled, 137 when its machine lost it.'),
      sent_at: sentOrNot,
      completed_at: notCompleted,
      cancelled_at: instantText('When it was cancelled.'),
    }),
    example: {
      time: EXAMPLE_TIMES.ended,
      data: {
        ...sent,
        status: 'cancelled',
        exit_code: 143,
        cancelled_at: EXAMPLE_TIMES.ended,
        updated_at: EXAMPLE_TIMES.ended,
      },
    },
  }),
  'edge.command_execution.expired': eventType({
    description:
      'The execution passed its expiry before it was over. One that its agent had acknowledged by then keeps its sent_at, and is ended there.',
    data: ExecutionSnapshot.extend({
      status: status('expired'),
      exit_code: noResult,
      expired_at: instantText('When it expired.'),
      sent_at: sentOrNot,
      completed_at: notCompleted,
      cancelled_at: notCancelled,
    }),
    example: {
      time: EXAMPLE_TIMES.ended,
      data: { ...pending, status: 'expired', expired_at: '2026-01-15T10:00:01.000Z', updated_at: EXAMPLE_TIMES.ended },
    },
  }),
  'edge.command_execution.pruned': eventType({
    description: 'A finished execution was deleted because it was older than the retention. Tells what it was.',
    data: ExecutionSnapshot.extend({
      status: z.enum(['completed', 'cancelled', 'expired', 'dropped']).describe('How it had ended.'),
    }),
    example: { time: EXAMPLE_TIMES.pruned, data: completed },
  }),
};
