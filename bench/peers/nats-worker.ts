/** Worker: NATS clients by the raw protocol, as lean as the simulated agents of the floor. One connection a node. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serveQuestions } from '../method/worker.ts';

/** What goes out and comes back: as much as a delivery, and a result with 200 bytes of output. */
const REQUEST = 'x'.repeat(180);
const ANSWER = 'x'.repeat(340);

/** Connections dialled at once, and tries while the server starts. */
const DIALS_AT_ONCE = 256;
const DIAL_TRIES_MAX = 100;

let requester: Socket;
let answers = 0;
let wanted = 0;
let allAnswered: (() => void) | undefined;

async function dial(port: number): Promise<Socket> {
  for (let attempt = 0; ; attempt += 1) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    try {
      await once(socket, 'connect');
      socket.on('error', () => undefined); // its end stops the run, which says so
      socket.write('CONNECT {"verbose":false,"pedantic":false,"echo":false}\r\n');
      return socket;
    } catch (error) {
      if (attempt === DIAL_TRIES_MAX) throw error;
      await delay(50);
    }
  }
}

async function responder(port: number, index: number): Promise<void> {
  const socket = await dial(port);
  let unread = '';
  socket.on('data', (piece: Buffer) => {
    unread += piece.toString('latin1');
    for (let end = unread.indexOf('\r\n'); end >= 0; end = unread.indexOf('\r\n')) {
      const line = unread.slice(0, end);
      if (line.startsWith('MSG ')) {
        const [, , , inbox, bytes] = line.split(' ');
        if (unread.length < end + 4 + Number(bytes)) return;
        unread = unread.slice(end + 4 + Number(bytes));
        socket.write(`PUB ${inbox} ${ANSWER.length}\r\n${ANSWER}\r\n`);
      } else {
        unread = unread.slice(end + 2);
        if (line === 'PING') socket.write('PONG\r\n');
      }
    }
  });
  socket.write(`SUB exec.${index} 1\r\nPING\r\n`);
}

function count(text: string): void {
  for (let at = text.indexOf('MSG inbox'); at >= 0; at = text.indexOf('MSG inbox', at + 1)) answers += 1;
  if (answers >= wanted) allAnswered?.();
}

serveQuestions({
  respond: async ({ port, nodes }: { port: number; nodes: number }) => {
    let next = 0;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < nodes; index = next) {
        next += 1;
        await responder(port, index);
      }
    };
    await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dialler));
    await delay(500); // the last subscriptions are known to the server
  },
  prepare: async ({ port }: { port: number }) => {
    requester = await dial(port);
    let tail = '';
    requester.on('data', (piece: Buffer) => {
      // A header may be cut between two pieces: what could be its beginning waits for the next one.
      const text = tail + piece.toString('latin1');
      if (text.startsWith('PING')) requester.write('PONG\r\n');
      const cut = text.lastIndexOf('MSG');
      tail =
        cut >= 0 && text.length - cut < 9
          ? text.slice(cut)
          : text.endsWith('M')
            ? 'M'
            : text.endsWith('MS')
              ? 'MS'
              : '';
      count(tail === '' ? text : text.slice(0, text.length - tail.length));
    });
    requester.write('SUB inbox.> 1\r\n');
  },
  /** One request to every node; answers the ms until the last answer is here. */
  request: async (nodes: number) => {
    answers = 0;
    wanted = nodes;
    const done = new Promise<void>((resolve) => {
      allAnswered = resolve;
    });
    const began = performance.now();
    for (let from = 0; from < nodes; from += DIALS_AT_ONCE) {
      let text = '';
      for (let index = from; index < Math.min(nodes, from + DIALS_AT_ONCE); index += 1)
        text += `PUB exec.${index} inbox.${index} ${REQUEST.length}\r\n${REQUEST}\r\n`;
      requester.write(text);
      await new Promise(setImmediate);
    }
    await done;
    return performance.now() - began;
  },
});
