/** What a node may say over all of its tunnels (L1). */
import test from 'ava';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import type { FrameQuota } from '../../../../transport/tunnels/frame-quota.ts';
import { FrameShares } from '../../../../transport/tunnels/frame-shares.ts';
import { CUT_TUNNEL_AGAIN_MS, FRAMES_PER_SECOND_MAX } from '../../../../transport/tunnels/limits.ts';
import { WINDOW_SECONDS } from '../../../../transport/net/frame-window.ts';
import { id, NODE } from '../../../support/actors.ts';
import { frame, TYPE } from '../../../support/net/hostile-tunnel.ts';

const OTHER_NODE = id<NodeId>('b', 2);
const RESET = frame(TYPE.reset, 0, 1);
const AT_ONCE = FRAMES_PER_SECOND_MAX * WINDOW_SECONDS;

/** How many frames it takes at that time, until it is cut. */
function takenAt(quota: FrameQuota, nowMs: number): number {
  for (let count = 0; ; count += 1) if (quota.take(RESET, nowMs) === null) return count;
}

test('a node whose tunnel was cut does not begin anew with the next, and others have their own share', (t) => {
  const shares = new FrameShares();
  let told = 0;
  const cut = (): void => void (told += 1);
  const quotaOf = (node: typeof NODE, nowMs: number): FrameQuota => shares.quotaOf(node, nowMs, cut);

  const first = takenAt(quotaOf(NODE, 0), 0);
  const next = takenAt(quotaOf(NODE, 1_000), 1_000);
  const other = takenAt(quotaOf(OTHER_NODE, 1_000), 1_000);
  const later = takenAt(quotaOf(NODE, 10_000), 10_000);

  t.deepEqual([first, next, other, later, told], [AT_ONCE, 0, AT_ONCE, AT_ONCE, 3]);
});

test('a node is left alone for a moment after a cut, and forgotten when it has no tunnel any more', (t) => {
  const shares = new FrameShares();
  takenAt(
    shares.quotaOf(NODE, 0, () => {}),
    0,
  );
  const had = [0, CUT_TUNNEL_AGAIN_MS - 1, CUT_TUNNEL_AGAIN_MS].map((nowMs) => shares.wasCut(NODE, nowMs));

  shares.sweep(CUT_TUNNEL_AGAIN_MS - 1, () => false);
  shares.sweep(CUT_TUNNEL_AGAIN_MS, () => true);
  const kept = shares.count;
  shares.sweep(CUT_TUNNEL_AGAIN_MS, () => false);

  t.deepEqual([had, shares.wasCut(OTHER_NODE, 0), kept, shares.count], [[true, true, false], false, 1, 0]);
});
