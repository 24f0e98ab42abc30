/** Backups of a database that is in use: whole, of one moment, and restored into an empty database only. */
import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { backUp, restore } from '../../../persistence/backup/backup.ts';
import type { Storage } from '../../../persistence/connections/command-database.ts';
import { tablesOf } from '../../../persistence/backup/tables.ts';
import { storeCheck } from '../../../persistence/secret-check.ts';
import { column } from '../../support/database/columns.ts';
import { createDatabase } from '../../support/database/database.ts';
import { openFragileDatabase } from '../../support/database/fragile-database.ts';
import { silentLog } from '../../support/log.ts';
import { LONG_WAITS, openedDatabase } from '../../support/database/opened.ts';
import { urlOf, type TestConnection } from '../../support/database/server.ts';
import { storeEvent } from './publishing/fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** What is said of a connection that is lost. */
const LOST = /unexpected postmaster exit|Connection terminated unexpectedly/u;

/** Of the heap of a backup, in MB: less than the large rows of a test have together. */
const MEMORY_MB = 96;

const run = promisify(execFile);

/** The key of `openedDatabase`. */
const KEY = Buffer.alloc(32, 7);

const storageOf = (connection: TestConnection, key: Uint8Array = KEY): Storage => ({
  DATABASE_URL: urlOf(connection),
  DATABASE_POOL_MAX: 2,
  DATA_DIR: '/nowhere',
  ENCRYPTION_KEY: key,
});

/** Every row of every table, as text. */
async function rowsOf(t: ExecutionContext, connection: TestConnection): Promise<Record<string, readonly string[]>> {
  const client = await clientOf(t, connection);
  const rows: Record<string, readonly string[]> = {};
  for (const { name } of await tablesOf(client)) {
    const all = await client.query<{ row: string }>(`select t::text as row from "${name}" t order by 1`);
    rows[name] = column(all.rows, 'row');
  }
  return rows;
}

/** An empty database. */
const emptyDatabase = (t: ExecutionContext) => createDatabase(t, { schema: 'empty' });

