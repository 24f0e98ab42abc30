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
  const epoch = randomUUID();
  const waiters = createWaiters();
  let readers = 0;
  let last: M | null = null;
  let snapshot: { readonly head: number; readonly pages: readonly M[] } | null = null;
  let messages: { readonly head: number; readonly from: Map<number, M> } = { head: -1, from: new Map() };

  const pages = (): readonly M[] => {
    if (snapshot?.head !== log.head) snapshot = { head: log.head, pages: wording.snapshot(log.values()) };
    return snapshot.pages;
  };

  const messageAfter = (position: number): M | null => {
    if (messages.head !== log.head) messages = { head: log.head, from: new Map() };
    const kept = messages.from.get(position);
    if (kept !== undefined) return kept;
    const changes = log.after(position);
    if (changes === null) return null;
    const message = wording.changed(changes);
    if (messages.from.size < KEPT_MESSAGES_MAX) messages.from.set(position, message);
    return message;
  };

  const positionOf = (id: string | undefined): number | null => {
    const [of, position] = id?.split(':') ?? [];
    return of === epoch && position !== undefined && log.knows(Number(position)) ? Number(position) : null;
  };

  return {
    log,
    get readers() {
      return readers;
    },
    publish: () => waiters.wake(),
    finish(message) {
      last = message;
      waiters.wake();
    },
    // One generator, with nothing around it: each layer costs every message of every reader several promises
    // (measured).
    async *read({ lastEventId, signal }) {
      readers += 1;
      let position = positionOf(lastEventId);
      try {
        while (!signal.aborted) {
          if (position === null) {
            const told = pages();
            position = log.head;
            for (const [index, page] of told.entries()) {
              // Only a whole snapshot can be gone on from: until its last page the id is one that gets a fresh one.
              yield { id: index === told.length - 1 ? `${epoch}:${position}` : 'snapshot', data: page };
            }
          } else if (position < log.head) {
            const message = messageAfter(position);
            position = message === null ? null : log.head;
            if (message !== null) yield { id: `${epoch}:${position}`, data: message };
          } else if (last !== null) {
            yield { id: `${epoch}:${position}`, data: last };
            return;
          } else if (!(await waiters.wait(signal))) return;
        }
      } finally {
        readers -= 1;
        if (readers === 0) left();
      }
    },
  };
}
