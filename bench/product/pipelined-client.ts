/**
 * A lean HTTP/1.1 client for sustained load: several requests under way on each of a few sockets (pipelining), answers
 * matched by order, bodies not parsed. It takes answers with a Content-Length only, which is what the admin sends.
 */
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

export interface PipelinedClient {
  /** Sends a JSON text; resolves with the status. Rejects when the connection is lost. */
  post(path: string, json: string): Promise<number>;
  close(): void;
}

/** Opens `sockets` connections. A request goes to the one with the fewest that wait for an answer. */
export function createPipelinedClient(port: number, key: string, sockets: number): PipelinedClient {
  const pipes = Array.from({ length: sockets }, () => new Pipe(connect({ port, host: '127.0.0.1', noDelay: true })));
  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: `;
  return {
    post: (path, json) => {
      const pipe = pipes.reduce((least, other) => (other.waiting < least.waiting ? other : least));
      return pipe.send(`${head(path)}${Buffer.byteLength(json)}\r\n\r\n${json}`);
    },
    close: () => {
      for (const pipe of pipes) pipe.close();
    },
  };
}

class Pipe {
  readonly #socket: Socket;
  readonly #waiting: { resolve(status: number): void; reject(error: Error): void }[] = [];
  #next = 0;
  #unread: Buffer = Buffer.alloc(0);
  #isClosing = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (piece) => this.#read(piece));
    socket.on('error', () => undefined); // its close follows
    socket.on('close', () => {
      if (this.#isClosing) return;
      for (const asked of this.#waiting.splice(this.#next)) asked.reject(new Error('the admin closed the connection'));
    });
  }

  /** Requests without an answer. */
  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  send(text: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(text);
    });
  }

  close(): void {
    this.#isClosing = true;
    this.#socket.destroy();
  }

  #read(piece: Buffer): void {
    let bytes = this.#unread.length === 0 ? piece : Buffer.concat([this.#unread, piece]);
    for (;;) {
      const headEnd = bytes.indexOf(HEAD_END);
      if (headEnd < 0) break;
      const head = bytes.toString('latin1', 0, headEnd);
      const end = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/iu.exec(head)?.[1] ?? 0);
      if (bytes.length < end) break;
      this.#answered(Number(head.slice(9, 12)));
      bytes = bytes.subarray(end);
    }
    this.#unread = bytes;
  }

  #answered(status: number): void {
    this.#waiting[this.#next]?.resolve(status);
    this.#next += 1;
    if (this.#next < 1_024) return;
    this.#waiting.splice(0, this.#next); // in larger pieces: a shift of a long array costs its length
    this.#next = 0;
  }
}
