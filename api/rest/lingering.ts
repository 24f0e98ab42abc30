/**
 * Answers that leave before their request was read to the end. A client that writes first and reads then would find its
 * connection reset, and the answer gone with it: so what still comes is read and thrown away for a while (RFC 9112,
 * 9.6).
 */
import type { Duplex, Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/**
 * What is thrown away of one request after its answer, in bytes: 16 times the default of MAX_BODY_BYTES. Beyond it the
 * connection is cut (L2).
 */
export const LINGER_BYTES_MAX = 16_777_216;

/** And for how long, in ms: a client that is still writing then had its time. */
export const LINGER_MS_MAX = 5_000;

/**
 * Reads on after every answer whose request has not come to its end. A client that stops within the bounds keeps its
 * connection.
 */
export function lingerAfterAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { raw } = request;
    const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0;
    if (hasBody && !raw.complete && !raw.destroyed) {
      reply.removeHeader('connection'); // with it Node would close as soon as the answer has left
      discard(raw, () => raw.destroy());
      raw.resume();
    }
    done();
  });
}

/** Says the last words on a connection and ends it: at once where the client has finished, else within the bounds. */
export function endLingering(socket: Duplex, lastWords: string): void {
  socket.removeAllListeners('data'); // the parser has given up, and would again at each piece
  discard(socket, () => socket.destroy());
  socket.end(lastWords);
  socket.resume();
}

/** Throws away what comes, until it ends or is too much. */
function discard(stream: Readable, cut: () => void): void {
  let bytes = 0;
  const timer = setTimeout(cut, LINGER_MS_MAX);
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > LINGER_BYTES_MAX) cut();
  });
  for (const over of ['end', 'close', 'error']) stream.once(over, () => clearTimeout(timer));
}
