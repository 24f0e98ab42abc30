/**
 * What became of an attempt to open a byte stream. The same words from the machine that dials up to the client of a
 * proxy.
 */
import type { Duplex } from 'node:stream';

/**
 * Why there is no stream. From the network: `refused`, `unreachable`, `unresolved` (no such name), `timed_out`,
 * `failed` (anything else). From policy: `blocked` (must not be reached), `loop` (it would come back here). From the
 * fleet: `unknown_node` (no such name), `offline` (its agent has no session here), `overloaded` (a limit is reached;
 * later may do).
 */
export const DIAL_FAILURES = [
  'refused',
  'unreachable',
  'unresolved',
  'timed_out',
  'failed',
  'blocked',
  'loop',
  'unknown_node',
  'offline',
  'overloaded',
] as const;
/** One of them. */
export type DialFailure = (typeof DIAL_FAILURES)[number];

/**
 * An open stream, connected to its end, or why there is none: `message` is one sentence for the person who asked, free
 * of addresses of the VPN.
 */
export type Dialled =
  | { readonly ok: true; readonly stream: Duplex }
  | { readonly ok: false; readonly failure: DialFailure; readonly message: string };

/** No stream, for this reason. */
export function notDialled(failure: DialFailure, message: string): Dialled {
  return { ok: false, failure, message };
}
