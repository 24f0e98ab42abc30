/** Messages that wait at one actor: first in, first out, bounded. Outlives a crash of the actor. */
import { MAILBOX_MESSAGES_MAX } from '../../actors/limits.ts';

const EMPTY: never[] = [];

/** Empty at first. Holds no array while it is empty: most of 10,000 actors are idle. */
export class Mailbox<M> {
  readonly #limit: number;
  #messages: M[] = EMPTY;
  #head = 0;

  constructor(limit: number = MAILBOX_MESSAGES_MAX) {
    this.#limit = limit;
  }

  /** False when it is full: the message was not taken. */
  push(message: M): boolean {
    if (this.size() >= this.#limit) return false;
    if (this.#messages === EMPTY) this.#messages = [];
    this.#messages.push(message);
    return true;
  }

  /** Puts back what could not be handled, in front and in order. Never refused: these were inside before. */
  putBack(back: readonly M[]): void {
    if (back.length === 0) return;
    this.#messages = [...back, ...this.#messages.slice(this.#head)];
    this.#head = 0;
  }

  peek(): M | undefined {
    return this.#messages[this.#head];
  }

  /** Whether one that waits fits. */
  some(fits: (message: M) => boolean): boolean {
    return this.#messages.some((message, index) => index >= this.#head && fits(message));
  }

  shift(): M | undefined {
    const message = this.#messages[this.#head];
    this.#head += 1;
    if (this.#head >= this.#messages.length) this.#empty();
    return message;
  }

  size(): number {
    return this.#messages.length - this.#head;
  }

  /** Empties it and returns what was inside. */
  drain(): readonly M[] {
    const rest = this.#messages.slice(this.#head);
    this.#empty();
    return rest;
  }

  #empty(): void {
    this.#messages = EMPTY;
    this.#head = 0;
  }
}
