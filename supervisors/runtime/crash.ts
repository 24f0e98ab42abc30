/** Why an actor crashed, for whoever logs it and starts another. */
import { TransitionFailed, type KitMessage } from './batch.ts';

/** Why an actor ended without being asked to. */
export interface Crash {
  readonly cause: unknown;
  /** The type of the message that did it; its content is never logged, it may hold secrets. */
  readonly messageType: string | null;
}

/**
 * The database took a change for wrong: a bug. The message is out of the mailbox, so that it crashes its actor once.
 */
export class NotStorable extends Error {
  override readonly name = 'NotStorable';
  readonly messageType: string | null;
  constructor(messageType: string | null, cause: unknown) {
    super('a change cannot be stored', { cause });
    this.messageType = messageType;
  }
}

/** What is told of an error that ended an actor. */
export function crashOf(error: unknown): Crash {
  if (error instanceof NotStorable) return { cause: error.cause, messageType: error.messageType };
  if (error instanceof TransitionFailed) return { cause: error.cause, messageType: (error.poison as KitMessage).type };
  return { cause: error, messageType: null };
}
