/**
 * Hot writes as set-based statements: one a kind, each guarded by the states it may follow. Each tells which of its
 * writes found their row.
 */
import type { PoolClient } from 'pg';
import type { HotWrite } from '../../actors/writes.ts';
import type { SshGrant } from '../../transport/protocol/ssh.ts';
import { traceparentOf } from '../../transport/protocol/trace-context.ts';
import type { StatusDetail } from '../entities/node.ts';
import { jsonTexts, jsonTextsOf, plainArray } from './arrays.ts';

type Client = Pick<PoolClient, 'query'>;
type Of<K extends HotWrite['kind']> = Extract<HotWrite, { kind: K }>;

/** Runs all writes of one kind. Returns the keys of those that applied, as `keyOf` makes them. */
type Statement<K extends HotWrite['kind']> = (client: Client, writes: readonly Of<K>[]) => Promise<ReadonlySet<string>>;

/** What a write is about, to find it among those that applied. */
export function keyOf(write: HotWrite): string {
  switch (write.kind) {
    case 'command-created':
      return write.command.id;
    case 'command-cancel-requested':
      return write.command;
    case 'node-status':
      return write.node;
    case 'delivery-attempted':
    case 'delivery-reopened':
      return write.delivery;
    case 'ssh-verified':
      return `${write.node}:${write.session}:${write.attempt}`;
    case 'output-part':
      return `${write.execution}:${write.part}`;
    case 'execution-cancel-requested':
    case 'execution-finished':
    case 'execution-sent':
    default:
      return write.execution;
  }
}

/**
 * One statement a kind, in the order in which a batch runs them: an execution may be created, sent and finished in one
 * batch.
 */
export const HOT_STATEMENTS: { readonly [K in HotWrite['kind']]: Statement<K> } = {
  'command-created': createCommands,
  'execution-sent': sendExecutions,
  'output-part': storeParts,
  'execution-cancel-requested': requestCancel,
  'command-cancel-requested': requestCommandCancel,
  'execution-finished': finishExecutions,
  'node-status': setStatus,
  'ssh-verified': lookAgain,
  'delivery-reopened': reopenDeliveries,
  'delivery-attempted': storeAttempts,
};

async function createCommands(client: Client, writes: readonly Of<'command-created'>[]): Promise<ReadonlySet<string>> {
  const commands = writes.map((write) => write.command);
  await client.query({
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
  });
  await createExecutions(client, writes);
  return new Set(commands.map((command) => command.id));
}

async function createExecutions(client: Client, writes: readonly Of<'command-created'>[]): Promise<void> {
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
  if (ids.length === 0) return;
  // What all executions of a command share is sent once.
  await client.query({
    name: 'create-executions',
    text: `insert into command_execution (id, command_id, node_id, cluster_name, target_all, expired_at, inserted_at, updated_at)
      select v.id, c.id, v.node, v.cluster, c.target_all, c.expires, c.at, c.at
      from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[]) as v(id, command, node, cluster)
      join (select n, id, target_all, to_timestamp(expires / 1000.0) as expires, to_timestamp(at / 1000.0) as at
        from unnest($5::uuid[], $6::boolean[], $7::float8[], $8::float8[]) with ordinality as u(id, target_all, expires, at, n)) as c on c.n = v.command`,
    values: [
      plainArray(ids),
      plainArray(commands),
      plainArray(nodes),
      plainArray(clusters),
      plainArray(writes.map((w) => w.command.id)),
      plainArray(writes.map((w) => w.command.targeting.type === 'all')),
      plainArray(writes.map((w) => w.command.expiredAtMs)),
      plainArray(writes.map((w) => w.command.insertedAtMs)),
    ],
  });
}

async function sendExecutions(client: Client, writes: readonly Of<'execution-sent'>[]): Promise<ReadonlySet<string>> {
  return applied(client, {
    name: 'send-executions',
    text: `update command_execution e set status = 'sent', sent_at = to_timestamp(v.at / 1000.0), updated_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::float8[]) as v(id, at) where e.id = v.id and e.status = 'pending' returning e.id as key`,
    values: [plainArray(writes.map((w) => w.execution)), plainArray(writes.map((w) => w.atMs))],
  });
}

