/**
 * The rows of a fan-out by plain SQL: what PostgreSQL itself needs for them. Same tables, triggers and constraints as
 * the product, same states (created, sent, completed with output), same events with full snapshots, one named statement
 * a batch and one commit. No guards beyond the status, no actors, no retries, nothing shared with other writers.
 */
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';

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
const EVENTS = `insert into event (id, type, subject, time, data) select v.id, 'edge.command_execution.' || v.type, v.subject, $1, v.data
  from unnest($2::uuid[], $3::text[], $4::uuid[], string_to_array($5, E'\\n')::json[]) as v(id, type, subject, data)`;

const CREATED = `with events as (${EVENTS})
  insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at)
  select v.id, v.command, v.node, v.cluster, true, $1, $1 from unnest($4::uuid[], $6::uuid[], $7::uuid[], string_to_array($8, E'\\n')) as v(id, command, node, cluster)`;

// Command rows ride with the first batch of their executions, so that a small command is one statement and one commit.
const COMMANDS_CREATED = CREATED.replace(
  'with ',
  `with commands as (insert into command (id, command_text, targeting, inserted_at, updated_at)
  select c, $10, '{"type":"all"}', $1, $1 from unnest($9::uuid[]) as c), `,
);

// One that is acknowledged and finished in the same batch is updated once and tells both.
const STORED = `with events as (${EVENTS}),
  sent as (update command_execution as e set status = 'sent', sent_at = $1, updated_at = $1 from unnest($6::uuid[]) as v(id) where e.id = v.id and e.status = 'pending')
  update command_execution as e set status = 'completed', exit_code = v.code, output = v.output, sent_at = coalesce(e.sent_at, $1), completed_at = $1, finished_at = $1, updated_at = $1
  from unnest($7::uuid[], $8::int[], $9::text[]) as v(id, code, output) where e.id = v.id and e.finished_at is null`;

/**
 * Stores commands with all of their executions in one transaction. All executions share time and text; those of one
 * command stand together.
 */
export async function insertCommands(client: Client, executions: readonly FloorExecution[]): Promise<void> {
  const first = executions[0];
  if (first === undefined) return;
  const isLong = executions.length > ROWS_PER_BATCH;
  if (isLong) await client.query('begin');
  for (let from = 0; from < executions.length; from += ROWS_PER_BATCH) {
    const batch = executions.slice(from, from + ROWS_PER_BATCH);
    const values = [
      ...eventValues(
        batch.map((each) => ['created', each, snapshot(each, 'pending', null, null)]),
        first.insertedAt,
      ),
      uuids(batch.map(({ command }) => command)),
      uuids(batch.map(({ node }) => node)),
      batch.map(({ clusterName }) => clusterName).join('\n'),
    ];
    const commands = from === 0 ? [...new Set(executions.map(({ command }) => command))] : [];
    await client.query(
      from === 0
        ? { name: 'commands', text: COMMANDS_CREATED, values: [...values, uuids(commands), first.commandText] }
        : { name: 'created', text: CREATED, values },
    );
  }
  if (isLong) await client.query('commit');
}

/** Stores that agents have some, and how others ended, in one statement. */
export async function store(
  client: Client,
  acknowledged: readonly FloorExecution[],
  endings: readonly FloorEnding[],
  now: string,
): Promise<void> {
  const finishing = new Set(endings.map(({ execution }) => execution));
  for (const execution of acknowledged) execution.sentAt = now;
  await client.query({
    name: 'stored',
    text: STORED,
    values: [
      ...eventValues(
        [
          ...acknowledged.map((each): Told => ['sent', each, snapshot(each, 'sent', null, null)]),
          ...endings.map(({ execution, exitCode }): Told => [
            'completed',
            execution,
            snapshot(execution, 'completed', exitCode, now),
          ]),
        ],
        now,
      ),
      uuids(acknowledged.filter((each) => !finishing.has(each)).map(({ id }) => id)),
      uuids(endings.map(({ execution }) => execution.id)),
      `{${endings.map(({ exitCode }) => exitCode).join(',')}}`,
      endings.map(({ output }) => output),
    ],
  });
}

/** Kind, execution and data of an event. */
type Told = readonly [kind: string, execution: FloorExecution, data: string];

function eventValues(told: readonly Told[], now: string): string[] {
  return [
    now,
    uuids(told.map(() => randomUUID())),
    uuids(told.map(([kind]) => kind)),
    uuids(told.map(([, { id }]) => id)),
    told.map(([, , data]) => data).join('\n'),
  ];
}

/** An array literal: identifiers and kinds need no escaping. */
function uuids(ids: readonly string[]): string {
  return `{${ids.join(',')}}`;
}

/** The event's data: the full snapshot, field by field as in docs/events.md, without output. */
function snapshot(
  execution: FloorExecution,
  status: string,
  exitCode: number | null,
  completedAt: string | null,
): string {
  return JSON.stringify({
    command_execution_id: execution.id,
    command_id: execution.command,
    node_id: execution.node,
    cluster_name: execution.clusterName,
    command_text: execution.commandText,
    timeout: null,
    status,
    exit_code: exitCode,
    target_all: true,
    expired_at: null,
    sent_at: execution.sentAt,
    completed_at: completedAt,
    cancelled_at: null,
    inserted_at: execution.insertedAt,
    updated_at: completedAt ?? execution.sentAt ?? execution.insertedAt,
  });
}
