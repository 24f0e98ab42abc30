/** Hears what the database notifies, and says when something may have been missed. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { EVENTS_STORED, WEBHOOK_CHANGES } from '../../../persistence/publishing/names.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { createDatabase } from '../../support/database/database.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/log.ts';
import { LONG_WAITS, scaledLimits } from '../../support/database/opened.ts';
import { until } from '../../support/until.ts';
import { deleteWebhook, storeEvent, storeWebhook } from './publishing/fixture.ts';

async function listening(t: Parameters<typeof createDatabase>[0]) {
  const connection = await createDatabase(t);
  const limits = { ...scaledLimits(), ...LONG_WAITS };
  const database = await openDatabase({ connection, poolMax: 4, log: silentLog, limits });
  t.teardown(() => database.close());
  const heard: string[] = [];
  const listener = database.listen(systemClock);
  t.teardown(() => listener.stop());
  listener.hear([EVENTS_STORED, WEBHOOK_CHANGES], (channel, payload) => void heard.push(`${channel} ${payload}`));
  await until('it listens', () => heard.length === 2);
  return { database, listener, heard };
}

const listeners = `select pid from pg_stat_activity where datname = current_database() and query like 'listen%'`;

test('it says at first that something may have been missed, on each channel, then what is notified', async (t) => {
  const { database, heard } = await listening(t);

  await storeEvent(database.pool);
  await until('it hears of the event', () => heard.length === 3);

  t.deepEqual(heard, [`${EVENTS_STORED} null`, `${WEBHOOK_CHANGES} null`, `${EVENTS_STORED} `]);
});

test('the events of one transaction are one notification, when it commits', async (t) => {
  const { database, heard } = await listening(t);
  const client = await database.pool.connect();
  await client.query('begin');
  for (let event = 0; event < 50; event += 1) await storeEvent(client);
  await client.query(`notify ${WEBHOOK_CHANGES}, 'before'`);
  t.is(heard.length, 2);

  await client.query('commit');
  client.release();
  await database.pool.query(`notify ${WEBHOOK_CHANGES}, 'behind'`);
  await until('it hears the last', () => heard.at(-1) === `${WEBHOOK_CHANGES} behind`);

  t.deepEqual(heard.slice(2), [`${EVENTS_STORED} `, `${WEBHOOK_CHANGES} before`, `${WEBHOOK_CHANGES} behind`]);
});

test('the deletion of a webhook names it, and who deleted it', async (t) => {
  const { database, heard } = await listening(t);
  const webhook = await storeWebhook(database as never);

  await deleteWebhook(database as never, webhook);
  const told = await until('it hears', () =>
    heard.find((one) => one.startsWith(`${WEBHOOK_CHANGES} `) && one !== `${WEBHOOK_CHANGES} null`),
  );

  t.regex(told, new RegExp(`^${WEBHOOK_CHANGES} [0-9a-f-]{36} ${webhook}$`, 'u'));
});

test('a lost connection is dialled again, and whatever it missed is looked for', async (t) => {
  const { database, heard } = await listening(t);
  const {
    rows: [{ pid } = { pid: 0 }],
  } = await database.pool.query<{ pid: number }>(listeners);

  await database.pool.query('select pg_terminate_backend($1)', [pid]);
  await until('it says so', () => heard.length === 4);
  t.deepEqual(heard.slice(2), [`${EVENTS_STORED} null`, `${WEBHOOK_CHANGES} null`]);
  await storeEvent(database.pool);
  await until('it hears again', () => heard.length === 5);

  // the one that was ended may still be on its way out
  await until('one connection', async () => (await database.pool.query(listeners)).rowCount === 1);
  t.pass();
});

test('a connection over which nothing comes any more, and that says so to nobody, is given up for another', async (t) => {
  const connection = await createDatabase(t);
  const sockets = new Set<Socket>();
  const relay = createServer((near) => {
    const far = connection.host.startsWith('/')
      ? connect(`${connection.host}/.s.PGSQL.${connection.port}`)
      : connect(connection.port, connection.host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => {})
        .on('close', () => {
          other.destroy();
        })
        .pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  const database = await openDatabase({
    connection: { ...connection, host: '127.0.0.1', port: (relay.address() as AddressInfo).port },
    poolMax: 4,
    log: silentLog,
  });
  t.teardown(() => database.close());
  const clock = createFakeClock();
  const listener = database.listen(clock);
  t.teardown(() => listener.stop());
  const heard: (string | null)[] = [];
  listener.hear([EVENTS_STORED], (_channel, payload) => {
    heard.push(payload);
  });
  await until('it listens', () => heard.length === 1);

  for (const socket of sockets) socket.unpipe().pause();
  await until('it listens again', () => {
    clock.pass(1_000);
    return heard.length === 2;
  });

  t.deepEqual(heard, [null, null]);
});

test('who comes later hears on the same connection, and is told first that something may have been missed', async (t) => {
  const { database, listener, heard } = await listening(t);
  const later: string[] = [];

  listener.hear(['edge_later', EVENTS_STORED], (channel, payload) => void later.push(`${channel} ${payload}`));
  await until('it listens', () => later.length === 2);
  await database.pool.query(`notify edge_later, 'first'`);
  await storeEvent(database.pool);
  await until('both hear', () => later.length === 4 && heard.length === 3);

  t.deepEqual(later, ['edge_later null', `${EVENTS_STORED} null`, 'edge_later first', `${EVENTS_STORED} `]);
  t.is(heard.at(-1), `${EVENTS_STORED} `);
  t.is((await database.pool.query(listeners)).rowCount, 1);
});

test('who came later is told of a lost connection like everybody, and who stopped hears nothing more', async (t) => {
  const { database, listener, heard } = await listening(t);
  const later: string[] = [];
  const stopping = listener.hear([EVENTS_STORED], () => void later.push('told, though it stopped'));
  listener.hear(['edge_later'], (channel, payload) => void later.push(`${channel} ${payload}`));
  await until('it listens', () => later.includes('edge_later null'));
  later.length = 0;
  const {
    rows: [{ pid } = { pid: 0 }],
  } = await database.pool.query<{ pid: number }>(listeners);

  stopping.stop();
  await database.pool.query('select pg_terminate_backend($1)', [pid]);
  await until('all listen again', () => heard.length === 4 && later.length === 1);
  await database.pool.query(`notify edge_later, 'again'`);
  await until('it hears again', () => later.length === 2);

  t.deepEqual(later, ['edge_later null', 'edge_later again']);
});

test('stopped, it has no connection, and dials none', async (t) => {
  const { database, listener, heard } = await listening(t);

  await listener.stop();
  await until('its connection is gone', async () => (await database.pool.query(listeners)).rowCount === 0);
  await storeEvent(database.pool);

  t.is(heard.length, 2);
});

test('stopped while it cannot connect, it ends', async (t) => {
  const database = await openDatabase({
    connection: { url: 'postgres://nobody@127.0.0.1:1/nothing' },
    poolMax: 4,
    log: silentLog,
  });
  t.teardown(() => database.close());
  const listener = database.listen(systemClock);
  listener.hear([EVENTS_STORED], () => {});

  await listener.stop();

  t.pass();
});
