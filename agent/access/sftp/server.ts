/** The SFTP server on stdin and stdout: one client, one thread, one request after the other. */
import { writeSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { Answers } from './answers.ts';
import { Packets } from './packets.ts';
import { Service } from './service.ts';
import { Garbage } from './wire.ts';

/** Batches of answers that are being written. While all are, requests wait. */
const BATCHES_MAX = 3;

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/**
 * Serves the client on stdin and stdout, which are pipes or sockets, until it hangs up; then the process ends with
 * status 0, or with 1 and a line on stderr after garbage.
 */
export function serve(): void {
  new SftpServer().start();
}

/**
 * Files are used by synchronous calls: the program has one client and nothing else to do, answers stay in the order of
 * the requests, and a round through the thread pool costs more than the call (measured). Only the client is waited for:
 * while it does not take answers its requests are read on up to a bound, since clients write many before they read.
 */
class SftpServer {
  readonly #packets = new Packets();
  readonly #answers = new Answers();
  readonly #service = new Service(this.#answers);
  readonly #output = socket(STDOUT, { readable: false, writable: true });
  readonly #input = socket(STDIN, {
    readable: true,
    writable: false,
    onread: { buffer: () => this.#packets.room(), callback: (bytes) => this.#take(bytes) },
  });
  /** Batches of answers that are being written. */
  #batches = 0;
  /** The client says nothing more. */
  #isEnded = false;

  start(): void {
    this.#input.on('end', () => {
      this.#isEnded = true;
      this.#pump();
    });
    this.#input.on('error', () => this.#hangUp());
    this.#output.on('error', () => this.#hangUp());
    this.#input.resume();
  }

  /** Returns whether to read on. */
  #take(bytes: number): boolean {
    this.#packets.added(bytes);
    this.#pump();
    return !this.#packets.isFull;
  }

  #pump(): void {
    const answers = this.#answers;
    try {
      while (this.#batches < BATCHES_MAX) {
        const packet = this.#packets.next();
        if (packet !== null) this.#service.answer(packet);
        if (answers.isFull || (packet === null && answers.length > 0)) this.#write(answers.take());
        if (packet === null) break;
      }
      if (this.#isEnded && this.#batches === 0) this.#end();
    } catch (error) {
      if (!(error instanceof Garbage)) throw error;
      fail(`what came is not SFTP: ${error.message}`);
    }
  }

  #write(batch: Buffer): void {
    this.#batches += 1;
    this.#output.write(batch, (error) => {
      if (error) return; // said by its event
      this.#batches -= 1;
      this.#answers.written(batch);
      this.#pump();
      if (!this.#packets.isFull && !this.#isEnded) this.#input.resume();
    });
  }

  #end(): void {
    if (this.#packets.bytesHeld > 0) throw new Garbage('the end in the middle of a packet');
    this.#hangUp();
  }

  #hangUp(): void {
    this.#service.close();
    process.exit(0);
  }
}

function socket(descriptor: number, options: SocketConstructorOpts): Socket {
  try {
    return new Socket({ ...options, fd: descriptor });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_INVALID_FD_TYPE') throw error;
    return fail(
      `${descriptor === STDIN ? 'stdin' : 'stdout'} is neither a pipe nor a socket: this program is started by a server of SSH`,
    );
  }
}

function fail(line: string): never {
  try {
    writeSync(STDERR, `sftp-server: ${line}\n`);
  } catch {
    // nobody listens there either
  }
  process.exit(1);
}