/** A connection that ends with the test. */
async function clientOf(t: ExecutionContext, connection: TestConnection): Promise<Client> {
  const client = new Client(connection);
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

/** A new database with what a file holds, a connection to it, and what was said of it. */
async function restored(t: ExecutionContext, file: string) {
  const connection = await emptyDatabase(t);
  const told = await restore(storageOf(connection), file, silentLog);
  return { connection, told, client: await clientOf(t, connection) };
}

/** A database with rows that are awkward to write down, and its backup. */
async function backedUp(t: ExecutionContext) {
  const opened = await openedDatabase(t, LONG_WAITS); // large rows take a while on a disk that is busy
  const { host, port, user, database } = (opened.pool as unknown as { options: TestConnection }).options;
  const connection = { host, port, user, database };
  const cluster = v7();
  await storeCheck(opened.pool, opened.vault, opened.vault.wanted, { first: true });
  await opened.pool.query(
    `insert into cluster (id, name, ipv4_range, ipv6_range, inserted_at, updated_at) values ($1, 'a', '10.0.1.0/24', 'fd00:0:0:1::/64', now(), now())`,
    [cluster],
  );
  await opened.pool
    .query(`insert into ssh_recording (id, node_id, cluster_name, ssh_username_id, username, command, started_at, duration_ms, width, height, truncated, size_bytes, content, inserted_at)
    select gen_random_uuid(), gen_random_uuid(), 'a', gen_random_uuid(), 'u', E'quotes " \\' \\\\ (,) \\n\\t ü 🙂', now(), 1, 80, 24, false, 3, decode(repeat('00ff0a5c', 200000), 'hex'), now() from generate_series(1, 3)`);
  for (const data of ['{"a": "\\" \\\\ \\n , ( ) {}"}', '{"float": 1e-7, "null": null}'])
    await storeEvent(opened.pool, v7(), { data });
  await opened.pool.query(
    `insert into command (id, command_text, targeting, inserted_at, updated_at) select gen_random_uuid(), 'c' || i, '{"type":"all"}', now(), now() from generate_series(1, 6000) i`,
  );
  const file = join(temporaryDirectory(t), 'edge.backup');
  const said = await backUp(storageOf(connection), file, '9.9.9', silentLog);
  return { opened, connection, file, said };
}

test('a backup that is restored into an empty database has every row as it was, and sequences and counts go on', async (t) => {
  const { connection, file, said } = await backedUp(t);
  const before = await rowsOf(t, connection);
  const count = Object.values(before).flat().length;
  t.is(
    said,
    `Backed up ${count} rows of ${Object.keys(before).length} tables to ${file}. Keep the key with it, in another place: without ENCRYPTION_KEY no secret in it can be read.`,
  );
  t.is((await stat(file)).mode & 0o777, 0o600);

  const { connection: after, told, client } = await restored(t, file);

  t.regex(told, new RegExp(`^Restored ${count} rows of ${Object.keys(before).length} tables, as they were at 20`, 'u'));
  t.deepEqual(await rowsOf(t, after), before);
  await storeEvent(client as never);
  const { rows } = await client.query('select max(seq)::int as seq from event');
  t.deepEqual(rows, [{ seq: 3 }]);
  await client.query(
    `insert into command (id, command_text, targeting, inserted_at, updated_at) values (gen_random_uuid(), 'one more', '{"type":"all"}', now(), now())`,
  );
  t.deepEqual((await client.query(`select sum(n)::int as n from row_count where table_name = 'command'`)).rows, [
    { n: 6_001 },
  ]);
});

test('a backup says which key belongs to it, and when none that it was given does', async (t) => {
  const { connection, said } = await backedUp(t);
  const file = join(temporaryDirectory(t), 'edge.backup');
  const withOther = await backUp(storageOf(connection, Buffer.alloc(32, 9)), file, '9.9.9', silentLog);

  const DATA_DIR = temporaryDirectory(t);
  await writeFile(join(DATA_DIR, 'encryption.key'), 'damaged');
  const damaged = { ...storageOf(connection), DATA_DIR, ENCRYPTION_KEY: undefined };
  const withDamaged = await backUp(damaged, `${file}.2`, '9.9.9', silentLog);

  t.regex(said, /: without ENCRYPTION_KEY no secret in it can be read\.$/u);
  for (const warned of [withOther, withDamaged])
    t.regex(warned, /: no key that this command was given is that of the database\.$/u);
});

test('columns that lie in another order are restored by their names', async (t) => {
  const { opened, connection } = await backedUp(t);
  await opened.pool.query(
    'alter table cluster drop column node_limit; alter table cluster add column node_limit int null; update cluster set node_limit = 7',
  );
  const file = join(temporaryDirectory(t), 'reordered.backup');
  await backUp(storageOf(connection), file, '9.9.9', silentLog);

  const { client } = await restored(t, file);

  t.deepEqual((await client.query('select name, node_limit, ipv4_range from cluster')).rows, [
    { name: 'a', node_limit: 7, ipv4_range: '10.0.1.0/24' },
  ]);
});

test('a backup is of one moment, whatever is stored while it is written', async (t) => {
  const { opened, connection } = await backedUp(t);
  const over = new AbortController();
  // One transaction stores a cluster and its event: a backup has both or neither.
  const load = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const id = v7();
      await opened.pool
        .query(`with c as (insert into cluster (id, name, ipv4_range, ipv6_range, inserted_at, updated_at) values ('${id}', 'n${n}', '10.${1 + (n >> 8)}.${n & 255}.0/24', ('fd00:1:' || to_hex(${n}) || '::/64')::cidr, now(), now()))
        insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.core.test', '${id}', now(), '{}')`);
    }
  })();
  const file = join(temporaryDirectory(t), 'moving.backup');
  await backUp(storageOf(connection), file, '9.9.9', silentLog);
  over.abort();
  await load;

  const { client } = await restored(t, file);

  const {
    rows: [row],
  } = await client.query<{
    clusters: number;
    events: number;
    apart: number;
  }>(`select (select count(*)::int from cluster where name like 'n%') as clusters,
    (select count(*)::int from event e join cluster c on c.id = e.subject) as events, (select count(*)::int from cluster c where c.name like 'n%' and not exists (select from event e where e.subject = c.id)) as apart`);
  t.deepEqual(row, { clusters: row?.events ?? 0, events: row?.clusters ?? 0, apart: 0 });
});

test('large rows behind small ones are written with little memory', async (t) => {
  const { opened, connection } = await backedUp(t);
  const command = v7();
  await opened.pool.query(
    `insert into command_execution (id, command_id, node_id, cluster_name, target_all, status, output, finished_at, inserted_at, updated_at)
    select uuid_v7(), $1, gen_random_uuid(), 'c', true, 'dropped', repeat('x', case when i < 6000 then 1 else 900000 end), now(), now(), now() from generate_series(1, 6140) i`,
    [command],
  );
  const file = join(temporaryDirectory(t), 'large.backup');
  const module = new URL('../../../persistence/backup/backup.ts', import.meta.url).href;
  const program = `const { backUp } = await import(process.argv[1]);
    const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, () => {}]));
    console.log(await backUp({ ...JSON.parse(process.argv[2]), ENCRYPTION_KEY: Buffer.alloc(32, 7) }, process.argv[3], '9.9.9', log));`;
  const words = ['--input-type=module', '-e', program, module, JSON.stringify(storageOf(connection)), file];

  const { stdout } = await run(process.execPath, [`--max-old-space-size=${MEMORY_MB}`, ...words]);

  t.regex(stdout, /^Backed up \d+ rows/u);
});

