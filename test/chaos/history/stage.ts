/** What a fault of a history works on. */
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import type { Fixture } from '../fixture.ts';
import type { Hand } from './actions.ts';

/** Whom a fault is done to, and how long it takes: a chance in [0, 1). */
export interface Stage {
  readonly fixture: Fixture;
  readonly admin: AdminProgram;
  /** Another admin, for what is between two. */
  readonly other: AdminProgram;
  readonly chance: number;
  /** Asks this admin and no other. */
  readonly hand: Hand;
  /** An admin came that was not there before. */
  readonly joined: (admin: AdminProgram) => void;
}
