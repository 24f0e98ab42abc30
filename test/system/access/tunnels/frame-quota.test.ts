/** How frames of a tunnel are counted, in whatever pieces they come. */
import { randomInt } from 'node:crypto';
import test from 'ava';
import { createFrameQuota } from '../../../../transport/tunnels/frame-quota.ts';
import { OVER_WITHIN_MS, WINDOW_SECONDS } from '../../../../transport/net/frame-window.ts';
import { FRAMES_PER_SECOND_MAX } from '../../../../transport/tunnels/limits.ts';
import { frame, TYPE } from '../../../support/net/hostile-tunnel.ts';

/** Frames that may come in one go. */
const AT_ONCE = FRAMES_PER_SECOND_MAX * WINDOW_SECONDS;

/** One that steers a stream. */
const WINDOW = frame(TYPE.window, 0, 1, Buffer.alloc(4));

/** How many times the quota takes these bytes at once, in pieces of at most `pieceBytes`. */
function taken(bytes: Buffer, pieceBytes = Infinity): number {
  const quota = createFrameQuota();
  for (let count = 0; count < 6 * AT_ONCE; count += 1) {
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(bytes.length, at + (pieceBytes === Infinity ? Infinity : randomInt(9, pieceBytes)));
      if (quota.take(bytes.subarray(at, end), 0) === null) return count;
      at = end;
    }
  }
  return Infinity;
}

test('bytes of streams are hardly counted: much may come in one go, also in the pieces in which a network brings it', (t) => {
  const data = frame(TYPE.data, 0, 1, Buffer.alloc(60_000, 4));

  t.is(taken(data), Infinity);
  t.true(taken(data, 20_000) * data.length > 4 * 2 ** 30);
  t.true(taken(data, 2_800) * data.length > 2 ** 27);
});

test('the quota counts other frames by number and size, also empty frames and messages that are no frames', (t) => {
  const exactly = (bytes: Buffer) => Math.round(AT_ONCE / taken(bytes));

  t.is(exactly(WINDOW), 1);
  t.is(exactly(frame(TYPE.data, 0, 1)), 1);
  t.is(exactly(frame(TYPE.headers, 4, 1, Buffer.alloc(2_560))), 11);
  t.is(taken(Buffer.alloc(1)), AT_ONCE - Math.ceil(AT_ONCE / 10)); // nine of them are a header
  t.is(
    Math.round(AT_ONCE / taken(Buffer.concat([WINDOW, frame(TYPE.data, 0, 1, Buffer.alloc(30_000)), WINDOW]), 16_000)),
    2,
  );
});

test('frames with few bytes of a stream are counted too: to hand one on costs the same however short it is (L1)', (t) => {
  const data = (bytes: number) => taken(frame(TYPE.data, 0, 1, Buffer.alloc(bytes)));

  t.is(data(1), 2 * AT_ONCE);
  t.is(data(1_024), 2 * AT_ONCE);
  t.is(data(2_048), 4 * AT_ONCE);
});

test('frames of the connection itself are dear: an agent has few of them, and each takes an answer (L1)', (t) => {
  const dear = [TYPE.settings, TYPE.ping, TYPE.priority, TYPE.goAway, 0xee].map((type) => taken(frame(type, 0, 0)));

  t.deepEqual(
    dear,
    dear.map(() => AT_ONCE / 50),
  );
});

test('what was used comes back with time', (t) => {
  const quota = createFrameQuota();
  const reset = frame(TYPE.reset, 0, 1);
  const takenAt = (nowMs: number): number => {
    for (let count = 0; ; count += 1) if (quota.take(reset, nowMs) === null) return count;
  };

  t.deepEqual(
    [takenAt(0), takenAt(0), takenAt(1_000), takenAt(1_750), takenAt(60_000)],
    [AT_ONCE, 0, 0, AT_ONCE, AT_ONCE],
  );
});

test('whoever keeps above the share of a tunnel is over it within 2 s, however little above (L1)', (t) => {
  for (const share of [1.01, 1.1, 1.5, 2, 10]) {
    const quota = createFrameQuota();
    const gapMs = 1_000 / (FRAMES_PER_SECOND_MAX * share);
    let sent = 0;
    while (sent * gapMs < 60_000 && quota.take(WINDOW, sent * gapMs) !== null) sent += 1;

    t.true(sent * gapMs <= OVER_WITHIN_MS, `${share} of its share: over it after ${sent * gapMs} ms`);
  }
});
