/** The client side of SOCKS5, for clients that need Node. The load program has its own. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Where, as whom, and where to. */
export interface Socks5Route {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly target: number;
}

/** Opens a stream; rejects when the proxy refuses. Source: RFC 1928 and 1929. */
export async function dialSocks5({ port, user, password, host, target }: Socks5Route): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  socket.write(Buffer.from([5, 1, 2]));
  await expect(socket, 2, (answer) => answer[1] === 2);
  socket.write(Buffer.concat([Buffer.from([1]), counted(user), counted(password)]));
  await expect(socket, 2, (answer) => answer[1] === 0);
  socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3]), counted(host), Buffer.from([target >> 8, target & 0xff])]));
  await expect(socket, 10, (answer) => answer[1] === 0);
  return socket;
}

function counted(text: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)]);
}

/** Reads so many bytes; whatever comes more than that stays unread. */
async function expect(socket: Socket, bytes: number, isRight: (answer: Buffer) => boolean): Promise<void> {
  for (;;) {
    const answer = socket.read(bytes) as Buffer | null;
    if (answer !== null) {
      if (isRight(answer)) return;
      socket.destroy();
      throw new Error(`the proxy refused: ${answer.toString('hex')}`);
    }
    await once(socket, 'readable');
  }
}
