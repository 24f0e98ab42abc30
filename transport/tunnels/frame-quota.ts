/** What an agent may say on its tunnel besides bytes of streams (L1): HTTP/2 bounds some floods and not others. */
import { FrameWindow } from '../net/frame-window.ts';
import { FRAMES_PER_SECOND_MAX } from './limits.ts';

/** Before the payload of a frame. Source: RFC 9113, 4.1. */
const FRAME_HEADER_BYTES = 9;

/** Type of frames with bytes of streams, which have windows. */
const DATA = 0;

/**
 * Types of frames that open, steer and end streams: HEADERS, RST_STREAM, WINDOW_UPDATE, CONTINUATION. Source: RFC 9113, 6.
 */
const OF_STREAMS: ReadonlySet<number | undefined> = new Set([1, 3, 8, 9]);

/**
 * What a frame of the connection counts as (SETTINGS, PING, GOAWAY, whatever else there is). An agent sends one in some
 * seconds, and each takes JavaScript and an answer: 35,000 in one go held everybody up for 0.4 s.
 */
const CONNECTION_FRAME = 50;

/** Bytes of other frames that count as one more frame: what a header of a usual size has. */
const BYTES_A_FRAME = 256;

/**
 * What a frame with bytes of a stream counts as, up to DATA_BYTES_MIN of them; a larger one counts less the larger it
 * is. To hand one on costs the same however short it is: an agent that sends its bytes one by one sends as many frames.
 */
const DATA_FRAME = 0.5;
const DATA_BYTES_MIN = 1_024;

/** Answers false once a tunnel is over its share. Is shown all bytes that came, from the first on. */
export type FrameQuota = (chunk: Buffer, nowMs: number) => boolean;

/** The share of one node, over all of its tunnels: one that is cut does not begin anew with the next. */
export function createFrameShare(): FrameWindow {
  return new FrameWindow(FRAMES_PER_SECOND_MAX);
}

/**
 * Counts what comes in one tunnel. Looks at the 9 bytes before each frame and steps over the rest, so that bulk data
 * costs nothing.
 */
export function createFrameQuota(share: FrameWindow = createFrameShare()): FrameQuota {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  let headerBytes = 0;
  let payloadBytes = 0;

  return (chunk, nowMs) => {
    let frames = chunk.length < FRAME_HEADER_BYTES ? 1 : 0; // less than any frame: it is the messages that flood
    for (let at = 0; at < chunk.length;) {
      if (payloadBytes > 0) {
        const step = Math.min(payloadBytes, chunk.length - at);
        payloadBytes -= step;
        at += step;
        continue;
      }
      if (headerBytes === 0 && chunk.length - at >= FRAME_HEADER_BYTES) {
        payloadBytes = payloadIn(chunk, at);
        frames += costOf(chunk[at + 3], payloadBytes);
        at += FRAME_HEADER_BYTES;
        continue;
      }
      const step = Math.min(FRAME_HEADER_BYTES - headerBytes, chunk.length - at);
      chunk.copy(header, headerBytes, at, at + step);
      headerBytes += step;
      at += step;
      if (headerBytes < FRAME_HEADER_BYTES) break;
      headerBytes = 0;
      payloadBytes = payloadIn(header, 0);
      frames += costOf(header[3], payloadBytes);
    }
    return frames === 0 || share.take(frames, nowMs);
  };
}

/** By hand: this is done for each frame of a flood. */
function payloadIn(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}

function costOf(type: number | undefined, payloadBytes: number): number {
  if (type !== DATA || payloadBytes === 0)
    return (type === DATA || OF_STREAMS.has(type) ? 1 : CONNECTION_FRAME) + payloadBytes / BYTES_A_FRAME;
  return (DATA_FRAME * DATA_BYTES_MIN) / Math.max(payloadBytes, DATA_BYTES_MIN);
}
