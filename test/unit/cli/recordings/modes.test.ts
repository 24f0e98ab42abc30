import test from 'ava';
import { createModeTracker } from '../../../../cli/recordings/modes.ts';

/** Processor time, in µs: what is quadratic takes many seconds. */
const MICROSECONDS_MAX = 1_000_000;

test('digits without an end, as a recorded machine may print them, are looked at once', (t) => {
  const modes = createModeTracker();
  const before = process.cpuUsage();
  for (const begin of ['\u001B[', '\u001B[1;', '\u001B[>', '\u001B[<', '\u001B[>4;', '\u001B[?'])
    modes.saw(begin + '1'.repeat(200_000));
  const { user } = process.cpuUsage(before);

  t.true(user < MICROSECONDS_MAX, `${user} µs`);
});

test('margins that were set are taken back', (t) => {
  for (const set of ['\u001B[2;20r', '\u001B[;20r', '\u001B[2r', '\u001B[00002;00020r']) {
    const modes = createModeTracker();
    modes.saw(set);
    t.true(modes.restoring().includes('\u001B[r'), JSON.stringify(set));
  }
});
