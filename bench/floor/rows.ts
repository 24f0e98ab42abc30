/**
 * The rows of a fan-out by plain SQL: what PostgreSQL itself needs for them. Same tables, triggers and constraints as the
 * product, same states (created, sent, completed with output), same events with full snapshots, one named statement a
 * batch. No guards beyond the status, no actors, no retries, nothing shared with other writers.
 */
import type { Client } from 'pg';
import { v7 } from 'uuid';

/** One execution as the floor carries it. Times are ISO 8601. */
export interface FloorExecution {
  readonly id: string;
  readonly command: string;
  readonly commandText: string;
  readonly node: string;
  readonly clusterName: string;
  readonly insertedAt: string;
  sentAt: string | null;
}

/** What a simulated agent said of an execution. */
export interface FloorEnding {
  readonly execution: FloorExecution;
  readonly exitCode: number;
  readonly output: string;
}

/** Rows a statement. Above 2,000 nothing is gained (notes of the first measurements, docs/performance.md). */
export const ROWS_PER_BATCH = 2_000;

// Events travel as one text, cut at line ends: JSON holds none, and an array literal would cost escaping every quote.
const EVENTS = `insert into event (id, type, subject, time, data) select v.id, EVENT_TYPE, v.subject, $1, v.data
  from unnest($2::uuid[], $3::uuid[], string_to_array($4, E'\\n')::json[]) as v(id, subject, data)`;

const CREATED = `with events as (${EVENTS.replace('EVENT_TYPE', `'edge.command_execution.created'`)})
  insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at)
  select v.id, $5, v.node, v.cluster, true, $1, $1 from unnest($3::uuid[], $6::uuid[], string_to_array($7, E'\\n')) as v(id, node, cluster)`;

// The command's own row rides with its first batch, so that a small command is one statement and one commit.
const COMMAND_CREATED = CREATED.replace('with ', `with command as (insert into command (id, command_text, targeting, inserted_at, updated_at) values ($5, $8, '{"type":"all"}', $1, $1)), `);

const SENT = `with events as (${EVENTS.replace('EVENT_TYPE', `'edge.command_execution.sent'`)})
  update command_execution as e set status = 'sent', sent_at = $1, updated_at = $1
  from unnest($3::uuid[]) as v(id) where e.id = v.id and e.status = 'pending'`;

const COMPLETED = `with events as (${EVENTS.replace('EVENT_TYPE', `'edge.command_execution.completed'`)})
  update command_execution as e set status = 'completed', exit_code = v.code, output = v.output, completed_at = $1, finished_at = $1, updated_at = $1
  from unnest($3::uuid[], $5::int[], $6::text[]) as v(id, code, output) where e.id = v.id and e.finished_at is null`;

/** Stores a command with all of its executions in one transaction. */
export async function insertCommand(client: Client, executions: readonly FloorExecution[]): Promise<void> {
  const first = executions[0];
  if (first === undefined) return;
  const isLong = executions.length > ROWS_PER_BATCH;
  if (isLong) await client.query('begin');
  for (let from = 0; from < executions.length; from += ROWS_PER_BATCH) {
    const batch = executions.slice(from, from + ROWS_PER_BATCH);
    const values = [...eventValues(batch, first.insertedAt, (each) => snapshot(each, 'pending', null, null)),
      first.command, uuids(batch.map(({ node }) => node)), batch.map(({ clusterName }) => clusterName).join('\n')];
    await client.query(from === 0 ? { name: 'command', text: COMMAND_CREATED, values: [...values, first.commandText] } : { name: 'created', text: CREATED, values });
  }
  if (isLong) await client.query('commit');
}

/** Stores that agents have these. */
export async function markSent(client: Client, executions: readonly FloorExecution[], now: string): Promise<void> {
  for (const execution of executions) execution.sentAt = now;
  await client.query({ name: 'sent', text: SENT, values: eventValues(executions, now, (each) => snapshot(each, 'sent', null, null)) });
}

/** Stores results with their output. */
export async function markCompleted(client: Client, endings: readonly FloorEnding[], now: string): Promise<void> {
  const executions = endings.map(({ execution }) => execution);
  await client.query({ name: 'completed', text: COMPLETED, values: [...eventValues(executions, now, (each) => snapshot(each, 'completed', 0, now)),
    `{${endings.map(({ exitCode }) => exitCode).join(',')}}`, endings.map(({ output }) => output)] });
}

function eventValues(executions: readonly FloorExecution[], now: string, data: (execution: FloorExecution) => string): string[] {
  return [now, uuids(executions.map(() => v7())), uuids(executions.map(({ id }) => id)), executions.map(data).join('\n')];
}

/** An array literal: identifiers need no escaping. */
function uuids(ids: readonly string[]): string {
  return `{${ids.join(',')}}`;
}

/** The event's data: the full snapshot, field by field as in spec.md, without output. */
function snapshot(execution: FloorExecution, status: string, exitCode: number | null, completedAt: string | null): string {
  return JSON.stringify({
    command_execution_id: execution.id, command_id: execution.command, node_id: execution.node, cluster_name: execution.clusterName,
    command_text: execution.commandText, timeout: null, status, exit_code: exitCode, target_all: true, expired_at: null,
    sent_at: execution.sentAt, completed_at: completedAt, cancelled_at: null, inserted_at: execution.insertedAt, updated_at: completedAt ?? execution.sentAt ?? execution.insertedAt,
  });
}
