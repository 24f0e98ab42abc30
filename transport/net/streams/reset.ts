/** Cutting streams so that the other side sees a cut. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Ends a stream so that nobody takes it for a clean end: TCP sends a reset, others are destroyed with an error, which
 * makes HTTP/2 send RST_STREAM alone (its `close(code)` would send END_STREAM before). What was not written yet is
 * lost. The error is nobody's.
 */
export function reset(stream: Duplex): void {
  if (stream.destroyed) return;
  stream.on('error', ignore);
  if (!(stream instanceof Socket)) {
    stream.destroy(new Error('the tunnel was cut'));
    return;
  }
  if (stream.writableEnded && !stream.writableFinished && stream.writableLength === 0) {
    // libuv resets no socket while it shuts it down, and Node would lose it: never closed, and no `close` (EINVAL of
    // uv_tcp_close_reset)
    stream.once('finish', () => reset(stream));
    return;
  }
  try {
    stream.resetAndDestroy();
  } catch {
    // TLS and pipes know no reset
    stream.destroy();
  }
}

/**
 * Whether an end that was read, or a close, is a cut: HTTP/2 in Node ends a stream that its peer has reset like one
 * that is complete.
 */
export function wasCut(stream: Duplex): boolean {
  return stream.errored !== null || ('aborted' in stream && stream.aborted === true);
}

function ignore(): void {}
