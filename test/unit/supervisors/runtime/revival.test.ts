/** When an actor that crashed starts again. */
import test from 'ava';
import { CRASHES_MAX, decideRestart, ESCALATE_WINDOW_MS, REST_MS } from '../../../../supervisors/runtime/revival.ts';

test('crashes wait twice as long each time, and those of more than a minute ago are forgotten', (t) => {
  let earlier: readonly number[] = [];
  const waits = [];
  for (let crash = 0; crash < CRASHES_MAX - 1; crash += 1) {
    const decision = decideRestart(earlier, 1_000 + crash);
    earlier = decision.crashesMs;
    waits.push(decision.afterMs);
  }

  t.deepEqual(waits, [20, 40, 80, 160]);
  t.deepEqual(decideRestart(earlier, 1_010), { afterMs: REST_MS, escalated: true, crashesMs: [] });
  t.deepEqual(decideRestart(earlier, 1_003 + ESCALATE_WINDOW_MS), {
    afterMs: 20,
    escalated: false,
    crashesMs: [1_003 + ESCALATE_WINDOW_MS],
  });
});
