/** Commands and their executions as set-based statements. */
import { traceparentOf } from '../../transport/protocol/trace-context.ts';
import { jsonTexts, jsonTextsOf, plainArray } from './arrays.ts';
import { type Of, type Statement, keyOf, keysOf, storable } from './statement.ts';

/** Stores commands, and their executions in one statement more. */
export function createCommands(writes: readonly Of<'command-created'>[]): readonly Statement[] {
  const commands = writes.map((write) => write.command);
  const stored: Statement = {
    name: 'create-commands',
    text: `insert into command (id, command_text, targeting, timeout, expired_at, traceparent, inserted_at, updated_at)
      select id, text, targeting::jsonb, timeout, to_timestamp(expires / 1000.0), traceparent, to_timestamp(at / 1000.0), to_timestamp(at / 1000.0)
      from unnest($1::uuid[], $2::text[], ${jsonTextsOf('$3')}, $4::int[], $5::float8[], $6::float8[], $7::text[]) as v(id, text, targeting, timeout, expires, at, traceparent)`,
    values: [
      plainArray(commands.map((c) => c.id)),
      commands.map((c) => c.text),
      jsonTexts(commands.map((c) => c.targeting)),
      plainArray(commands.map((c) => c.timeoutMs)),
      plainArray(commands.map((c) => c.expiredAtMs)),
      plainArray(commands.map((c) => c.insertedAtMs)),
      plainArray(commands.map((c) => (c.trace === undefined ? null : traceparentOf(c.trace)))),
    ],
  };
  return [stored, ...createExecutions(writes)];
}

function createExecutions(writes: readonly Of<'command-created'>[]): readonly Statement[] {
  const ids: string[] = [];
  const commands: number[] = [];
  const nodes: string[] = [];
  const clusters: string[] = [];
  for (const [index, write] of writes.entries()) {
    for (const execution of write.executions) {
      ids.push(execution.id);
      commands.push(index + 1);
      nodes.push(execution.node);
      clusters.push(execution.clusterName);
    }
  }
  if (ids.length === 0) return [];
  // What all executions of a command share is sent once, and looked up by its number.
  const stored: Statement = {
    name: 'create-executions',
    text: `insert into command_execution (id, command_id, node_id, cluster_name, target_all, expired_at, inserted_at, updated_at)
      select v.id, ($5::uuid[])[v.command], v.node, v.cluster, ($6::boolean[])[v.command], to_timestamp(nullif(($7::float8[])[v.command], 'NaN') / 1000.0), at, at
      from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[]) as v(id, command, node, cluster), to_timestamp(($8::float8[])[v.command] / 1000.0) as at`,
    values: [
      plainArray(ids),
      plainArray(commands),
      plainArray(nodes),
      plainArray(clusters),
      plainArray(writes.map((w) => w.command.id)),
      plainArray(writes.map((w) => w.command.targeting.type === 'all')),
      plainArray(writes.map((w) => w.command.expiredAtMs ?? Number.NaN)), // an array without nulls is looked up at once
      plainArray(writes.map((w) => w.command.insertedAtMs)),
    ],
  };
  return [stored];
}

/** Pending ones are sent. */
export function sendExecutions(writes: readonly Of<'execution-sent'>[]): readonly Statement[] {
  const sent: Statement = {
    name: 'send-executions',
    wanted: keysOf(writes),
    text: `update command_execution e set status = 'sent', sent_at = to_timestamp(v.at / 1000.0), updated_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::float8[]) as v(id, at) where e.id = v.id and e.status = 'pending' returning e.id as key`,
    values: [plainArray(writes.map((w) => w.execution)), plainArray(writes.map((w) => w.atMs))],
  };
  return [sent];
}

/** Those that are not finished are: with their output, or the parts of it that came ahead. */
export function finishExecutions(writes: readonly Of<'execution-finished'>[]): readonly Statement[] {
  const finished: Statement = {
    name: 'finish-executions',
    wanted: keysOf(writes),
    text: `update command_execution e set status = v.status, exit_code = v.exit_code, output_truncated = v.truncated,
      output = case when v.parts > 0 then (select string_agg(p.text, '' order by p.part) from execution_output_part p where p.execution_id = v.id and p.part < v.parts) else v.output end,
      sent_at = coalesce(e.sent_at, to_timestamp(v.sent / 1000.0)),
      completed_at = case when v.status = 'completed' then to_timestamp(v.at / 1000.0) end, cancelled_at = case when v.status = 'cancelled' then to_timestamp(v.at / 1000.0) end,
      finished_at = to_timestamp(v.at / 1000.0), updated_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::int[], $6::boolean[], $7::float8[], $8::float8[]) as v(id, status, exit_code, output, parts, truncated, sent, at)
      where e.id = v.id and e.finished_at is null returning e.id as key`,
    values: [
      plainArray(writes.map((w) => w.execution)),
      plainArray(writes.map((w) => w.status)),
      plainArray(writes.map((w) => w.ending.exitCode)),
      writes.map((w) => storable(w.ending.output)),
      plainArray(writes.map((w) => w.ending.parts)),
      plainArray(writes.map((w) => w.ending.truncated)),
      plainArray(writes.map((w) => w.sentAtMs)),
      plainArray(writes.map((w) => w.atMs)),
    ],
  };
  const joined = writes.filter((write) => write.ending.parts > 0).map((write) => write.execution);
  if (joined.length === 0) return [finished];
  const text = 'delete from execution_output_part where execution_id = any($1::uuid[])';
  return [finished, { text, values: [joined] }];
}

/** Pieces of long outputs. */
export function storeParts(writes: readonly Of<'output-part'>[]): readonly Statement[] {
  // An agent that reconnects sends a part again: the same text under the same number.
  const distinct = [...new Map(writes.map((write) => [keyOf(write), write])).values()];
  const stored: Statement = {
    text: `insert into execution_output_part (execution_id, part, text) select * from unnest($1::uuid[], $2::int[], $3::text[]) on conflict (execution_id, part) do update set text = excluded.text`,
    values: [distinct.map((w) => w.execution), distinct.map((w) => w.part), distinct.map((w) => storable(w.text))],
  };
  return [stored];
}

/** Somebody wants these cancelled. */
export function requestCancel(writes: readonly Of<'execution-cancel-requested'>[]): readonly Statement[] {
  const asked: Statement = {
    name: 'request-cancel',
    wanted: keysOf(writes),
    text: `update command_execution e set cancel_requested_at = coalesce(e.cancel_requested_at, to_timestamp(v.at / 1000.0))
      from unnest($1::uuid[], $2::float8[]) as v(id, at) where e.id = v.id and e.finished_at is null returning e.id as key`,
    values: [plainArray(writes.map((w) => w.execution)), plainArray(writes.map((w) => w.atMs))],
  };
  return [asked];
}

/** Somebody wants all open executions of these commands cancelled. */
export function requestCommandCancel(writes: readonly Of<'command-cancel-requested'>[]): readonly Statement[] {
  const asked: Statement = {
    text: `update command_execution e set cancel_requested_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::float8[]) as v(id, at) where e.command_id = v.id and e.finished_at is null and e.cancel_requested_at is null`,
    values: [writes.map((w) => w.command), writes.map((w) => w.atMs)],
  };
  return [asked];
}
