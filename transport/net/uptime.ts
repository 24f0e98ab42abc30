/**
 * How long this machine runs, with the time asleep. Node tells it from `/proc/uptime`, and where it can open no file
 * from another clock: of whole seconds, and in a container of LXC that of its host, days ahead. So the file is opened
 * once and kept.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

/** Longer than what stands there: two numbers of seconds. */
const READ_BYTES_MAX = 64;

const UPTIME = /^(\d+\.\d\d) /u;

/** Where it is read. A file of a test's own stands for one. */
export class Uptime {
  readonly #path: string;
  readonly #read = Buffer.alloc(READ_BYTES_MAX);
  #descriptor: number | null = null;
  /** What was read last, and when by the monotonic clock, in ms. */
  #last: { readonly aliveMs: number; readonly atMs: number } | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** In ms, to 10 ms. While it cannot be read it goes on by the monotonic clock, which stands still while asleep. */
  aliveMs(): number {
    const atMs = performance.now();
    const aliveMs = this.#readMs();
    if (aliveMs !== null) {
      this.#last = { aliveMs, atMs };
      return aliveMs;
    }
    return this.#last === null ? uptime() * 1_000 : this.#last.aliveMs + (atMs - this.#last.atMs);
  }

  #forget(): void {
    const gone = this.#descriptor;
    this.#descriptor = null; // before all: its number may be another file's from here on
    if (gone === null) return;
    try {
      closeSync(gone);
    } catch {
      // a mount whose server died refuses that too, and the descriptor is closed all the same
    }
  }

  #readMs(): number | null {
    try {
      this.#descriptor ??= openSync(this.#path, 'r');
      const bytes = readSync(this.#descriptor, this.#read, 0, READ_BYTES_MAX, 0);
      const seconds = UPTIME.exec(this.#read.toString('latin1', 0, bytes))?.[1];
      return seconds === undefined ? null : Number(seconds) * 1_000;
    } catch {
      this.#forget(); // no /proc, no file to be had at the start, or what serves it in a container is gone: tried again
      return null;
    }
  }
}

const ofMachine = new Uptime('/proc/uptime');

/** ms since this machine started, with the time asleep, to 10 ms. */
export function aliveMs(): number {
  return ofMachine.aliveMs();
}
