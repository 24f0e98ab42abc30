import { request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { UpdateProblem } from '../../../../agent/updater/problem.ts';
import {
  BODY_BYTES_MAX,
  REQUESTS,
  startUpdaterServer,
  type Asked,
  type UpdaterCalls,
} from '../../../../agent/updater/server.ts';
import type { Outcome } from '../../../../agent/updater/state.ts';
import { until } from '../../../support/until.ts';

const TOKEN = 'token-of-the-updater-123';
const OUTCOME: Outcome = {
  request: 'one',
  outcome: 'updated',
  from: '0.1.0',
  to: '0.2.0',
  error: null,
  finished_at: 1,
  away_ms: 2,
};

/** A server, what it was asked for, and a way to ask it. */
async function served(t: ExecutionContext, calls: Partial<UpdaterCalls> = {}) {
  const asked: Asked[] = [];
  const failures: unknown[] = [];
  const server = await startUpdaterServer({ host: '127.0.0.1', port: 0 }, TOKEN, {
    update(one) {
      asked.push(one);
      return { finished: Promise.resolve(OUTCOME) };
    },
    check: () => Promise.resolve({ would: 'nothing' }),
    outcome: () => OUTCOME,
    failed: (error) => void failures.push(error),
    ...calls,
  });
  t.teardown(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const ask = (
    method: string,
    path: string,
    headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
    body = '',
  ) =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: unknown }>((resolve, reject) => {
      const request = send({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: JSON.parse(text) }),
        );
      });
      request.on('error', reject).end(body);
    });
  return { port, asked, failures, ask };
}

test('an update is accepted at once, or answered when it is done', async (t) => {
  const { ask, asked } = await served(t);

  const now = await ask('POST', '/v1/update?async=true', {
    authorization: `Bearer ${TOKEN}`,
    'x-edge-update-request': 'one',
  });
  const done = await ask('POST', '/v1/update?force=true');

  t.is(now.status, 202);
  t.is(done.status, 200);
  t.like(done.body, {
    summary: { scanned: 1, updated: 1, failed: 0, restarted: 1, skipped: 0 },
    api_version: 'v1',
    outcome: OUTCOME,
  });
  t.deepEqual(asked, [
    { request: 'one', force: false },
    { request: null, force: true },
  ]);
});

test('an update that failed is answered with 500 and why, one that runs with 429 and when to come back', async (t) => {
  const failed = { ...OUTCOME, outcome: 'rolled_back', error: 'it crashes' } as const;
  const one = await served(t, { update: () => ({ finished: Promise.resolve(failed) }) });
  const two = await served(t, { update: () => null });

  const why = await one.ask('POST', '/v1/update');
  const busy = await two.ask('POST', '/v1/update?async=true');

  t.is(why.status, 500);
  t.like(why.body, { error: 'it crashes', summary: { updated: 0, failed: 1, restarted: 1, skipped: 0 } });
  t.deepEqual([busy.status, busy.headers['retry-after'], busy.body], [429, '30', { error: 'an update runs already' }]);
});

test('nobody gets further without the token, and no method but the right one', async (t) => {
  const { ask, asked } = await served(t);
  const statusOf = async (...question: Parameters<typeof ask>) => (await ask(...question)).status;

  t.deepEqual(
    [
      await statusOf('GET', '/livez', {}),
      await statusOf('POST', '/v1/update', {}),
      await statusOf('POST', '/v1/update', { authorization: 'Bearer wrong' }),
      await statusOf('POST', '/v1/update', { authorization: TOKEN }),
      await statusOf('GET', '/v1/outcome', {}),
      await statusOf('GET', '/v1/check', {}),
      await statusOf('GET', '/v1/update'),
      await statusOf('DELETE', '/v1/update'),
      await statusOf('POST', '/v1/check'),
      await statusOf('POST', '/livez', {}),
      await statusOf('GET', '/v2/update'),
      await statusOf('POST', '/v1/update', {
        authorization: `Bearer ${TOKEN}`,
        'x-edge-update-request': 'x'.repeat(65),
      }),
      await statusOf('POST', '/v1/update', { authorization: `Bearer ${TOKEN}`, 'x-edge-update-request': 'a b' }),
    ],
    [200, 401, 401, 401, 401, 401, 405, 405, 405, 405, 404, 400, 400],
  );
  t.deepEqual(asked, []);
});

test('what is known is told; before the first update that there was none, and what failed as 503', async (t) => {
  const { ask } = await served(t);
  const none = await served(t, {
    outcome: () => null,
    check: () => Promise.reject(new UpdateProblem('nobody is reached')),
  });

  t.deepEqual((await ask('GET', '/v1/outcome?request=one')).body, OUTCOME);
  t.deepEqual((await ask('GET', '/v1/check')).body, { would: 'nothing' });
  t.like(await none.ask('GET', '/v1/outcome'), { status: 200, body: { request: null, outcome: null } });
  t.like(await none.ask('GET', '/v1/check'), { status: 503, body: { error: 'nobody is reached' } });
});

test('a path that is none is no failure, and what is one is logged as the answer says', async (t) => {
  const bug = new Error('no such file');
  const { ask, failures } = await served(t, { check: () => Promise.reject(bug) });

  t.is((await ask('GET', '//')).status, 404);
  t.deepEqual(failures, []);
  t.like(await ask('GET', '/v1/check'), { status: 500, body: { error: 'the updater failed; its log says why' } });
  t.deepEqual(failures, [bug]);
});

test('bodies and requests are bounded', async (t) => {
  const { ask, asked } = await served(t);

  const large = await ask(
    'POST',
    '/v1/update?async=true',
    { authorization: `Bearer ${TOKEN}` },
    'x'.repeat(BODY_BYTES_MAX + 1),
  );
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask('GET', '/livez', {})));
  // 8 at a time, as a busy machine may take more than the second of a new request for each
  let sent = 9;
  await until('one to be refused', async () => {
    sent += 8;
    const more = await Promise.all(Array.from({ length: 8 }, () => ask('GET', '/livez', {})));
    return more.some(({ status }) => status === 429);
  });

  t.is(large.status, 413);
  t.deepEqual(asked, []);
  t.true(answers.every(({ status }) => status === 200));
  t.true(sent > REQUESTS.tokensMax, `${sent} requests`);
});
