/** A server of PostgreSQL that lets everybody in, answers what a test says, and never ends a connection. */
import type { Socket } from 'node:net';
import { openTarget } from '../net/listening.ts';
import type { Scope } from '../scope.ts';
import { message } from './damaged-messages.ts';

const READY = message('Z', 'I');

/** How an honest server lets somebody in. Source: PostgreSQL, protocol-message-formats. */
export const LET_IN: readonly Buffer[] = [
  message('R', Buffer.alloc(4)),
  message('S', 'server_encoding\0UTF8\0'),
  message('K', Buffer.alloc(8, 1)),
  READY,
];

/** One row that says 1 in two columns, which are of text; or none. */
function answer(isRow: boolean): Buffer {
  const columns = ['at', 'pid'].flatMap((name) => [
    Buffer.from(`${name}\0`),
    Buffer.alloc(6),
    Buffer.of(0, 0, 0, 25, 255, 255),
    Buffer.alloc(6),
  ]);
  const described = message('T', Buffer.concat([Buffer.of(0, 2), ...columns]));
  const value = Buffer.from('\0\0\0\u00011');
  const rows = isRow ? [message('D', Buffer.concat([Buffer.of(0, 2), value, value]))] : [];
  return Buffer.concat([described, ...rows, message('C', `SELECT ${rows.length}\0`), READY]);
}

/** What such a server did. */
export interface SilentServer {
  readonly port: number;
  /** Statements that came, in their order. */
  readonly asked: readonly string[];
  /** Connections that its clients have not given up. */
  readonly sockets: ReadonlySet<Socket>;
}

/** Whether a statement is answered, and when: by one row that says 1. */
type Answering = boolean | 'without a row';

/** Starts one until the scope ends. */
export async function startSilentServer(
  scope: Scope,
  answering: (statement: string) => Answering | Promise<Answering>,
): Promise<SilentServer> {
  const asked: string[] = [];
  const answered = async (socket: Socket, statement: string): Promise<void> => {
    const how = await answering(statement);
    if (how !== false) socket.write(answer(how === true));
  };
  const { port, sockets } = await openTarget(scope, (socket) => {
    let rest = Buffer.alloc(0);
    let isIn = false;
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (;;) {
        const head = isIn ? 1 : 0; // the first message has no type
        const length = rest.length < head + 4 ? Infinity : head + rest.readUInt32BE(head);
        if (rest.length < length) return;
        const whole = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (!isIn) socket.write(Buffer.concat(LET_IN));
        else if (whole[0] === 'Q'.charCodeAt(0)) {
          const statement = whole.toString('utf8', 5, length - 1);
          asked.push(statement);
          void answered(socket, statement);
        }
        isIn = true;
      }
    });
  });
  return { port, asked, sockets };
}
