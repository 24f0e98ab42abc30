/** How long an answer of a Kafka broker may be: the client keeps what comes of the 2 GiB that it may announce. */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Longest answer of a broker, in bytes. The largest that is asked for tells of one topic and all brokers: some 100
 * bytes for each of its partitions and for each broker.
 */
export const ANSWER_BYTES_MAX = 8_388_608;

/** A length above it, in bytes, or below 0, is text or noise: `HTTP` is one of 1,213,486,160. */
const LENGTH_BYTES_MAX = 1_073_741_824;

/** Of the length that an answer begins with, in bytes. Source: Kafka protocol guide, common request and response. */
const LENGTH_FIELD_BYTES = 4;

/**
 * Destroys a socket that is being connected once a broker announces an answer of more than ANSWER_BYTES_MAX there, or
 * of less than none; `exceeded` is told before. Call it behind who reads: it hears of each chunk after them.
 */
export function limitAnswers(socket: Socket, exceeded: (error: Error) => void): void {
  let length = 0;
  let lengthBytes = 0;
  let bytesLeft = 0;
  const count = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length && !socket.destroyed;) {
      if (bytesLeft > 0) {
        const taken = Math.min(bytesLeft, chunk.length - at);
        bytesLeft -= taken;
        at += taken;
        continue;
      }
      length = length * 256 + (chunk[at] ?? 0); // one below 0 is above 2^31 so
      at += 1;
      lengthBytes = (lengthBytes + 1) % LENGTH_FIELD_BYTES;
      if (lengthBytes > 0) continue;
      if (length > ANSWER_BYTES_MAX) {
        exceeded(
          new Error(
            length > LENGTH_BYTES_MAX
              ? 'what listens there is no Kafka broker'
              : `it announces an answer of ${length} bytes, more than ${ANSWER_BYTES_MAX}`,
          ),
        );
        socket.destroy();
      }
      bytesLeft = length;
      length = 0;
    }
  };
  socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => socket.on('data', count));
}
