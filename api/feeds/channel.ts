/** One log and everyone who reads it. What is told is built once for all readers at the same place. */
import { randomUUID } from 'node:crypto';
import type { ChangeLog, Changes } from './change-log.ts';
import { createWaiters, type Subscriber, type Tracked } from './subscription.ts';

/** Different places between two changes for which a message is kept; readers are nearly always at the same one. */
const KEPT_MESSAGES_MAX = 8;

/** How a channel puts its log into words. */
export interface Wording<V extends { readonly id: string }, M> {
  /** At least one page. */
  snapshot(values: readonly V[]): readonly M[];
  changed(changes: Changes<V>): M;
}

export interface Channel<V extends { readonly id: string }, M> {
  readonly log: ChangeLog<V>;
  /** Readers at the moment. */
  readonly readers: number;
  /** Tells the readers of what was put into the log. */
  publish(): void;
  /** A last message to everyone, now and later, and the end. */
  finish(last: M): void;
  /**
   * A snapshot, then ordered changes. A reader that is slow to ask for the next message gets what changed meanwhile in
   * one.
   */
  read(subscriber: Subscriber): AsyncGenerator<Tracked<M>, void, undefined>;
}

/** A channel over a loaded log. `left` is called when the last reader has gone. */
export function createChannel<V extends { readonly id: string }, M>(
  log: ChangeLog<V>,
  wording: Wording<V, M>,
  left: () => void,
): Channel<V, M> {
  return new LogChannel(log, wording, left);
}

class LogChannel<V extends { readonly id: string }, M> implements Channel<V, M> {
  readonly log: ChangeLog<V>;
  readonly #wording: Wording<V, M>;
  readonly #left: () => void;
  readonly #epoch = randomUUID();
  readonly #waiters = createWaiters();
  #readers = 0;
  #last: M | null = null;
  #snapshot: { readonly head: number; readonly pages: readonly M[] } | null = null;
  #messages: { readonly head: number; readonly from: Map<number, M> } = { head: -1, from: new Map() };

  constructor(log: ChangeLog<V>, wording: Wording<V, M>, left: () => void) {
    this.log = log;
    this.#wording = wording;
    this.#left = left;
  }

  get readers(): number {
    return this.#readers;
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
    try {
      while (!signal.aborted) {
        if (position === null) {
          const told = this.#pages();
          position = this.log.head;
          for (const [index, page] of told.entries()) {
            // Only a whole snapshot can be gone on from: until its last page the id is one that gets a fresh one.
            yield { id: index === told.length - 1 ? `${this.#epoch}:${position}` : 'snapshot', data: page };
          }
        } else if (position < this.log.head) {
          const message = this.#messageAfter(position);
          position = message === null ? null : this.log.head;
          if (message !== null) yield { id: `${this.#epoch}:${position}`, data: message };
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

  #pages(): readonly M[] {
    if (this.#snapshot?.head !== this.log.head)
      this.#snapshot = { head: this.log.head, pages: this.#wording.snapshot(this.log.values()) };
    return this.#snapshot.pages;
  }

  #messageAfter(position: number): M | null {
    if (this.#messages.head !== this.log.head) this.#messages = { head: this.log.head, from: new Map() };
    const kept = this.#messages.from.get(position);
    if (kept !== undefined) return kept;
    const changes = this.log.after(position);
    if (changes === null) return null;
    const message = this.#wording.changed(changes);
    if (this.#messages.from.size < KEPT_MESSAGES_MAX) this.#messages.from.set(position, message);
    return message;
  }

  #positionOf(id: string | undefined): number | null {
    const [of, position] = id?.split(':') ?? [];
    return of === this.#epoch && position !== undefined && this.log.knows(Number(position)) ? Number(position) : null;
  }
}
