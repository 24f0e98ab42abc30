/** Which regions are left out of the choice of a home, and for how long. */
import test from 'ava';
import { AvoidedRegions } from '../../../../../transport/vpn/member/avoided-regions.ts';
import { AVOID_MS_MAX, AVOID_MS_MIN } from '../../../../../transport/vpn/member/limits.ts';

test('a region that fails again after its time is avoided for twice as long, up to the limit, until it works', (t) => {
  const avoided = new AvoidedRegions();
  const lasts: number[] = [];
  let nowMs = 5;
  for (let tried = 0; tried < 5; tried += 1) {
    avoided.failed(901, nowMs);
    const startedMs = nowMs;
    while (avoided.has(901, nowMs)) nowMs += AVOID_MS_MIN;
    lasts.push((nowMs - startedMs) / AVOID_MS_MIN);
  }
  const most = AVOID_MS_MAX / AVOID_MS_MIN;
  t.deepEqual(lasts, [1, 2, 4, most, most]);

  avoided.worked(901);
  avoided.failed(901, nowMs);
  t.deepEqual([avoided.has(901, nowMs + AVOID_MS_MIN - 1), avoided.has(901, nowMs + AVOID_MS_MIN)], [true, false]);
});

test('regions that fail within their time take turns, and are avoided no longer for it', (t) => {
  const avoided = new AvoidedRegions();
  avoided.failed(901, 0);
  avoided.failed(902, 1);
  t.is(avoided.next([902, 901]), 901);

  avoided.failed(901, 2);

  t.is(avoided.next([902, 901]), 902);
  t.false(avoided.has(901, 2 + AVOID_MS_MIN));
  t.is(avoided.next([]), null);
});
