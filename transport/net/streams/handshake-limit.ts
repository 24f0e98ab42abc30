/**
 * A limit for an upgrade as a whole. The `timeout` of a request and the `handshakeTimeout` of `ws` are of silence
 * alone: interim answers, or a header that comes byte by byte, put them off for as long as the other side likes.
 */
import type { ClientRequest } from 'node:http';

/**
 * A dial that has a limit of silence too may take so many times that as a whole: its connection, TLS and its upgrade
 * are silent one after another.
 */
export const HANDSHAKE_SILENCES = 3;

/**
 * For `finishRequest` of `ws`: sends the request, which ends `msMax` after it has its socket. A proxy before that is
 * bounded by itself, and a request that waits for its socket cannot be ended: whoever brings it ends it.
 */
export function handshakeWithin(msMax: number): (request: ClientRequest) => void {
  return (request) => {
    request.once('socket', () => {
      const late = setTimeout(() => request.destroy(handshakeLate()), msMax);
      request.once('close', () => clearTimeout(late));
    });
    request.end();
  };
}

/** What a connection fails with that was not upgraded in time. In the words of `ws`. */
export function handshakeLate(): Error {
  return Object.assign(new Error('Opening handshake has timed out'), { code: 'ETIMEDOUT' });
}
