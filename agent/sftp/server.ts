/** The SFTP server on stdin and stdout: one client, one thread, one request after the other. */
import { readSync, writeSync } from 'node:fs';
import { Answers } from './answers.ts';
import { RETRY_MS } from './limits.ts';
import { Packets } from './packets.ts';
import { Service } from './service.ts';
import { Garbage } from './wire.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/**
 * Serves the client on stdin and stdout until it hangs up. Returns the exit status: 0, or 1 with a line on stderr after garbage.
 *
 * All calls are synchronous, as the program has nothing else to do: that keeps the order of answers, bounds what is under way to
 * one buffer each way, holds a client back that does not read, and is twice as quick as the thread pool (measured).
 */
export function serve(): number {
  const [packets, answers] = [new Packets(), new Answers()];
  const service = new Service(answers);
  try {
    do {
      for (let packet = packets.next(); packet !== null; packet = packets.next()) {
        service.answer(packet);
        if (answers.isFull) answers.flush(writeOut);
      }
      answers.flush(writeOut);
    } while (packets.fill(readIn) > 0);
    if (packets.bytesHeld > 0) throw new Garbage('the end in the middle of a packet');
    return 0;
  } catch (error) {
    if (isHungUp(error)) return 0;
    if (!(error instanceof Garbage)) throw error;
    complain(`sftp-server: what came is not SFTP: ${error.message}`);
    return 1;
  } finally {
    service.close();
  }
}

function readIn(memory: Buffer, at: number, length: number): number {
  return patiently(() => readSync(STDIN, memory, at, length, null));
}

function writeOut(memory: Buffer, at: number, length: number): void {
  for (let written = 0; written < length;) written += patiently(() => writeSync(STDOUT, memory, at + written, length - written));
}

/** Tries again where somebody who has the other end, or shares this one, has set it not to block. */
function patiently(attempt: () => number): number {
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function isHungUp(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EPIPE' || code === 'ECONNRESET';
}

function complain(line: string): void {
  try {
    writeSync(STDERR, `${line}\n`);
  } catch {
    // nobody listens there either
  }
}
