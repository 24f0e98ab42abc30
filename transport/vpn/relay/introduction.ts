/** How a new client makes itself known to a relay, and what it is told when it may stay. */
import { DERP_VERSION, encodeFrame, FRAME, KEY_BYTES, openJson, sealJson, type BoxKeys } from '../derp/protocol.ts';
import { BYTES_BURST_MAX } from './limits.ts';

/** Who a client is: it has the key, as it could seal with it. */
export interface Introduction {
  /** Binary. */
  readonly key: Buffer;
  readonly answersPings: boolean;
}

/**
 * What the first frame of a client says. Null: it is none of the protocol, or not sealed with the key that it names.
 */
export function readIntroduction(type: number, payload: Buffer, { privateKey }: BoxKeys): Introduction | null {
  if (type !== FRAME.clientInfo || payload.length < KEY_BYTES) return null;
  const key = Buffer.from(payload.subarray(0, KEY_BYTES));
  const opened = openJson(payload.subarray(KEY_BYTES), key, privateKey);
  if (opened === null) return null;
  return { key, answersPings: (opened.value as { readonly CanAckPings?: unknown } | null)?.CanAckPings === true };
}

/** The frame by which the owner of this key learns that it may stay, and how much it may send. */
export function serverInfo(key: Buffer, { privateKey }: BoxKeys, bytesPerSecondMax: number): Buffer {
  const info = {
    version: DERP_VERSION,
    TokenBucketBytesPerSecond: bytesPerSecondMax,
    TokenBucketBytesBurst: BYTES_BURST_MAX,
  };
  return encodeFrame(FRAME.serverInfo, sealJson(info, key, privateKey));
}
