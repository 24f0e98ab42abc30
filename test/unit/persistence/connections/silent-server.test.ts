/** A server that is there and says nothing more: nobody waits for it, and nothing of it is kept (L3). */
import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { DatabaseClient, GOODBYE_MS_MAX } from '../../../../persistence/connections/database-client.ts';
import { dedicatedClient, KEEP_ALIVE_MS, openDatabase } from '../../../../persistence/connections/database.ts';
import { ListeningConnection } from '../../../../persistence/connections/listening-connection.ts';
import {
  BARRIER_MS_MAX,
  ServerSettlement,
  SETTLED_MS_MAX,
} from '../../../../persistence/incarnations/server-settlement.ts';
import { systemClock } from '../../../../transport/net/clock.ts';
import { hangAfter } from '../../../support/busy.ts';
import { scaledLimits } from '../../../support/database/opened.ts';
import { startSilentServer } from '../../../support/database/silent-server.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';

const isBarrier = (statement: string): boolean => statement.includes('pg_logical_emit_message');

const placeOf = (port: number) => ({ host: '127.0.0.1', port, user: 'edge', database: 'edge', password: 'p' });

async function openedAt(t: ExecutionContext, port: number) {
  const limits = scaledLimits();
  const opened = await openDatabase({ connection: placeOf(port), poolMax: 2, log: silentLog, limits });
  t.teardown(() => opened.close());
  return opened;
}

test('a connection that its server lets in and then leaves without an answer is refused, and lost at once', async (t) => {
  t.timeout(hangAfter(SETTLED_MS_MAX * 2));
  const { port } = await startSilentServer(t, (statement) => !isBarrier(statement));
  const settlement = new ServerSettlement(placeOf(port));
  t.teardown(() => settlement.close());
  const client = new DatabaseClient(placeOf(port));
  client.on('error', () => {});
  await client.connect();

  await t.throwsAsync(settlement.admit(client), { message: /its standby does not follow yet/u });

  t.true(client.connection.stream.destroyed);
});

test('whoever asks a pool is told why it has no connection, though the server never ends the one that was refused', async (t) => {
  t.timeout(hangAfter(SETTLED_MS_MAX * 2));
  const { port } = await startSilentServer(t, (statement) => !isBarrier(statement));
  const { pool } = await openedAt(t, port);

  await t.throwsAsync(pool.connect(), { message: /its standby does not follow yet/u });
});

test('a barrier whose server does not even say when it started is given up, and the next connection makes another', async (t) => {
  t.timeout(hangAfter(SETTLED_MS_MAX * 3));
  let starts = 0;
  const { port, asked } = await startSilentServer(t, (statement) => {
    if (statement.includes('pg_postmaster_start_time')) starts += 1;
    return starts !== 2; // the barrier's own
  });
  const { pool } = await openedAt(t, port);
  await t.throwsAsync(pool.connect());

  const client = await until('a connection', () => pool.connect());
  client.release();

  t.true(asked.some(isBarrier));
});

test('a barrier that its server does not have is given up after a while, and the next connection makes another', async (t) => {
  t.timeout(hangAfter(SETTLED_MS_MAX * 3));
  const start = { barriers: 0, hasBarrier: true };
  const { port } = await startSilentServer(t, (statement) => {
    if (statement.includes('pg_stat_activity')) return start.hasBarrier || 'without a row';
    if (isBarrier(statement)) start.barriers += 1;
    return !isBarrier(statement) || start.barriers > 1;
  });
  let nowMs = 0;
  const settlement = new ServerSettlement(placeOf(port), () => nowMs);
  t.teardown(() => settlement.close());
  const admitted = async () => {
    const client = new DatabaseClient(placeOf(port));
    client.on('error', () => {});
    await client.connect();
    t.teardown(() => client.connection.stream.destroy());
    return settlement.admit(client).then(
      () => true,
      () => false,
    );
  };
  const found: (boolean | number)[] = [await admitted()];

  nowMs = BARRIER_MS_MAX;
  found.push(await admitted(), start.barriers); // it waits for a standby
  start.hasBarrier = false;
  nowMs = BARRIER_MS_MAX - 1;
  found.push(await admitted(), start.barriers); // it may be on its way
  nowMs = BARRIER_MS_MAX;
  found.push(await admitted(), start.barriers);

  t.deepEqual(found, [false, false, 1, false, 1, true, 2]);
});

