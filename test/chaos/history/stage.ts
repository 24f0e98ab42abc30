/** What a fault of a history works on. */
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import type { Fixture } from '../fixture.ts';
import type { Hand } from './hand.ts';
import type { Recorder } from './recorder.ts';

/** Whom a fault is done to, and how long it takes: a chance in [0, 1). */
export interface Stage {
  readonly fixture: Fixture;
  readonly admin: AdminProgram;
  /** Another admin, for what is between two. */
  readonly other: AdminProgram;
  readonly chance: number;
  /** Asks this admin and no other. */
  readonly hand: Hand;
  readonly recorder: Recorder;
  /** An admin came that was not there before. */
  readonly joined: (admin: AdminProgram) => void;
}
