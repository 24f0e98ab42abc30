/**
 * Watchtower's documented answers, both lines of it. What answers here is a stand-in (test/support/agent/
 * watchtower-double.ts), not Watchtower: that is in watchtower.test.ts, as far as it can be had.
 */
import test from 'ava';
import { startWatchtower } from '../../support/agent/watchtower-double.ts';
import { scaled } from '../../support/busy.ts';
import { REQUEST, signal, updaterContract } from './contract.ts';

for (const line of ['containrrr', 'nicholas-fedor'] as const)
  updaterContract(test, `${line} (stand-in)`, (t) => startWatchtower(t, line));

test('one that answers when its work is done is waited for, and asked once', async (t) => {
  const watchtower = await startWatchtower(t, 'containrrr', { workMs: 1_500 });

  t.is(await signal(watchtower), null);
  t.is(watchtower.begun(), 1);
});

test('one that works for longer than the admin waits failed, as far as is known; it is not asked again', async (t) => {
  const watchtower = await startWatchtower(t, 'containrrr', { workMs: 60_000 });

  const msMax = scaled(1_000); // by then it was asked, on a busy machine too
  t.regex((await signal(watchtower, { msMax })) ?? '', /cannot be asked: did not answer within [\d.]+ s$/u);
  t.is(watchtower.begun(), 1);
});

test('one that is busy takes the signal when it is asked again, after the time that it says', async (t) => {
  const watchtower = await startWatchtower(t, 'nicholas-fedor', { busy: 2, retryAfter: '1' });
  const startedMs = performance.now();

  t.is(await signal(watchtower), null);
  t.is(watchtower.begun(), 1);
  t.is(watchtower.asks.length, 3);
  t.true(performance.now() - startedMs >= 1_999);
});

for (const [fails, problem] of [
  [408, /gave up, as the update took it too long \(408\), and says: it failed with 408/u],
  [413, /failed \(413\), and says: it failed with 413/u],
  [500, /failed \(500\), and says: it failed with 500/u],
  [503, /failed \(503\), and says: it failed with 503/u],
] as const) {
  test(`${fails} is a failure with its reason`, async (t) => {
    const watchtower = await startWatchtower(t, 'nicholas-fedor', { fails });

    t.regex((await signal(watchtower)) ?? '', problem);
    t.is(watchtower.begun(), 0);
  });
}

test('what goes out is what both lines read: a POST, asynchronous, with the token and without a body', async (t) => {
  const watchtower = await startWatchtower(t, 'nicholas-fedor');

  await signal(watchtower);

  t.deepEqual(watchtower.asks, [
    {
      method: 'POST',
      path: '/v1/update',
      query: '?async=true',
      authorization: `Bearer ${watchtower.token}`,
      request: REQUEST,
    },
  ]);
});
