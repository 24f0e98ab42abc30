/** Bytes of HTTP/2 as pieces that end between two frames, and what their frames count as (L1). */
import type { Piece } from '../net/streams/paced-pieces.ts';
import { PIECE_FRAMES_MAX } from './limits.ts';

/** Before the payload of a frame. Source: RFC 9113, 4.1. */
const FRAME_HEADER_BYTES = 9;

/** Type of frames with bytes of streams, which have windows. */
const DATA = 0;

/**
 * Types of frames that open, steer and end streams: HEADERS, RST_STREAM, WINDOW_UPDATE, CONTINUATION. Source: RFC 9113,
 * 6.
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

/**
 * What a chunk counts as at least, whatever is in it, of what a frame with as many bytes of a stream does. An agent may
 * send a large frame in messages of 9 bytes: 450,000 a second took three quarters of a core.
 */
const CHUNK = 0.5;

/**
 * Cuts what comes in one tunnel, from its first byte on. Looks at the 9 bytes before each frame and steps over the
 * rest, so that bulk data stays whole.
 */
export function createFramePieces(): (chunk: Buffer) => readonly Piece[] {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  let headerBytes = 0;
  let payloadBytes = 0;

  return (chunk) => {
    const pieces: Piece[] = [];
    let from = 0;
    let cost = chunk.length < FRAME_HEADER_BYTES ? 1 : 0; // less than any frame: it is the messages that flood
    for (let at = 0; at < chunk.length;) {
      if (payloadBytes > 0) {
        const step = Math.min(payloadBytes, chunk.length - at);
        payloadBytes -= step;
        at += step;
        continue;
      }
      if (headerBytes === 0 && chunk.length - at >= FRAME_HEADER_BYTES) {
        payloadBytes = payloadIn(chunk, at);
        const more = costOf(chunk[at + 3], payloadBytes);
        if (cost > 0 && cost + more > PIECE_FRAMES_MAX) {
          pieces.push({ bytes: chunk.subarray(from, at), cost });
          [from, cost] = [at, 0];
        }
        cost += more;
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
      cost += costOf(header[3], payloadBytes);
    }
    const counted = pieces.reduce((sum, piece) => sum + piece.cost, cost);
    cost += Math.max(0, CHUNK * costOf(DATA, chunk.length) - counted);
    pieces.push({ bytes: from === 0 ? chunk : chunk.subarray(from), cost });
    return pieces;
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
