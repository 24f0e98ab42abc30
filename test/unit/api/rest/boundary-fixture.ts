/** Clients that write more than a server wants to read. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A client of the old kind: it writes all that it has, and only then looks at what came back. */
export async function writeFirst(
  url: string,
  head: string,
  pieces: Iterable<Buffer>,
): Promise<{ readonly socket: Socket; readonly answer: () => string; readonly writtenBytes: number }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  const closed = new Promise<true>((resolve) => {
    socket.once('close', () => resolve(true));
  });
  socket.on('error', () => {});
  let received = '';
  let writtenBytes = 0;
  socket.write(head);
  for (const piece of pieces) {
    const isFull = !socket.write(piece);
    if (
      isFull &&
      (await Promise.race([
        closed,
        new Promise<false>((resolve) => {
          socket.once('drain', () => resolve(false));
        }),
      ]))
    )
      break;
    writtenBytes += piece.length;
  }
  socket.on('data', (piece) => {
    received += piece.toString();
  });
  return { socket, answer: () => received, writtenBytes };
}

/** So many bytes of spaces, piece by piece. */
export function* pieces(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), 0x20);
}
