/** The SFTP server on stdin and stdout: one client, one thread, one request after the other. */
import { writeSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { Answers } from './answers.ts';
import { BATCHES_MAX } from './limits.ts';
import { Packets } from './packets.ts';
import { Service } from './service.ts';
import { Garbage } from './wire.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/**
 * Serves the client on stdin and stdout, which are pipes or sockets, until it hangs up; then the process ends with
 * status 0, or with 1 and a line on stderr after garbage.
 *
 * Files are used by synchronous calls: the program has one client and nothing else to do, answers stay in the order of
 * the requests, and a round through the thread pool costs more than the call (measured). Only the client is waited for:
 * while it does not take answers its requests are read on up to a bound, since clients write many before they read.
 */
export function serve(): void {
  const [packets, answers] = [new Packets(), new Answers()];
  const service = new Service(answers);
  const output = socket(STDOUT, { readable: false, writable: true });
  const input = socket(STDIN, {
    readable: true,
    writable: false,
    onread: { buffer: () => packets.room(), callback: take },
  });
  let batches = 0;
  let isEnded = false;

  input.on('end', () => {
    isEnded = true;
    pump();
  });
  input.on('error', hangUp);
  output.on('error', hangUp);
  input.resume();

  /** Returns whether to read on. */
  function take(bytes: number): boolean {
    packets.added(bytes);
    pump();
    return !packets.isFull;
  }

  function pump(): void {
    try {
      while (batches < BATCHES_MAX) {
        const packet = packets.next();
        if (packet !== null) service.answer(packet);
        if (answers.isFull || (packet === null && answers.length > 0)) write(answers.take());
        if (packet === null) break;
      }
      if (isEnded && batches === 0) end();
    } catch (error) {
      if (!(error instanceof Garbage)) throw error;
      fail(`what came is not SFTP: ${error.message}`);
    }
  }

  function write(batch: Buffer): void {
    batches += 1;
    output.write(batch, (error) => {
      if (error) return; // said by its event
      batches -= 1;
      answers.written(batch);
      pump();
      if (!packets.isFull && !isEnded) input.resume();
    });
  }

  function end(): void {
    if (packets.bytesHeld > 0) throw new Garbage('the end in the middle of a packet');
    hangUp();
  }

  function hangUp(): void {
    service.close();
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
