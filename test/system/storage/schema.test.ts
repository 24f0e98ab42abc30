import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { Client } from 'pg';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { bringUpToDate, SchemaTooNew, WrongEncoding } from '../../../persistence/schema-version.ts';
import { scaled } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeCluster } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';

/**
 * What the migration makes and MikroORM's entities have no words for. Anything else that differs is a mistake in one of
 * the two.
 */
const BEYOND_ENTITIES: readonly RegExp[] = [
  /^set names 'utf8'$/u,
  /^drop (?:trigger|function) if exists/u,
  /^alter table "\w+" drop constraint "\w+_check"$/u,
  /^alter table "cluster" drop constraint "cluster_ipv[46]_overlap"$/u,
  /^alter table "(?:command_execution|self_update_(?:request|node))" drop constraint "\w+_shape"$/u,
  /^drop index "(?:command_execution_(?:open|expiring|finished|to_cancel|failed)|webhook_delivery_(?:pending|finished|dropped(?:_of_webhook)?)|self_update_\w+_open|encryption_key_sealing|event_(?:login_)?of_node)"$/u, // partial
  /^drop index "node_(?:facts_(?:hostname|os|arch)|labels_(?:labels|tokens))"$/u, // of expressions, and GIN
  /^alter table "node" drop column "wireguard_public_key"$/u, // kept for the release before
  /^alter table "event" alter column "seq" drop default$/u, // an identity column: it sees a default that is none
];

/** As the release before stores it. */
const AN_EVENT = `insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.core.test', gen_random_uuid(), now(), '{}')`;

test('entities and migrations describe the same tables', async (t) => {
  const { orm } = await openedDatabase(t);

  const differences = (await orm.schema.getUpdateSchemaSQL())
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');

  t.deepEqual(
    differences.filter((statement) => !BEYOND_ENTITIES.some((known) => known.test(statement))),
    [],
  );
  for (const known of BEYOND_ENTITIES)
    t.true(
      differences.some((statement) => known.test(statement)),
      `no longer needed: ${known}`,
    );
});

test('several admins may bring the schema up to date at once, and again', async (t) => {
  const connection = await createDatabase(t, { schema: 'empty' });
  const log = recordingLog();
  const admins = await Promise.all([1, 2, 3].map(() => openDatabase({ connection, poolMax: 3, log })));
  t.teardown(() => Promise.all(admins.map((admin) => admin.close())));

  await Promise.all(admins.map((admin) => admin.migrate()));
  await admins[0]!.migrate();

  t.is(log.lines.filter(({ message }) => message === 'brought the database schema up to date').length, 1);
  const { rows } = await admins[1]!.pool.query('select * from command_execution');
  t.deepEqual(rows, []);
});

for (const encoding of ['LATIN1', 'SQL_ASCII'])
  test(`a database of the encoding ${encoding} is refused in one line, and nothing is changed in it`, async (t) => {
    const connection = await createDatabase(t, { schema: 'empty', encoding });
    const database = await openDatabase({ connection, poolMax: 2, log: silentLog });
    t.teardown(() => database.close());

    const error = await t.throwsAsync(database.migrate(), { instanceOf: WrongEncoding });

    t.regex(
      error?.message ?? '',
      new RegExp(`^The database has the encoding ${encoding}, and UTF8 is needed: .*$`, 'u'),
    );
    const { rows } = await database.pool.query("select from pg_class where relname = 'node'");
    t.deepEqual(rows, []);
  });

test('a schema change blocked by a long read transaction is made later, and blocks no writer meanwhile', async (t) => {
  const connection = await createDatabase(t, { schema: 'empty' });
  const log = recordingLog();
  const database = await openDatabase({ connection, poolMax: 3, log });
  t.teardown(() => database.close());
  await bringUpToDate(connection, connection.database, silentLog, 'Migration20261128000000_all_found');
  const reader = new Client(connection);
  await reader.connect();
  t.teardown(() => reader.end());
  await reader.query('begin; lock table event in access share mode');
  const writer = new Client(connection);
  await writer.connect();
  t.teardown(() => writer.end());

  const migrating = database.migrate();
  await until('it waits', () => log.lines.some(({ message }) => message.includes('such as a backup')));
  await writer.query(`set statement_timeout = ${scaled(3_000)}`);
  for (let times = 0; times < 3; times += 1) await t.notThrowsAsync(writer.query(AN_EVENT));
  await reader.query('rollback');
  await migrating;

  t.like(log.lines.at(-1), { message: 'brought the database schema up to date' });
});

