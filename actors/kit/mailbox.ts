/** Messages that wait at one actor: first in, first out, bounded. Outlives a crash of the actor. */
import { MAILBOX_MESSAGES_MAX } from './limits.ts';

export interface Mailbox<M> {
  /** False when it is full: the message was not taken. */
  push(message: M): boolean;
  /** Puts back what could not be handled, in front and in order. Never refused: these were inside before. */
  putBack(messages: readonly M[]): void;
  peek(): M | undefined;
  shift(): M | undefined;
  size(): number;
  /** Empties it and returns what was inside. */
  drain(): readonly M[];
}

const EMPTY: never[] = [];

/** An empty mailbox. Holds no array while it is empty: most of 10,000 actors are idle. */
export function createMailbox<M>(limit: number = MAILBOX_MESSAGES_MAX): Mailbox<M> {
  let messages: M[] = EMPTY;
  let head = 0;
  return {
    push(message) {
      if (messages.length - head >= limit) return false;
      if (messages === EMPTY) messages = [];
      messages.push(message);
      return true;
    },
    putBack(back) {
      messages = [...back, ...messages.slice(head)];
      head = 0;
    },
    peek: () => messages[head],
    shift() {
      const message = messages[head];
      head += 1;
      if (head >= messages.length) {
        messages = EMPTY;
        head = 0;
      }
      return message;
    },
    size: () => messages.length - head,
    drain() {
      const rest = messages.slice(head);
      messages = EMPTY;
      head = 0;
      return rest;
    },
  };
}