async function finishExecutions(
  client: Client,
  writes: readonly Of<'execution-finished'>[],
): Promise<ReadonlySet<string>> {
  const keys = await applied(client, {
    name: 'finish-executions',
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
  });
  const joined = writes.filter((write) => write.ending.parts > 0).map((write) => write.execution);
  if (joined.length > 0)
    await client.query('delete from execution_output_part where execution_id = any($1::uuid[])', [joined]);
  return keys;
}

async function storeParts(client: Client, writes: readonly Of<'output-part'>[]): Promise<ReadonlySet<string>> {
  // An agent that reconnects sends a part again: the same text under the same number.
  const distinct = [...new Map(writes.map((write) => [keyOf(write), write])).values()];
  await client.query(
    `insert into execution_output_part (execution_id, part, text) select * from unnest($1::uuid[], $2::int[], $3::text[]) on conflict (execution_id, part) do update set text = excluded.text`,
    [distinct.map((w) => w.execution), distinct.map((w) => w.part), distinct.map((w) => storable(w.text))],
  );
  return new Set(distinct.map(keyOf));
}

async function requestCancel(
  client: Client,
  writes: readonly Of<'execution-cancel-requested'>[],
): Promise<ReadonlySet<string>> {
  return applied(client, {
    name: 'request-cancel',
    text: `update command_execution e set cancel_requested_at = coalesce(e.cancel_requested_at, to_timestamp(v.at / 1000.0))
      from unnest($1::uuid[], $2::float8[]) as v(id, at) where e.id = v.id and e.finished_at is null returning e.id as key`,
    values: [plainArray(writes.map((w) => w.execution)), plainArray(writes.map((w) => w.atMs))],
  });
}

async function requestCommandCancel(
  client: Client,
  writes: readonly Of<'command-cancel-requested'>[],
): Promise<ReadonlySet<string>> {
  await client.query(
    `update command_execution e set cancel_requested_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::float8[]) as v(id, at) where e.command_id = v.id and e.finished_at is null and e.cancel_requested_at is null`,
    [writes.map((w) => w.command), writes.map((w) => w.atMs)],
  );
  return new Set(writes.map(keyOf));
}

async function setStatus(client: Client, writes: readonly Of<'node-status'>[]): Promise<ReadonlySet<string>> {
  // Two changes of one node in a batch: the later one is the truth, and both have their event.
  const last = [...new Map(writes.map((write) => [write.node, write])).values()];
  return applied(client, {
    name: 'set-status',
    text: `update node n set status = v.status, status_since = to_timestamp(v.since / 1000.0), status_reason = v.reason, status_detail = v.detail::jsonb,
      updated_at = to_timestamp(v.at / 1000.0), last_seen_at = case when v.status = 'unreachable' then n.last_seen_at else to_timestamp(v.at / 1000.0) end
      from unnest($1::uuid[], $2::text[], $3::float8[], $4::float8[], $5::text[], ${jsonTextsOf('$6')}) as v(id, status, at, since, reason, detail) where n.id = v.id returning n.id as key`,
    values: [
      plainArray(last.map((w) => w.node)),
      plainArray(last.map((w) => w.status)),
      plainArray(last.map((w) => w.atMs)),
      plainArray(last.map((w) => w.standing.sinceMs)),
      last.map((w) => w.standing.reason),
      jsonTexts(
        last.map(({ standing }): StatusDetail => ({ evidence: standing.evidence, changes_ms: standing.changesMs })),
      ),
    ],
  });
}

/**
 * A login stands while what opened it does. The share locks make a deletion wait until the login is stored, so that it
 * finds a session to end; and a deletion that came first leaves no row to lock. One that was refused needs nothing.
 */
async function lookAgain(client: Client, writes: readonly Of<'ssh-verified'>[]): Promise<ReadonlySet<string>> {
  const keys = new Set(writes.filter((write) => write.grant === null).map(keyOf));
  const granted = writes.flatMap((write) =>
    write.grant === null ? [] : [{ key: keyOf(write), node: write.node, ...write.grant }],
  );
  for (const key of await lockGrants(
    client,
    granted.filter((one) => one.ssh_public_key_id === null),
    false,
  ))
    keys.add(key);
  for (const key of await lockGrants(
    client,
    granted.filter((one) => one.ssh_public_key_id !== null),
    true,
  ))
    keys.add(key);
  return keys;
}

