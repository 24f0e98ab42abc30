/** Which frames an agent of an older version knows, and how. */
import type { AdminFrameBody } from '../protocol/frames.ts';
import { PROTOCOL_VERSION_VPN, PROTOCOL_VERSION_REACH, PROTOCOL_VERSION_TRACES } from '../protocol/version.ts';

/** Frames that an agent of an older version would take for a broken peer. */
const VPN_FRAMES: ReadonlySet<AdminFrameBody['type']> = new Set([
  'mesh-network',
  'mesh-changed',
  'mesh-refused',
  'mesh-observed',
  'mesh-try',
  'netmaker-join',
]);
const REACH: ReadonlySet<AdminFrameBody['type']> = new Set(['open-tunnel', 'ssh-verdict', 'end-ssh']);

/** Whether an agent that speaks this version knows such frames. */
export function isKnownTo(protocol: number, { type }: AdminFrameBody): boolean {
  return (
    (protocol >= PROTOCOL_VERSION_REACH || !REACH.has(type)) &&
    (protocol >= PROTOCOL_VERSION_VPN || !VPN_FRAMES.has(type))
  );
}

/** The frame as an agent of this version knows it. */
export function asKnownTo(protocol: number, frame: AdminFrameBody): AdminFrameBody {
  if (frame.type === 'welcome') return { ...frame, protocol: Math.min(frame.protocol, protocol) };
  if (frame.type !== 'deliver' || protocol >= PROTOCOL_VERSION_TRACES) return frame;
  return { ...frame, deliveries: frame.deliveries.map(({ traceparent: _traceparent, ...delivery }) => delivery) };
}
