/** A loop that fails, or that is due without end, leaves time for everything else. */
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { MESSAGES_MS } from '../../../../../transport/vpn/member/limits.ts';
import { FAILURE_MS_MIN, LoopPacer } from '../../../../../transport/vpn/member/loop-pacer.ts';
import type { Scope } from '../../../../support/scope.ts';
import { until } from '../../../../support/until.ts';

/** A turn that waits does not keep its process alive: something else has to. */
function startedPacer(t: Scope): LoopPacer {
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  return new LoopPacer();
}

/** Whether it is over within a few turns of the event loop: nothing that waits for a timer of seconds is. */
async function isSoon(over: Promise<void>): Promise<boolean> {
  const end = { isThere: false };
  void over.then(() => (end.isThere = true));
  for (let turns = 0; turns < 5 && !end.isThere; turns += 1) await turn();
  return end.isThere;
}

test('turns that are always due let timers and sockets have theirs', async (t) => {
  const pacer = startedPacer(t);
  const timer = { hasFired: false };
  let count = 0;
  setTimeout(() => {
    timer.hasFired = true;
  }, 20);

  while (!timer.hasFired && count < 1_000_000) {
    pacer.wake();
    await pacer.next(0);
    count += 1;
  }

  t.true(timer.hasFired, 'the timer fired although a turn was always due');
});

test('after a failure no turn comes before its wait, whatever is due or wakes it; each failure in a row doubles it', async (t) => {
  const pacer = startedPacer(t);
  const waited = async (): Promise<number> => {
    const beganMs = performance.now();
    pacer.wake();
    setTimeout(() => pacer.wake(), 10);
    await pacer.next(0);
    return performance.now() - beganMs;
  };

  pacer.failed();
  t.true((await waited()) >= FAILURE_MS_MIN - 1);
  pacer.failed();
  t.true((await waited()) >= 2 * FAILURE_MS_MIN - 1);
  pacer.succeeded();
  t.true(await isSoon(pacer.next(0)));
});

test('something new waits no longer than after a first failure, and an end for nothing', async (t) => {
  const pacer = startedPacer(t);

  const waitedMs = await until('a wait in which nothing held this process up', async () => {
    for (let failures = 0; failures < 5; failures += 1) pacer.failed();
    const beganMs = performance.now();
    const beside = delay(FAILURE_MS_MIN).then(() => performance.now() - beganMs);
    pacer.renew();
    await pacer.next(0);
    const tookMs = performance.now() - beganMs;
    return (await beside) < 2 * FAILURE_MS_MIN && tookMs;
  });
  pacer.failed();
  pacer.end();

  t.true(waitedMs >= FAILURE_MS_MIN - 1 && waitedMs < 4 * FAILURE_MS_MIN, `${waitedMs} ms`);
  t.true(await isSoon(pacer.next(Infinity)));
});

test('messages that come right after a turn wait for others, however many come; one after a while does not', async (t) => {
  const pacer = startedPacer(t);
  const beganMs = performance.now();
  pacer.wakeSoon();
  const talking = setInterval(() => pacer.wakeSoon(), 1);
  t.teardown(() => clearInterval(talking));

  await pacer.next(Infinity);
  t.true(performance.now() - beganMs >= MESSAGES_MS - 1);

  clearInterval(talking);
  const next = pacer.next(Infinity);
  await delay(2 * MESSAGES_MS);
  pacer.wakeSoon();
  t.true(await isSoon(next));
});

test('what is due, or wakes the loop at once, waits for no messages', async (t) => {
  const pacer = startedPacer(t);

  pacer.wakeSoon();
  t.true(await isSoon(pacer.next(0)));
  pacer.wakeSoon();
  pacer.wake();
  t.true(await isSoon(pacer.next(Infinity)));
});
