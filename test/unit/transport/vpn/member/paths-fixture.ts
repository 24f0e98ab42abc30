/** A path that became direct, and what it is to use. */
import type { PathEffect, Way } from '../../../../../transport/vpn/member/path-state.ts';
import { direct, LAN, Path, relayed } from './path.ts';

/** The effect that has a peer spoken to by a way. */
export const use = (way: Way, isSentNow = true): PathEffect => ({ type: 'use', way, isSentNow });

/** A path that is direct since just now. */
export function directNow(): Path {
  const path = relayed().tell({ type: 'asked' }).tell({ type: 'heard' }).read(direct(LAN), { received: 32 });
  path.taken();
  return path;
}
