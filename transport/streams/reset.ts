/** Cutting streams so that the other side sees a cut. */
import { constants, type Http2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Ends a stream so that nobody takes it for a clean end: TCP sends a reset, HTTP/2 a CONNECT_ERROR (RFC 9113, 8.5), others are destroyed.
 * What was not written yet is lost. Its error, which may come later, is nobody's. Does nothing to a destroyed stream.
 */
export function reset(stream: Duplex): void {
  if (stream.destroyed) return;
  stream.on('error', ignore);
  if (isHttp2(stream)) {
    stream.close(constants.NGHTTP2_CONNECT_ERROR);
    return;
  }
  if (!(stream instanceof Socket)) {
    stream.destroy();
    return;
  }
  try {
    stream.resetAndDestroy();
  } catch { // TLS and pipes know no reset
    stream.destroy();
  }
}

/** Whether an end that was read is a cut: HTTP/2 in Node ends a stream that its peer has reset like one that is complete, and only its code tells. */
export function wasCut(stream: Duplex): boolean {
  return stream.errored !== null || isHttp2(stream) && (stream.aborted || (stream.rstCode ?? constants.NGHTTP2_NO_ERROR) !== constants.NGHTTP2_NO_ERROR);
}

function isHttp2(stream: Duplex): stream is Http2Stream & Duplex {
  return 'rstCode' in stream;
}

function ignore(): void {}
