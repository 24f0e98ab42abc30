/** The clock of leases: time in which the machine stood still counts as passed (O2). */
import test from 'ava';
import * as fc from 'fast-check';
import { createBootClock, createLeaseClock, STOOD_STILL_MS_MIN } from '../../../../transport/net/clock.ts';

/** Three clocks that agree until something happens to the machine. */
function machine() {
  const at = { monotonic: 5_000, boot: 700_000, wall: 1_790_000_000_000 };
  return {
    at,
    runs: (ms: number): void => {
      at.monotonic += ms;
      at.boot += ms;
      at.wall += ms;
    },
    witnesses: { monotonicMs: () => at.monotonic, bootMs: () => at.boot, wallMs: () => at.wall },
  };
}

test('the lease clock goes as the monotonic clock goes, however often it is asked', (t) => {
  const { runs, witnesses } = machine();
  const leaseClockMs = createLeaseClock(witnesses);
  const beganMs = leaseClockMs();

  for (let asked = 0; asked < 1_000; asked += 1) {
    runs(0.3);
    leaseClockMs();
  }

  t.is(Math.round(leaseClockMs() - beganMs), 300);
});

test('what passed while the machine was suspended is counted once, though both other clocks tell of it', (t) => {
  const { at, runs, witnesses } = machine();
  const leaseClockMs = createLeaseClock(witnesses);
  const beganMs = leaseClockMs();

  runs(1_000);
  at.boot += 60_000;
  at.wall += 60_000;
  const awakeMs = leaseClockMs();
  runs(1_000);

  t.deepEqual([awakeMs - beganMs, leaseClockMs() - beganMs], [61_000, 62_000]);
});

test('a hypervisor that stopped the machine shows in the wall clock alone, when that is set right', (t) => {
  const { at, runs, witnesses } = machine();
  const leaseClockMs = createLeaseClock(witnesses);
  const beganMs = leaseClockMs();

  runs(500);
  at.wall += 3_600_000;

  t.is(leaseClockMs() - beganMs, 3_600_500);
});

test('the uptime alone tells of a suspend when the wall clock was set back meanwhile', (t) => {
  const { at, witnesses } = machine();
  const leaseClockMs = createLeaseClock(witnesses);
  const beganMs = leaseClockMs();

  at.boot += 60_000;
  at.wall -= 7_200_000;

  t.is(leaseClockMs() - beganMs, 60_000);
});

test('a suspend of which the wall clock says nothing is noticed a moment later, and the uptime is not read at each look', (t) => {
  const { at, runs, witnesses } = machine();
  let read = 0;
  const leaseClockMs = createLeaseClock({ ...witnesses, bootMs: () => ((read += 1), at.boot) });
  const beganMs = leaseClockMs();

  for (let asked = 0; asked < 1_000; asked += 1) {
    runs(0.01);
    leaseClockMs();
  }
  t.true(read < 10, `${read} times`);
  at.boot += 60_000;
  runs(2);

  t.is(Math.round(leaseClockMs() - beganMs), 60_012);
});

test('a wall clock that is set back, slewed, or read in whole milliseconds changes nothing', (t) => {
  const { at, runs, witnesses } = machine();
  const leaseClockMs = createLeaseClock({
    ...witnesses,
    wallMs: () => Math.floor(at.wall),
    bootMs: () => Math.floor(at.boot / 10) * 10,
  });
  const beganMs = leaseClockMs();

  at.wall -= 86_400_000;
  for (let second = 0; second < 3_600; second += 1) {
    runs(1_000.1);
    at.wall += 0.5;
    leaseClockMs();
  }

  t.is(Math.round(leaseClockMs() - beganMs), 3_600_360);
});

test('the lease clock never goes back, nor less than the longest of what the clocks say passed, but for a little', (t) => {
  const step = fc.record({
    runs: fc.nat(5_000),
    suspended: fc.constantFrom(0, 0, 0, 300, 60_000),
    set: fc.constantFrom(0, 0, 0, -3_600_000, 60_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { at, runs, witnesses } = machine();
      const leaseClockMs = createLeaseClock(witnesses);
      let lastMs = leaseClockMs();
      for (const one of steps) {
        runs(one.runs);
        at.boot += one.suspended;
        at.wall += one.suspended + one.set;
        const nowMs = leaseClockMs();
        const passedMs = one.runs + Math.max(one.suspended, one.suspended + one.set);
        t.true(nowMs >= lastMs + passedMs - STOOD_STILL_MS_MIN && nowMs <= lastMs + passedMs);
        lastMs = nowMs;
      }
    }),
  );
});

test('the boot clock counts suspends, also many short ones, and nothing that is set or read late', (t) => {
  const { at, runs, witnesses } = machine();
  let readLateMs = 0;
  const bootMs = (): number => {
    const boot = Math.floor(at.boot / 10) * 10; // as the uptime is told
    runs(readLateMs); // the process is stopped between one clock and the other
    readLateMs = 0;
    return boot;
  };
  const bootClockMs = createBootClock({ ...witnesses, bootMs });
  const beganMs = bootClockMs();
  const passedMs = (): number => bootClockMs() - beganMs;
  const isNear = (ms: number, of: number): boolean => ms <= of && of - ms <= STOOD_STILL_MS_MIN;

  runs(0.3);
  t.is(Math.round(passedMs() * 10), 3);
  at.boot += 600_000;
  runs(1.7); // the uptime is read again by then
  t.true(isNear(passedMs(), 600_002));
  at.wall += 86_400_000;
  runs(2);
  readLateMs = 5_000;
  t.true(isNear(passedMs(), 605_004));
  runs(1_000);
  t.true(isNear(passedMs(), 606_004));
  for (let times = 0; times < 100; times += 1) {
    at.boot += 100;
    runs(2);
    passedMs();
  }
  t.true(isNear(passedMs(), 616_204));
});

test('the real lease clock counts with the real clocks', async (t) => {
  const leaseClockMs = createLeaseClock();
  // read between two looks at the other clock: somebody else may have the processor between two calls
  const read = () => {
    const fromMs = performance.now();
    const leaseMs = leaseClockMs();
    return { fromMs, leaseMs, toMs: performance.now() };
  };
  const before = read();

  await new Promise((resolve) => {
    setImmediate(resolve);
  });

  const after = read();
  const passedMs = after.leaseMs - before.leaseMs;
  t.true(
    passedMs > after.fromMs - before.toMs - 50 && passedMs < after.toMs - before.fromMs + 50,
    JSON.stringify({ before, after }),
  );
});
