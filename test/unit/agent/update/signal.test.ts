import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { retryAfterMs, signalUpdate, type SignalLimits } from '../../../../agent/update/signal.ts';
import { askUpdater, ANSWER_BYTES_MAX, UpdaterSilence } from '../../../../agent/update/updater-exchange.ts';
import { UPDATER_TOKEN as token, UpdaterDouble, type UpdaterReply } from '../../../support/agent/updater-double.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { listening, pour, silentPort } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';

/** More than this process is held up by what else runs in it, in ms. */
const LONG_TIMEOUT_MS = 300_000;

/** For so long the body of an answer is read, in ms. Source: agent/update/updater-exchange.ts. */
const BODY_MS_MAX = 2_000;

const never = new AbortController().signal;

const REQUEST = '0190f5c2-7a11-7c3e-8f00-000000000001';

/** Asks an updater that replies so, one reply after the other: what came of it, and how often it was asked. */
async function signalled(t: ExecutionContext, replies: readonly UpdaterReply[]) {
  const updater = await UpdaterDouble.start(t, {
    '/v1/update': (_ask, count) => replies[Math.min(count, replies.length) - 1] ?? { status: 500 },
  });
  const { url } = updater;
  const problem = await signalUpdate({ url, token }, REQUEST, never, { msMax: LONG_TIMEOUT_MS, busyMsMin: 1 });
  return { problem: problem?.replaceAll(url, 'URL') ?? null, asks: updater.asks };
}

test('the signal is one POST with the token and the name of the request', async (t) => {
  const { problem, asks } = await signalled(t, [{ status: 202 }]);

  t.is(problem, null);
  t.deepEqual(asks, [
    { method: 'POST', path: '/v1/update', query: '?async=true', authorization: `Bearer ${token}`, request: REQUEST },
  ]);
});

for (const status of [200, 201, 202, 204, 299]) {
  test(`${status} means that the updater took it`, async (t) => {
    t.is((await signalled(t, [{ status }])).problem, null);
  });
}

test('one that is busy is asked again when it says so, and no sooner', async (t) => {
  const startedMs = performance.now();

  const { problem, asks } = await signalled(t, [{ status: 429, headers: { 'retry-after': '1' } }, { status: 202 }]);

  t.is(problem, null);
  t.is(asks.length, 2);
  t.true(performance.now() - startedMs >= 999);
});

test('one that is busy for longer than there is time is not asked again', async (t) => {
  const { problem, asks } = await signalled(t, [
    { status: 429, headers: { 'retry-after': `${LONG_TIMEOUT_MS / 1_000}` } },
  ]);

  t.is(
    problem,
    'the updater at URL is busy with another update (429) for longer than can be waited for: request the update again later',
  );
  t.is(asks.length, 1);
});

for (const [reply, problem] of [
  [
    { status: 401 },
    'the updater at URL refuses the token (401): AGENT_UPDATER_TOKEN of the agent is another one than that of the updater',
  ],
  [
    { status: 404 },
    'what listens at URL takes no updates (404): start edge-updater, or Watchtower with its HTTP API for updates switched on, or set AGENT_UPDATER_URL to where yours listens',
  ],
  [
    { status: 405 },
    'what listens at URL takes no POST of /v1/update (405): set AGENT_UPDATER_URL to where an updater listens',
  ],
  [
    { status: 301, headers: { location: 'http://127.0.0.1:1/' } },
    'the updater at URL answers with a redirect (301), which is not followed: set AGENT_UPDATER_URL to where it leads',
  ],
  [
    { status: 500, body: { error: 'no space left\non device' } },
    'the updater at URL failed (500), and says: no space left on device: look into its log',
  ],
  [{ status: 503, body: '<html>busy</html>' }, 'the updater at URL failed (503): look into its log'],
  [
    { status: 500, body: `a bad token: ${token}` },
    'the updater at URL failed (500), and says: a bad token: ***: look into its log',
  ],
] as const) {
  test(`${reply.status} ${'body' in reply ? JSON.stringify(reply.body) : ''} is a failure that says what to do`, async (t) => {
    t.deepEqual(await signalled(t, [reply]).then(({ problem: said, asks }) => [said, asks.length]), [problem, 1]);
  });
}

