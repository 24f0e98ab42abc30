/** How often an executor looks at its executions. */
import test from 'ava';
import { nextLookMs } from '../../../../agent/execution/look-times.ts';

const QUIET = { isWatched: false, hasWork: false, nowMs: 0 };
const RUNNING = { isStopping: false, stuck: [], deadlineMs: null };
const STOPPING = { ...RUNNING, isStopping: true };
const STUCK = { ...STOPPING, stuck: [7] };

test('what is being ended is looked at often, what cannot be ended each second', (t) => {
  t.deepEqual(
    [
      [],
      [RUNNING],
      [STOPPING],
      [STUCK],
      [STUCK, RUNNING],
      [STUCK, STOPPING],
      [STUCK, { ...RUNNING, deadlineMs: 30 }],
    ].map((running) => nextLookMs(running, QUIET)),
    [null, 250, 40, 1_000, 250, 40, 30],
  );
  t.is(nextLookMs([STUCK], { ...QUIET, isWatched: true }), 100);
  t.is(nextLookMs([], { ...QUIET, hasWork: true }), 1_000);
});