async function lockGrants(
  client: Client,
  granted: readonly ({ readonly key: string; readonly node: string } & SshGrant)[],
  byKey: boolean,
): Promise<ReadonlySet<string>> {
  if (granted.length === 0) return new Set();
  const values: unknown[] = [
    plainArray(granted.map((one) => one.key)),
    plainArray(granted.map((one) => one.node)),
    plainArray(granted.map((one) => one.ssh_username_id)),
  ];
  return applied(
    client,
    byKey
      ? {
          name: 'lock-ssh-keys',
          text: `select v.key from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) as v(key, node, username, public_key)
      join ssh_username u on u.id = v.username and u.node_id = v.node join ssh_public_key k on k.id = v.public_key and k.ssh_username_id = u.id order by u.id, k.id for share of u, k`,
          values: [...values, plainArray(granted.map((one) => one.ssh_public_key_id))],
        }
      : {
          name: 'lock-ssh-usernames',
          text: 'select v.key from unnest($1::text[], $2::uuid[], $3::uuid[]) as v(key, node, username) join ssh_username u on u.id = v.username and u.node_id = v.node order by u.id for share of u',
          values,
        },
  );
}

async function reopenDeliveries(
  client: Client,
  writes: readonly Of<'delivery-reopened'>[],
): Promise<ReadonlySet<string>> {
  return applied(client, {
    name: 'reopen-deliveries',
    text: `update webhook_delivery d set status = 'pending', attempts_max = d.attempt_count + 1, updated_at = to_timestamp(v.at / 1000.0)
      from unnest($1::uuid[], $2::int[], $3::float8[]) as v(id, attempts, at) where d.id = v.id and d.status <> 'pending' and d.attempt_count = v.attempts returning d.id as key`,
    values: [
      plainArray(writes.map((w) => w.delivery)),
      plainArray(writes.map((w) => w.attempts)),
      plainArray(writes.map((w) => w.atMs)),
    ],
  });
}

/** The number of the try guards it: one that was counted already changes nothing. */
async function storeAttempts(
  client: Client,
  writes: readonly Of<'delivery-attempted'>[],
): Promise<ReadonlySet<string>> {
  const attempts = writes.map((w) => w.attempt);
  return applied(client, {
    name: 'store-attempts',
    text: `with v as materialized (
        select id, number, to_timestamp(began / 1000.0) as began, duration, code, error, answer, status, to_timestamp(next / 1000.0) as next, to_timestamp(at / 1000.0) as at
        from unnest($1::uuid[], $2::int[], $3::float8[], $4::int[], $5::int[], $6::text[], $7::text[], $8::text[], $9::float8[], $10::float8[]) as u(id, number, began, duration, code, error, answer, status, next, at)),
      d as (update webhook_delivery d set status = v.status, attempt_count = v.number, next_attempt_at = v.next, last_status_code = v.code, last_error = v.error, last_duration_ms = v.duration, last_attempted_at = v.began, updated_at = v.at
        from v where d.id = v.id and d.status = 'pending' and d.attempt_count = v.number - 1 returning d.id)
      insert into webhook_attempt (delivery_id, number, attempted_at, duration_ms, status_code, error, response_body)
        select v.id, v.number, v.began, v.duration, v.code, v.error, v.answer from v join d on d.id = v.id returning delivery_id as key`,
    values: [
      plainArray(writes.map((w) => w.delivery)),
      plainArray(writes.map((w) => w.number)),
      plainArray(attempts.map((a) => a.atMs)),
      plainArray(attempts.map((a) => Math.round(a.durationMs))),
      plainArray(attempts.map((a) => (a.type === 'answered' ? a.statusCode : null))),
      attempts.map((a) => (a.type === 'failed' ? storable(a.error) : null)),
      attempts.map((a) => (a.type === 'answered' ? storable(a.answer) : null)),
      plainArray(writes.map((w) => w.status)),
      plainArray(writes.map((w) => w.nextAttemptAtMs)),
      plainArray(writes.map((w) => w.atMs)),
    ],
  });
}

async function applied(
  client: Client,
  query: { readonly name: string; readonly text: string; readonly values: unknown[] },
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ key: string }>(query);
  return new Set(rows.map((row) => row.key));
}

/**
 * PostgreSQL stores no NUL in text; a process may well print one. It is replaced like any other byte that is no text.
 */
function storable(text: string | null): string | null {
  return text?.includes('\0') === true ? text.replaceAll('\0', '\uFFFD') : text;
}
