/** A loop that fails, or that is due without end, leaves time for everything else. */
import test from 'ava';
import { FAILURE_MS_MIN, LoopPacer } from '../../../../../transport/vpn/member/loop-pacer.ts';
import { patient } from '../../../../support/busy.ts';
import type { Scope } from '../../../../support/scope.ts';

/** A turn that waits does not keep its process alive: something else has to. */
function startedPacer(t: Scope): LoopPacer {
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  return new LoopPacer();
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

test('after a failure no turn comes before its wait, whatever is due and whoever wakes it; each failure in a row doubles it', async (t) => {
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
  t.true((await waited()) < patient(FAILURE_MS_MIN));
});

test('something new waits no longer than after a first failure, and an end for nothing', async (t) => {
  const pacer = startedPacer(t);
  for (let failures = 0; failures < 5; failures += 1) pacer.failed();
  const beganMs = performance.now();

  pacer.renew();
  await pacer.next(0);
  t.true(performance.now() - beganMs >= FAILURE_MS_MIN - 1);
  pacer.failed();
  pacer.end();
  await pacer.next(Infinity);
  t.true(performance.now() - beganMs < patient(4 * FAILURE_MS_MIN));
});
