/** Connections to the database that fall silent without an end: they are not used again (L3). */
import { createServer, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { openDatabase, ORM_CONNECTIONS_MAX, QUERY_MS_MAX } from '../../../persistence/connections/database.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { openFragileDatabase } from '../../support/database/fragile-database.ts';
import { listening } from '../../support/net/listening.ts';
import { silentLog } from '../../support/log.ts';
import { LONG_WAITS, scaledLimits } from '../../support/database/opened.ts';

/** Turns of the event loop within which a connection is dialled: it is closed after each of them once. */
const DIAL_TURNS = 30;

test('a connection of MikroORM that does not answer is closed: what asks next has another one', async (t) => {
  t.timeout(hangAfter(QUERY_MS_MAX * 8));
  const { host, port, user, database } = await createDatabase(t);
  const open = new Set<Socket>();
  const server = createServer((outer) => {
    const inner = connect(join(host, `.s.PGSQL.${port}`));
    open.add(outer.on('error', () => inner.destroy()).on('close', () => inner.destroy()));
    inner.on('error', () => outer.destroy());
    outer.pipe(inner).pipe(outer);
  });
  const address = await listening(t, server);
  const url = `postgresql://${user}@127.0.0.1:${address}/${database}`;
  const opened = await openDatabase({ connection: { url }, poolMax: 2, log: silentLog, limits: scaledLimits() });
  t.teardown(() => opened.close());
  const ask = () => opened.orm.em.fork().execute<{ one: number }[]>('select 1 as one');
  t.deepEqual(await ask(), [{ one: 1 }]);

  for (const socket of open) socket.unpipe().pause(); // as a firewall does that has forgotten it
  await t.throwsAsync(ask(), { message: /Query read timeout/u });

  t.deepEqual(await ask(), [{ one: 1 }]);
});

test('transactions whose connections the database ended give them back', async (t) => {
  const opened = await openDatabase({
    connection: await createDatabase(t),
    poolMax: 4,
    log: silentLog,
    limits: { ...scaledLimits(), ...LONG_WAITS },
  });
  t.teardown(() => opened.close());
  const ask = () => opened.orm.em.fork().execute<{ one: number }[]>('select 1 as one');

  for (let count = 0; count < ORM_CONNECTIONS_MAX; count += 1)
    await t.throwsAsync(
      opened.orm.em.fork().transactional(async (em) => {
        const [row] = await em.execute<{ pid: number }[]>('select pg_backend_pid() as pid');
        await opened.pool.query('select pg_terminate_backend($1, 5000)', [row?.pid]);
        await em.execute('select 1');
      }),
    );

  t.deepEqual(await ask(), [{ one: 1 }]);
});

test('transactions that the database was lost before they began give their connections back', async (t) => {
  t.timeout(hangAfter(5_000));
  const fragile = await openFragileDatabase(t, await createDatabase(t));
  const opened = await openDatabase({
    connection: { url: fragile.url },
    poolMax: 4,
    log: silentLog,
    limits: scaledLimits(),
  });
  const one = () => opened.orm.em.fork().transactional((em) => em.execute<{ one: number }[]>('select 1 as one'));

  for (let count = 0; count < ORM_CONNECTIONS_MAX; count += 1) {
    t.deepEqual(await one(), [{ one: 1 }]);
    fragile.loseAt(1, 'unheard');
    await t.throwsAsync(one(), { message: /unexpected postmaster exit/u });
    t.deepEqual(fragile.asked, ['begin']);
  }

  t.deepEqual(await one(), [{ one: 1 }]);
  await t.notThrowsAsync(opened.close());
});

test('a database that is closed while MikroORM dials is closed, and who waited is told', async (t) => {
  t.timeout(hangAfter(10_000));
  const connection = await createDatabase(t);

  for (let turns = 0; turns < DIAL_TURNS; turns += 1) {
    const opened = await openDatabase({ connection, poolMax: 4, log: silentLog });
    const asked = opened.orm.em
      .fork()
      .execute('select 1 as one')
      .then(
        () => 'answered',
        () => 'told',
      );
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    await opened.close();
    t.true(['answered', 'told'].includes(await asked), `${turns} turns`);
  }
});
