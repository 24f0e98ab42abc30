/** A share that holds within 2 s at every rate above it, and cuts no burst that it has room for (L1). */
import test from 'ava';
import * as fc from 'fast-check';
import { FrameWindow, OVER_WITHIN_MS, WINDOW_SECONDS } from '../../../../transport/net/frame-window.ts';

const SHARE = 1_000;

/** When a sender of so many frames a second, evenly from `beganMs` on, is over its share; Infinity: not in a minute. */
function overAfterMs(perSecond: number, beganMs: number, share = new FrameWindow(SHARE)): number {
  const gapMs = 1_000 / perSecond;
  for (let sent = 0; sent * gapMs < 60_000; sent += 1) if (!share.take(1, beganMs + sent * gapMs)) return sent * gapMs;
  return Infinity;
}

test('whoever keeps above its share is over it within 2 s, however little it is above and whenever it began (L1)', (t) => {
  t.is(OVER_WITHIN_MS, 2_000);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 * SHARE }), fc.nat(1_000_000), (above, beganMs) => {
      const overMs = overAfterMs(SHARE + above, beganMs / 7);
      return overMs <= OVER_WITHIN_MS;
    }),
  );
});

test('whoever keeps within its share is never over it', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: SHARE }),
      fc.nat(1_000_000),
      (perSecond, beganMs) => overAfterMs(perSecond, beganMs / 7) === Infinity,
    ),
    { numRuns: 20 },
  );
  t.pass();
});

test('all that a window has room for may come in one go, and again once it has passed', (t) => {
  const share = new FrameWindow(SHARE);
  const room = SHARE * WINDOW_SECONDS;

  t.deepEqual(
    [share.take(room, 0), share.take(1, 0), share.take(1, 1_749), share.take(room, 1_750), share.take(1, 1_750)],
    [true, false, false, true, false],
  );
});

test('frames that were refused are not counted', (t) => {
  const share = new FrameWindow(SHARE);
  share.take(SHARE * WINDOW_SECONDS, 0);
  for (let tries = 0; tries < 10 * SHARE; tries += 1) share.take(1, 1_000);

  t.true(share.take(SHARE * WINDOW_SECONDS, 1_750));
});

test('a clock that is set back forgets nothing early, and one that leaps ahead forgets all', (t) => {
  const share = new FrameWindow(SHARE);
  const room = SHARE * WINDOW_SECONDS;

  t.deepEqual(
    [share.take(room, 1e12), share.take(1, 5_000), share.take(room, 6_750), share.take(room, 1e13)],
    [true, false, true, true],
  );
});