async function problemAt(port: number, limits: SignalLimits = { msMax: LONG_TIMEOUT_MS }): Promise<string | null> {
  const place = { url: `http://127.0.0.1:${port}/`, token };
  const problem = await signalUpdate(place, REQUEST, never, limits);
  return problem?.replaceAll(String(port), 'PORT') ?? null;
}

test('where nothing listens it says what to install', async (t) => {
  t.is(
    await problemAt(await freePort(), { restartMsMax: 0 }),
    'no updater listens at http://127.0.0.1:PORT/: install edge-updater, or set AGENT_UPDATER_URL to where yours listens',
  );
});

test('one that ended to be started anew is asked once it listens', async (t) => {
  const port = await freePort();
  const asked = problemAt(port, { msMax: LONG_TIMEOUT_MS, restartMsMax: LONG_TIMEOUT_MS });
  await t.throwsAsync(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' }); // as the first ask was

  const updater = await UpdaterDouble.start(t, undefined, port);

  t.is(await asked, null);
  t.is(updater.asks.length, 1);
});

test('one that says nothing is given up in time', async (t) => {
  t.is(
    await problemAt(await silentPort(t), { msMax: 300 }),
    'the updater at http://127.0.0.1:PORT/ cannot be asked: did not answer within 0.3 s',
  );
});

test('one that speaks no HTTP, or hangs up, is no updater', async (t) => {
  const garbage = await listening(
    t,
    createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')),
  );
  const closing = await listening(
    t,
    createServer((socket) => socket.once('data', () => socket.destroy())),
  );

  t.deepEqual(
    [await problemAt(garbage), await problemAt(closing)],
    [
      'the updater at http://127.0.0.1:PORT/ cannot be asked: answers with something that is no HTTP',
      'the updater at http://127.0.0.1:PORT/ cannot be asked: hung up without an answer',
    ],
  );
});

test('a body that never ends is cut at its limit, and one that trickles in its time', async (t) => {
  const updater = await UpdaterDouble.start(t, {
    '/endless': () => (response) => pour(response.writeHead(200), 'x'.repeat(65_536)),
    '/trickling': () => (response) => {
      response.writeHead(500).write('slow');
    },
  });
  const ask = (path: string) =>
    askUpdater({ url: updater.url, token }, { method: 'GET', path, msMax: LONG_TIMEOUT_MS, signal: never });

  // one that this process had no time to read within the time of a body says nothing
  const endless = await until('an endless body that was read in its time', async () => {
    const beganMs = performance.now();
    const answer = await ask('/endless');
    return performance.now() - beganMs < BODY_MS_MAX && answer;
  });
  const trickling = await ask('/trickling');

  t.is(endless.text.length, ANSWER_BYTES_MAX);
  t.deepEqual(trickling, { status: 500, retryAfter: null, text: 'slow' });
});

test('headers that never end are an answer that is none', async (t) => {
  const port = await listening(
    t,
    createServer((socket) => socket.once('data', () => pour(socket, `x: ${'y'.repeat(10_000)}\r\n`))),
  );
  const asked = askUpdater(
    { url: `http://127.0.0.1:${port}`, token },
    { method: 'GET', path: '/', msMax: LONG_TIMEOUT_MS, signal: never },
  );

  await t.throwsAsync(asked, { instanceOf: UpdaterSilence });
});

test('an agent that stops waits for no updater', async (t) => {
  const stop = new AbortController();
  const url = `http://127.0.0.1:${await silentPort(t)}`;
  const asked = signalUpdate({ url, token }, REQUEST, stop.signal);

  stop.abort();

  await t.throwsAsync(asked);
});

test('Retry-After is seconds or a date, and everything else is as if it were not there', (t) => {
  const nowMs = Date.parse('2026-11-23T12:00:00Z');

  t.deepEqual(
    ['30', ' 0 ', 'Mon, 23 Nov 2026 12:00:05 GMT', 'Mon, 23 Nov 2026 11:00:00 GMT', '-1', 'soon', '', null].map(
      (header) => retryAfterMs(header, nowMs),
    ),
    [30_000, 0, 5_000, 0, null, null, null, null],
  );
});
