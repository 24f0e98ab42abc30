/** What cold writes come back with. */
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { Notice } from '../../actors/notice.ts';
import type { Refusal } from '../../actors/refusal.ts';

/** What a write adds to what its change already says. */
export interface Written {
  readonly notices: readonly Notice[];
  /** The events as the rows have them, when the rows knew more than the actor. */
  readonly events?: readonly DomainEvent[];
}

/** A guard that found no row. Thrown inside the transaction, so that nothing of it stays. */
export class GuardRefused extends Error {
  override readonly name = 'GuardRefused';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** A write whose change already says all there is. */
export const NOTHING_TO_TELL: Written = { notices: [] };
