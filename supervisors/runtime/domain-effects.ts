/** Effects that belong to one domain: performed by what supervisors/effects.ts makes of its port. */
import type { Address, Message } from '../../actors/messages.ts';
import type { DomainEffect } from '../../actors/step.ts';

/** The actor that an effect is performed for. */
export interface Requester {
  readonly self: Address;
  /** Whether it ended. */
  readonly isOver: boolean;
  /** What it asked for and waits for, as nobody else will tell it. Nothing once it ended: its successor asks itself. */
  report(message: Message): void;
  /**
   * The same, and once more to its successor: what came of a message that somebody else waits for. Both are told again
   * while its mailbox is full.
   */
  tell(message: Message): void;
  /**
   * The rows, however long the database is away. Null when reading fails for another reason, which is a bug and logged.
   */
  untilLoaded<T>(load: () => Promise<T>): Promise<T | null>;
}

/** How some effects are performed. Each returns at once; what comes of it later comes back as a message. */
export type Performers<E extends DomainEffect = DomainEffect> = {
  readonly [Type in E['type']]: (effect: Extract<E, { readonly type: Type }>, actor: Requester) => unknown;
};
