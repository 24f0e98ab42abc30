/**
 * A limit for an upgrade as a whole. The `timeout` of a request and the `handshakeTimeout` of `ws` are of silence
 * alone: interim answers, or a header that comes byte by byte, put them off for as long as the other side likes.
 */
import type { ClientRequest } from 'node:http';

/** For `finishRequest` of `ws`, in the place of its `handshakeTimeout`: sends the request, which ends after `msMax`. */
export function handshakeWithin(msMax: number): (request: ClientRequest) => void {
  return (request) => {
    const late = setTimeout(() => request.destroy(handshakeLate()), msMax);
    request.once('close', () => clearTimeout(late));
    request.end();
  };
}

/** What a connection fails with that was not upgraded in time. In the words of `ws`. */
export function handshakeLate(): Error {
  return Object.assign(new Error('Opening handshake has timed out'), { code: 'ETIMEDOUT' });
}
