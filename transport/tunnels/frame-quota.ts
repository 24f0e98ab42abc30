/** What an agent may say on its tunnel besides bytes of streams (L1): HTTP/2 bounds some floods and not others. */
import { FrameWindow } from '../net/frame-window.ts';
import { FRAMES_PER_SECOND_MAX } from './limits.ts';

/** Before the payload of a frame. Source: RFC 9113, 4.1. */
const FRAME_HEADER_BYTES = 9;

/** Type of frames with bytes of streams, which have windows. */
const DATA = 0;

/** Bytes of other frames that count as one more frame: what a header of a usual size has. */
const BYTES_A_FRAME = 256;

/** Answers false once a tunnel is over its share. Is shown all bytes that came, from the first on. */
export type FrameQuota = (chunk: Buffer, nowMs: number) => boolean;

/**
 * The quota of one tunnel. Looks at the 9 bytes before each frame and steps over the rest, so that bulk data costs
 * nothing.
 */
export function createFrameQuota(): FrameQuota {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  let headerBytes = 0;
  let payloadBytes = 0;
  const share = new FrameWindow(FRAMES_PER_SECOND_MAX);

  return (chunk, nowMs) => {
    let frames = chunk.length < FRAME_HEADER_BYTES ? 1 : 0; // less than any frame: it is the messages that flood
    for (let at = 0; at < chunk.length;) {
      if (payloadBytes > 0) {
        const step = Math.min(payloadBytes, chunk.length - at);
        payloadBytes -= step;
        at += step;
        continue;
      }
      const step = Math.min(FRAME_HEADER_BYTES - headerBytes, chunk.length - at);
      chunk.copy(header, headerBytes, at, at + step);
      headerBytes += step;
      at += step;
      if (headerBytes < FRAME_HEADER_BYTES) break;
      headerBytes = 0;
      payloadBytes = header.readUIntBE(0, 3);
      if (header[3] !== DATA || payloadBytes === 0) frames += 1 + payloadBytes / BYTES_A_FRAME;
    }
    return frames === 0 || share.take(frames, nowMs);
  };
}