test('a database that a newer version made is refused in one line, and left alone', async (t) => {
  const connection = await createDatabase(t);
  const database = await openDatabase({ connection, poolMax: 3, log: silentLog });
  t.teardown(() => database.close());
  await database.pool.query(
    `insert into mikro_orm_migrations (name, executed_at) values ('Migration20991231000000_future', now())`,
  );

  const error = await t.throwsAsync(database.migrate(), { instanceOf: SchemaTooNew });

  t.is(
    error?.message,
    'The database was made by a newer version of this program (it has Migration20991231000000_future). Update this admin, or restore the database from before the update.',
  );
});

test('ranges of clusters cannot overlap, and their names are taken once', async (t) => {
  const { pool } = await openedDatabase(t);
  await storeCluster(pool, 'a', { ipv4Range: '10.0.1.0/24', ipv6Range: 'fd00:0:0:1::/64' });

  for (const [name, ipv4Range, ipv6Range, constraint] of [
    ['b', '10.0.0.0/16', 'fd00:0:0:2::/64', 'cluster_ipv4_overlap'],
    ['b', '10.0.1.128/25', 'fd00:0:0:2::/64', 'cluster_ipv4_overlap'],
    ['b', '10.0.2.0/24', 'fd00:0:0:1::/64', 'cluster_ipv6_overlap'],
    ['a', '10.0.2.0/24', 'fd00:0:0:2::/64', 'cluster_name_taken'],
    ['default', '10.0.2.0/24', 'fd00:0:0:2::/64', 'cluster_name_check'],
  ] as const) {
    const error = await t.throwsAsync<Error & { constraint?: string }>(
      storeCluster(pool, name, { ipv4Range, ipv6Range }),
    );
    t.is(error?.constraint, constraint);
  }
  await storeCluster(pool, 'b', { ipv4Range: '10.0.2.0/24', ipv6Range: 'fd00:0:0:2::/64' });
});

/** What takes away something that admins of the release before read or write. */
const CONTRACTION =
  /\bdrop (?:column|table)\b|\brename (?:column |constraint )?|\brename to\b|\balter column "\w+" (?:type|set not null|drop default)\b|\badd column (?:if not exists )?"\w+"(?![^,]*\bnull\b(?<!not null))(?![^,]*\bdefault\b)/iu;

/**
 * Migrations that contract on purpose, each with the reason why no release reads or needs what it takes. Every name
 * here was decided, none is a formality.
 */
const CONTRACTS: Readonly<Record<string, string>> = {
  Migration20261121200000_node_status: 'its column is new, and has a default for those who do not know it',
  Migration20261130000000_event_partitions:
    'a table of the same name and columns stands in the place of that which is renamed',
};

test('migrations expand: each that drops, renames or requires what the release before uses has its reason in a list', (t) => {
  const directory = new URL('../../../persistence/migrations/', import.meta.url);
  const found = readdirSync(directory)
    .filter((file) =>
      readFileSync(new URL(file, directory), 'utf8')
        .split('\n')
        .some((line) => !/^\s*\/\//u.test(line) && CONTRACTION.test(line)),
    )
    .map((file) => file.replace(/\.ts$/u, ''));

  t.deepEqual(found.toSorted(), Object.keys(CONTRACTS));
});

test('what contracts is seen', (t) => {
  for (const [statement, isSeen] of [
    ['alter table "node" drop column "a"', true],
    ['drop table "node"', true],
    ['alter table "node" rename column "a" to "b"', true],
    ['alter table "node" rename to "machine"', true],
    ['alter table "node" alter column "a" set not null', true],
    ['alter table "node" alter column "a" type int', true],
    ['alter table "node" add column "a" int not null', true],
    ['alter table "node" add column "a" int null', false],
    ['alter table "node" add column "a" int not null default 1', false],
    ['alter table "event" alter column "a" set default b()', false],
  ] as const)
    t.is(CONTRACTION.test(statement), isSeen, statement);
});
