/** Waits that are longer than Node's timers hold. */
import { mock } from 'node:test';
import test from 'ava';
import { createDeadlines } from '../../../../../transport/proxies/deadlines.ts';
import { joinClock } from '../../../../../transport/net/streams/join.ts';
import { startTimer, TIMER_MS_MAX } from '../../../../../transport/net/streams/timer.ts';

/** The longest time that ADMIN_PROXY_LIFE_MS takes: 30 days. */
const MONTH_MS = 2_592_000_000;

test.serial('a timer of a month runs once, after a month', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  let runs = 0;
  startTimer(MONTH_MS, () => {
    runs += 1;
  });

  mock.timers.tick(TIMER_MS_MAX);
  const early = runs;
  mock.timers.tick(MONTH_MS - TIMER_MS_MAX - 1);
  const late = runs;
  mock.timers.tick(1);

  t.deepEqual([early, late, runs], [0, 0, 1]);
});

test.serial('a cancelled timer never runs, in whichever of its parts it is', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  let runs = 0;
  const [first, second] = [
    startTimer(MONTH_MS, () => {
      runs += 1;
    }),
    startTimer(MONTH_MS, () => {
      runs += 1;
    }),
  ];

  first();
  mock.timers.tick(TIMER_MS_MAX);
  second();
  mock.timers.tick(MONTH_MS);

  t.is(runs, 0);
});

test.serial('a deadline of a month is not looked at a thousand times a second', async (t) => {
  const expired: string[] = [];
  let armed = 0;
  const deadlines = createDeadlines<string>(MONTH_MS, (item) => expired.push(item), {
    nowMs: () => joinClock.nowMs(),
    after: (ms, run) => {
      armed += 1;
      return joinClock.after(ms, run);
    },
  });

  deadlines.add('one');
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  }); // what must not happen in this time is what is looked for

  t.deepEqual([expired, armed], [[], 1]);
});
