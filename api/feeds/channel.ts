/** One log and everyone who reads it. What is told is built once for all readers at the same place. */
import { randomUUID } from 'node:crypto';
import type { ChangeLog, Changes } from './change-log.ts';
import { CHANGES_PER_MESSAGE_MAX } from './limits.ts';
import { Snapshot, type SnapshotPlace } from './snapshot.ts';
import { createWaiters, type Subscriber, type Tracked } from './subscription.ts';

/** Different places between two changes for which a message is kept; readers are nearly always at the same one. */
const KEPT_MESSAGES_MAX = 8;

/** How a channel puts its log into words. */
export interface Wording<V extends { readonly id: string }, M> {
  page(values: readonly V[], place: SnapshotPlace): M;
  changed(changes: Changes<V>): M;
}

export interface Channel<V extends { readonly id: string }, M> {
  readonly log: ChangeLog<V>;
  /** Readers at the moment. */
  readonly readers: number;
  /** Takes some of what is there from the beginning, while it loads. Those who read get it at once. */
  load(values: readonly V[]): void;
  /** All was loaded. */
  loaded(): void;
  /** The rest cannot be loaded: whoever reads gets this error. */
  fail(error: unknown): void;
  /** Tells the readers of what was put into the log. */
  publish(): void;
  /** A last message to everyone, now and later, and the end. */
  finish(last: M): void;
  /**
   * A snapshot, then ordered changes. A reader that is slow to ask for the next message gets what changed meanwhile in
   * as few as hold it.
   */
  read(subscriber: Subscriber): AsyncGenerator<Tracked<M>, void, undefined>;
}

/**
 * A channel over a log. `left` is called when the last reader has gone. `expected`: how many there will be, where
 * they are still loaded; null: all is there.
 */
export function createChannel<V extends { readonly id: string }, M extends object>(
  log: ChangeLog<V>,
  wording: Wording<V, M>,
  left: () => void,
  expected: number | null = null,
): Channel<V, M> {
  return new LogChannel(log, wording, left, expected);
}

/** What changed, and where a reader is who has it. */
interface Told<M> {
  readonly message: M;
  readonly upTo: number;
}

class LogChannel<V extends { readonly id: string }, M extends object> implements Channel<V, M> {
  readonly log: ChangeLog<V>;
  readonly #wording: Wording<V, M>;
  readonly #left: () => void;
  readonly #epoch = randomUUID();
  readonly #waiters = createWaiters();
  #readers = 0;
  #last: M | null = null;
  #failure: { readonly error: unknown } | null = null;
  /** The one that is loaded; null: all is there. */
  #loading: Snapshot<V, M> | null;
  /** The last one that somebody read: as long as somebody reads it. */
  #snapshot: WeakRef<Snapshot<V, M>> | null = null;
  #messages: { readonly head: number; readonly from: Map<string, Told<M>> } = { head: -1, from: new Map() };

  constructor(log: ChangeLog<V>, wording: Wording<V, M>, left: () => void, expected: number | null) {
    this.log = log;
    this.#wording = wording;
    this.#left = left;
    this.#loading = expected === null ? null : new Snapshot(log, expected);
  }

  get readers(): number {
    return this.#readers;
  }

  load(values: readonly V[]): void {
    for (const value of values) this.#loading?.load(value);
    this.#waiters.wake();
  }

  loaded(): void {
    this.#loading?.end();
    this.#loading = null;
    this.#waiters.wake();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#waiters.wake();
  }

  publish(): void {
    this.#waiters.wake();
  }

  finish(last: M): void {
    this.#last = last;
    this.#waiters.wake();
  }

  // One generator, with nothing around it: each layer costs every message of every reader several promises
  // (measured).
  async *read({ lastEventId, signal }: Subscriber): AsyncGenerator<Tracked<M>, void, undefined> {
    this.#readers += 1;
    let position = this.#positionOf(lastEventId);
    // Where the reader had everything. Amid changes that are more than one message it goes on from there after a cut.
    let base = position ?? 0;
    try {
      while (!signal.aborted) {
        this.#throwFailure();
        if (position === null) {
          const snapshot = this.#present();
          for (let page = 1; page <= snapshot.pages; page += 1) {
            while (!snapshot.has(page)) {
              this.#throwFailure();
              if (!(await this.#waiters.wait(signal))) return;
            }
            // Only a whole snapshot can be gone on from: until its last page the id is one that gets a fresh one.
            const id = page === snapshot.pages ? `${this.#epoch}:${snapshot.position}` : 'snapshot';
            yield { id, data: snapshot.page(page, this.#wording) };
          }
          base = position = snapshot.position;
        } else if (position < this.log.head) {
          const told = this.#messageAfter(position, base);
          position = told?.upTo ?? null;
          if (told === null) continue;
          if (told.upTo === this.log.head) base = told.upTo;
          yield { id: `${this.#epoch}:${base}`, data: told.message };
        } else if (this.#last !== null) {
          yield { id: `${this.#epoch}:${position}`, data: this.#last };
          return;
        } else if (!(await this.#waiters.wait(signal))) return;
      }
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0) this.#left();
    }
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  #present(): Snapshot<V, M> {
    if (this.#loading !== null) return this.#loading;
    const known = this.#snapshot?.deref();
    if (known?.position === this.log.head) return known;
    const snapshot = new Snapshot<V, M>(this.log, null);
    this.#snapshot = new WeakRef(snapshot);
    return snapshot;
  }

  #messageAfter(position: number, base: number): Told<M> | null {
    if (this.#messages.head !== this.log.head) this.#messages = { head: this.log.head, from: new Map() };
    const place = `${base}:${position}`;
    const kept = this.#messages.from.get(place);
    if (kept !== undefined) return kept;
    const changes = this.log.after(position, CHANGES_PER_MESSAGE_MAX, base);
    if (changes === null) return null;
    const told = { upTo: changes.upTo, message: this.#wording.changed(changes) };
    if (this.#messages.from.size < KEPT_MESSAGES_MAX) this.#messages.from.set(place, told);
    return told;
  }

  #positionOf(id: string | undefined): number | null {
    const [of, position] = id?.split(':') ?? [];
    return of === this.#epoch && position !== undefined && this.log.knows(Number(position)) ? Number(position) : null;
  }
}
