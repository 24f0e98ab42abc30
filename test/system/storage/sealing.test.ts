/** How a database comes from one ENCRYPTION_KEY to the next (E3). */
import test from 'ava';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { webhookSecret } from '../../../actors/sealed-columns.ts';
import { IN_FLIGHT_MS_MAX, WeakEncryptionKey } from '../../../persistence/sealing/encryption-keys.ts';
import { SEALED_COLUMNS, sealBatchAnew, unreadableRows } from '../../../persistence/sealing/sealed-rows.ts';
import { WrongEncryptionKey } from '../../../persistence/secret-check.ts';
import { createVault } from '../../../persistence/vault.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { adminOf, opened, storeSecrets } from '../../support/database/sealing-admins.ts';

const OLD = Buffer.from('encryption-key-of-32-bytes-older');
const NEW = Buffer.from('encryption-key-of-32-bytes-newer');

test('every sealed column of the schema is sealed anew by a rotation', async (t) => {
  const { pool } = await openedDatabase(t);

  const { rows } = await pool.query<{ column: string }>(
    `select table_name || '.' || column_name as column from information_schema.columns where table_schema = current_schema() and column_name like 'sealed%' order by 1`,
  );

  t.deepEqual(
    [...SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`), 'secret_check.sealed'].toSorted(),
    rows.map(({ column }) => column),
  );
});

test('a start with another key than the first one is refused in one line, however many start at once', async (t) => {
  const { pool } = await openedDatabase(t);
  await Promise.all([1, 2, 3].map(() => adminOf(t, pool, createVault(OLD)).keys.settle()));
  await adminOf(t, pool, createVault(OLD)).keys.settle();

  const error = await t.throwsAsync(adminOf(t, pool, createVault(NEW)).keys.settle(), {
    instanceOf: WrongEncryptionKey,
  });

  t.regex(error?.message ?? '', /^Neither ENCRYPTION_KEY nor one of ENCRYPTION_KEYS_OLD [^\n]*$/u);
});

test('a rotation seals all secrets under the new key, and only then lets a start go without the former', async (t) => {
  const { pool } = await openedDatabase(t);
  const before = adminOf(t, pool, createVault(OLD));
  await before.start('one');
  const ids = await storeSecrets(pool, before.vault, 230); // more than a batch of each
  await before.leave();

  const during = adminOf(t, pool, createVault(NEW, [OLD]));
  await during.start('one');
  t.is(during.vault.sealing(), before.vault.wanted);
  await during.rotation.step();
  t.is(during.vault.sealing(), during.vault.wanted);
  const tooEarly = await t.throwsAsync(adminOf(t, pool, createVault(NEW)).keys.settle(), {
    instanceOf: WrongEncryptionKey,
  });
  await during.rotate();

  t.regex(
    tooEarly?.message ?? '',
    /still sealed under a former ENCRYPTION_KEY \(webhook\.sealed_secret: \d+, .*ENCRYPTION_KEYS_OLD/u,
  );
  const after = adminOf(t, pool, createVault(NEW));
  await after.keys.settle();
  t.deepEqual(
    await opened(pool, after.vault, ids),
    ids.map((id) => [`secret ${id}`, `answer ${id}`]),
  );
  t.deepEqual(during.rotation.readings(), { keys: 2, sealed: 690, unreadable: 0, isDone: true });
  t.true(during.log.lines.some(({ message }) => message.startsWith('nothing is sealed under a former ENCRYPTION_KEY')));
  await t.throwsAsync(adminOf(t, pool, createVault(OLD)).keys.settle(), { instanceOf: WrongEncryptionKey });
});

test('a rotation that is cut off after any batch is taken up by whoever comes next', async (t) => {
  const { pool } = await openedDatabase(t);
  const before = adminOf(t, pool, createVault(OLD));
  await before.start('one');
  const ids = await storeSecrets(pool, before.vault, 45);
  await before.leave();

  for (let batches = 1; batches <= 9; batches += 1) {
    const cutOff = adminOf(t, pool, createVault(NEW, [OLD]));
    await cutOff.start('one');
    for (let batch = 0; batch < batches; batch += 1) await cutOff.rotation.step();
    t.deepEqual((await opened(pool, cutOff.vault, ids)).length, 45);
  }
  const last = adminOf(t, pool, createVault(NEW, [OLD]));
  await last.start('one');
  await last.rotate();

  t.deepEqual(await unreadableRows(pool, createVault(NEW)), []);
});

test('the new key waits until every admin that is there wants it, also one of a release that wants nothing', async (t) => {
  const { pool } = await openedDatabase(t);
  const [one, two] = [adminOf(t, pool, createVault(OLD)), adminOf(t, pool, createVault(OLD))];
  await one.start('one');
  await two.start('two');
  await pool.query(
    `insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, started_at, last_checked_in) values ($1, 'older', 'x', 'default', '0', 1, now(), clock_timestamp())`,
    [randomUUID()],
  );
  const newOne = adminOf(t, pool, createVault(NEW, [OLD]));
  await newOne.start('one');

  await newOne.rotation.step();
  const sealing = [newOne.vault.sealing()];
  await pool.query(`delete from admin where name = 'older'`);
  await newOne.rotation.step();
  sealing.push(newOne.vault.sealing());
  const newTwo = adminOf(t, pool, createVault(NEW, [OLD]));
  await newTwo.start('two');
  await newOne.rotation.step();
  sealing.push(newOne.vault.sealing());
  await newTwo.keys.compare();

  t.deepEqual(sealing, [one.vault.wanted, one.vault.wanted, newOne.vault.wanted]);
  t.is(newTwo.vault.sealing(), newTwo.vault.wanted);
  t.deepEqual(
    newOne.log.lines.map(({ message }) => message).filter((message) => message.includes('not used yet')),
    ['older, two', 'two'].map(
      (names) => `the new ENCRYPTION_KEY is not used yet: it is not that of ${names}, where the former one still is`,
    ),
  );
});

test('what was sealed before the change and is stored after it is waited for', async (t) => {
  const { pool } = await openedDatabase(t);
  const before = adminOf(t, pool, createVault(OLD));
  await before.start('one');
  await before.leave();
  const during = adminOf(t, pool, createVault(NEW, [OLD]), { inFlightMsMax: IN_FLIGHT_MS_MAX });
  await during.start('one');
  for (let step = 0; step < 20; step += 1) await during.rotation.step();

  t.false(during.rotation.readings().isDone);
  await t.throwsAsync(adminOf(t, pool, createVault(NEW)).keys.settle(), {
    instanceOf: WrongEncryptionKey,
    message: /\(it was changed less than a minute ago\)/u,
  });
  const ids = await storeSecrets(pool, before.vault, 1);
  await pool.query(
    `update encryption_key set sealing_since = sealing_since - interval '1 min' where replaced_at is null`,
  );
  await during.rotate();

  t.deepEqual(await opened(pool, createVault(NEW), ids), [[`secret ${ids[0]}`, `answer ${ids[0]}`]]);
  await adminOf(t, pool, createVault(NEW)).keys.settle();
});

test('an admin that has not the new key ends itself when it is changed behind its back', async (t) => {
  const { pool } = await openedDatabase(t);
  const frozen = adminOf(t, pool, createVault(OLD));
  await frozen.start('frozen');
  await pool.query(`update admin set last_checked_in = clock_timestamp() - interval '2 min'`);
  const other = adminOf(t, pool, createVault(NEW, [OLD]));
  await other.start('other');
  await other.rotation.step();

  await frozen.keys.compare();

  t.is((await frozen.keys.lost).name, 'WrongEncryptionKey');
});

test('two admins that want different keys change nothing', async (t) => {
  const { pool } = await openedDatabase(t);
  const one = adminOf(t, pool, createVault(OLD, [NEW]));
  await one.start('one');
  const two = adminOf(t, pool, createVault(NEW, [OLD]));
  await two.start('two');

  for (const admin of [one, two, one, two]) await admin.rotation.step();

  t.is(one.vault.sealing(), one.vault.wanted);
  t.is(two.vault.sealing(), one.vault.wanted);
});

test('rows that somebody holds or changed meanwhile are left for the next pass, and nobody is waited for', async (t) => {
  const { pool } = await openedDatabase(t);
  const old = createVault(OLD);
  const [held = '', free = ''] = (await storeSecrets(pool, old, 2)).toSorted();
  const vault = createVault(NEW, [OLD]);
  const [column] = SEALED_COLUMNS;
  const client = await pool.connect();
  await client.query('begin');
  await client.query('select from webhook where id = $1 for update', [held]);

  const first = await sealBatchAnew(pool, vault, column!, null);
  await client.query('commit');
  client.release();
  const second = await sealBatchAnew(pool, vault, column!, null);

  t.deepEqual(first, { last: null, sealed: 1, left: 1, unreadable: 0 });
  t.deepEqual(second, { last: null, sealed: 1, left: 0, unreadable: 0 });
  t.is((await opened(pool, vault, [free]))[0]?.[0], `secret ${free}`);
});

test('what somebody stored anew between the look and the store stays as it is', async (t) => {
  const { pool } = await openedDatabase(t);
  const old = createVault(OLD);
  const [id = ''] = await storeSecrets(pool, old, 1);
  const newer = old.seal('newer secret', webhookSecret(id));
  const between = {
    async query(text: string, values: unknown[]) {
      if (text.includes('update "webhook"'))
        await pool.query('update webhook set sealed_secret = $2 where id = $1', [id, newer]);
      return pool.query(text, values);
    },
  } as unknown as Pool;

  const looked = await sealBatchAnew(between, createVault(NEW, [OLD]), SEALED_COLUMNS[0]!, null);

  const { rows } = await pool.query<{ sealed: string }>('select sealed_secret as sealed from webhook');
  t.like(looked, { sealed: 0, left: 1 });
  t.is(rows[0]?.sealed, newer);
});

test('what no key opens is counted, left as it is, and does not keep a former key', async (t) => {
  const { pool } = await openedDatabase(t);
  const before = adminOf(t, pool, createVault(OLD));
  await before.start('one');
  const [id = ''] = await storeSecrets(pool, before.vault, 3);
  const damaged = createVault(Buffer.alloc(32, 9)).seal('lost', webhookSecret(id));
  await pool.query('update webhook set sealed_secret = $2 where id = $1', [id, damaged]);
  const during = adminOf(t, pool, createVault(NEW, [OLD]));
  await during.start('one');

  await during.rotate();

  t.like(during.rotation.readings(), { unreadable: 1, isDone: true });
  t.true(during.log.lines.some(({ message }) => message.includes('no key here opens: webhook.sealed_secret: 1.')));
  const { rows } = await pool.query<{ sealed: string }>('select sealed_secret as sealed from webhook where id = $1', [
    id,
  ]);
  t.is(rows[0]?.sealed, damaged);
  await adminOf(t, pool, createVault(NEW)).keys.settle();
});

test('a weak key begins no database and no rotation, and is warned of where it seals already', async (t) => {
  const { pool } = await openedDatabase(t);

  const first = await t.throwsAsync(adminOf(t, pool, createVault(OLD), { isWeak: true }).keys.settle(), {
    instanceOf: WeakEncryptionKey,
  });
  await adminOf(t, pool, createVault(OLD)).keys.settle();
  const next = await t.throwsAsync(adminOf(t, pool, createVault(NEW, [OLD]), { isWeak: true }).keys.settle(), {
    instanceOf: WeakEncryptionKey,
  });
  const inUse = adminOf(t, pool, createVault(OLD), { isWeak: true });
  await inUse.keys.settle();

  t.regex(first?.message ?? '', /nothing is sealed under it yet\. Make another one: openssl rand -base64 32$/u);
  t.regex(next?.message ?? '', /is not what the database is sealed under\. Make another one/u);
  t.true(inUse.log.lines.some(({ message }) => message.includes('ENCRYPTION_KEY is one that others guess')));
});