test('a database that is not empty is left alone, and so is a file that is there', async (t) => {
  const { connection, file } = await backedUp(t);
  const before = await rowsOf(t, connection);

  await t.throwsAsync(restore(storageOf(connection), file, silentLog), {
    name: 'BackupRefused',
    message:
      /^The database is not empty \(cluster, command, event, row_count, secret_check, ssh_recording\): a backup is restored into a new one, so that nothing is overwritten\. Name an empty DATABASE_URL or another DATA_DIR\.$/u,
  });
  await t.throwsAsync(backUp(storageOf(connection), file, '9.9.9', silentLog), {
    name: 'BackupRefused',
    message: `${file} is there already: name another file, or move it away.`,
  });
  const foreign = await emptyDatabase(t);
  await (await clientOf(t, foreign)).query('create table theirs (id int)');
  await t.throwsAsync(restore(storageOf(foreign), file, silentLog), {
    name: 'BackupRefused',
    message: /^The database is not empty \(theirs\)/u,
  });
  await t.throwsAsync(backUp(storageOf(foreign), `${file}.2`, '9.9.9', silentLog), {
    name: 'BackupRefused',
    message: 'There is nothing to back up: no admin has used this database yet.',
  });

  t.deepEqual(await rowsOf(t, connection), before);
});

test('a file that is cut, damaged or of a newer version restores nothing, and after each of them the right one does', async (t) => {
  const { connection, file } = await backedUp(t);
  const whole = await readFile(file);
  const lines = gunzipSync(whole).toString().split('\n');
  const empty = await emptyDatabase(t);
  const fails = async (content: Uint8Array, message: RegExp, storage = storageOf(empty)): Promise<void> => {
    await writeFile(`${file}.bad`, content);
    await t.throwsAsync(restore(storage, `${file}.bad`, silentLog), { message }, String(message));
  };
  const header = JSON.parse(lines[0] ?? '') as { migrations: string[] };
  const flipped = Buffer.from(whole);
  flipped.writeUInt8(flipped.readUInt8(whole.length >> 1) ^ 1, whole.length >> 1);

  await fails(Buffer.from('select 1'), /\.bad is no backup, or damaged/u);
  await fails(gzipSync('{"a":1}\n'), /\.bad is no backup of this form/u);
  await fails(
    gzipSync(
      [
        JSON.stringify({ ...header, migrations: [...header.migrations, 'Migration20991231000000_future'] }),
        ...lines.slice(1),
      ].join('\n'),
    ),
    /^It was made by a newer version of this program \(it has Migration20991231000000_future\)/u,
  );
  await fails(whole, /is not the key that the backup was made with/u, storageOf(empty, Buffer.alloc(32, 8)));
  await fails(whole.subarray(0, whole.length - 20), /\.bad is cut short\.$/u);
  await fails(gzipSync(lines.slice(0, -2).join('\n')), /\.bad is cut short\.$/u);
  await fails(
    gzipSync(
      lines
        .toSpliced(
          lines.findLastIndex((line) => line.startsWith('"')),
          1,
        )
        .join('\n'),
    ),
    /\.bad is damaged: it holds \d+ rows and says that they are \d+\.$/u,
  );
  await fails(flipped, /damaged|invalid|malformed|cut short/u);
  await restore(storageOf(empty), file, silentLog);

  t.deepEqual(await rowsOf(t, empty), await rowsOf(t, connection));
});

test('a database that is lost fails a backup or a restore with its reason, and the next try succeeds', async (t) => {
  const { connection } = await backedUp(t);
  const directory = temporaryDirectory(t);
  const file = (name: string): string => join(directory, name);
  const used = await openFragileDatabase(t, connection);
  const empty = await openFragileDatabase(t, await emptyDatabase(t));
  const of = ({ url }: { readonly url: string }): Storage => ({ ...storageOf(connection), DATABASE_URL: url });

  for (const moment of [2, 5, 20]) {
    used.loseAt(moment, 'unheard');
    await t.throwsAsync(backUp(of(used), file(`lost-${moment}`), '1', silentLog), { message: LOST });
  }
  await backUp(of(used), file('whole'), '1', silentLog);
  for (const moment of [2, 14, 100]) {
    empty.loseAt(moment, 'unheard');
    await t.throwsAsync(restore(of(empty), file('whole'), silentLog), { message: LOST });
  }

  t.regex(await restore(of(empty), file('whole'), silentLog), /^Restored /u);
});