test('a goodbye to a server that does not end the connection is over all the same', async (t) => {
  t.timeout(hangAfter(GOODBYE_MS_MAX * 2));
  const { port } = await startSilentServer(t, () => true);
  const client = new DatabaseClient(placeOf(port));
  await client.connect();

  await client.end();

  t.true(client.connection.stream.destroyed);
});

test('a new listening connection that is let in and hears nothing more is given up for another', async (t) => {
  const clock = createFakeClock();
  let isDeaf = true;
  const { port, asked } = await startSilentServer(t, () => !isDeaf);
  const listener = (await openedAt(t, port)).listen(clock);
  t.teardown(() => listener.stop());
  const heard: (string | null)[] = [];
  listener.hear(['edge_heard'], (_channel, payload) => void heard.push(payload));
  await until('it asks', () => asked.length === 1);

  isDeaf = false;
  await until('it listens', () => {
    clock.pass(1_000);
    return heard.length === 1;
  });

  t.deepEqual(heard, [null]);
});

test('what waits for its turn on a listening connection has its whole time from when it is sent', async (t) => {
  const clock = createFakeClock();
  const answers: (() => void)[] = [];
  const { port } = await startSilentServer(t, async () => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return true;
  });
  let lost = 0;
  const told = { tell: () => {}, heard: () => {}, lost: () => (lost += 1) };
  const connection = new ListeningConnection({ options: placeOf(port), clock, log: silentLog, ...told });
  t.teardown(() => connection.end());

  const listening = [connection.listen(['edge_first']), connection.listen(['edge_second'])];
  for (const at of [0, 1]) {
    await until('it is asked', () => answers.length > at);
    clock.pass(4_000);
    answers[at]?.();
    await listening[at];
  }

  t.deepEqual([await Promise.all(listening), lost], [[true, true], 0]);
});

test('TCP keep-alive probes every connection, also that of a commit that waits without a limit', async (t) => {
  const { port, asked } = await startSilentServer(t, (statement) => !isBarrier(statement));
  const opened = await openedAt(t, port);
  const listener = opened.listen(systemClock);
  t.teardown(() => listener.stop());
  listener.hear(['edge_heard'], () => {});
  const refused = [opened.pool.connect(), opened.orm.em.fork().execute('select 1')];
  await until('the barrier', () => asked.some(isBarrier));

  const nextMs = await nextQuestions(port, refused.length + 2);
  await Promise.allSettled(refused);

  t.true(
    nextMs.every((ms) => ms <= KEEP_ALIVE_MS),
    nextMs.join(' ms, '),
  );
});

test('what an operator began outlasts a network that is away for a while: the system does not ask for its connection', async (t) => {
  const { port } = await startSilentServer(t, () => true);
  const client = dedicatedClient(placeOf(port), silentLog);
  await client.connect();
  t.teardown(() => client.connection.stream.destroy());

  const [nextMs = 0] = await nextQuestions(port, 1);

  t.true(nextMs > 60_000, `${nextMs} ms`);
});

/**
 * When the system asks next on each connection to this port, in ms, once there are so many. Source: proc(5), net/tcp.
 */
async function nextQuestions(port: number, count: number): Promise<readonly number[]> {
  return until(`${count} connections that wait for nothing`, async () => {
    const there = (await readFile('/proc/self/net/tcp', 'utf8'))
      .split('\n')
      .map((line) => line.trim().split(/\s+/u))
      .filter(([, , remote, state]) => remote?.endsWith(`:${port.toString(16).toUpperCase()}`) && state === '01');
    const timers = there.map(([, , , , , timer]) => timer?.split(':') ?? []);
    const isOne = timers.length === count && timers.every(([kind]) => kind === '02');
    return isOne && timers.map(([, ticks = '']) => Number.parseInt(ticks, 16) * 10);
  });
}
