/**
 * What is done to admins, their networks and the database of all, in an order that a seed decides: at most so many at a
 * time, no two of them to one admin.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { seededNumbers } from '../../support/seeded.ts';
import type { Fixture } from '../fixture.ts';
import type { Hand } from './hand.ts';
import { FAULTS, GUEST, type FaultKind, type FaultName } from './fault-kinds.ts';
import type { Recorder } from './recorder.ts';
import { DATABASE_NAME } from './rules.ts';
import type { Stage } from './stage.ts';

/** After it is done, what it was done to may be slow for so long, in ms. */
const AFTERMATH_MS = 2_000;

/** Faults in a row that had nothing to do, at most: then there is no use in going on. */
export const VAIN_MAX = 40;

/** Wait before it is looked again for an admin to which nothing is done, in ms. */
const LOOK_MS = 50;

/** How faults follow each other. */
export interface FaultPlan {
  readonly kinds: readonly FaultName[];
  readonly seed: number;
  /** So many at a time. */
  readonly atOnce: number;
  /** Time in which nothing more is done, between two of them, in ms. */
  readonly calmMs: number;
  /** How many in all, unless it is over before. */
  readonly count: number;
  readonly isOver: () => boolean;
  /** Told how many are done, after each that did something. */
  readonly told: (done: number) => void;
  /** Told what had nothing to do, and why: it does not count. */
  readonly tellVain: (line: string) => void;
}

/** What faults work on. `joined`: an admin came that was not there before. */
export interface FaultGround {
  readonly fixture: Fixture;
  readonly recorder: Recorder;
  readonly joined: (admin: AdminProgram) => void;
  /** Asks this admin and no other. */
  readonly handAt: (admin: AdminProgram) => Hand;
}

/**
 * Does them until it is over, each kind as often as the others; resolves with how many of each. One that had nothing to
 * do does not count: the next one takes its place. Rejects after VAIN_MAX of those in a row.
 */
export async function doFaults(ground: FaultGround, plan: FaultPlan): Promise<ReadonlyMap<FaultName, number>> {
  if (plan.kinds.length === 0) return new Map();
  const faults = new Faults(ground, plan);
  await Promise.all(Array.from({ length: plan.atOnce }, () => faults.work()));
  return faults.done;
}

class Faults {
  readonly done = new Map<FaultName, number>();
  readonly #ground: FaultGround;
  readonly #plan: FaultPlan;
  readonly #number: () => number;
  /** To whom something is done now. */
  readonly #busy = new Set<string>();
  #left: FaultName[] = [];
  #begun = 0;
  #ended = 0;
  #vainInARow = 0;

  constructor(ground: FaultGround, plan: FaultPlan) {
    this.#ground = ground;
    this.#plan = plan;
    this.#number = seededNumbers(plan.seed);
  }

  /** One after another. */
  async work(): Promise<void> {
    const { calmMs, count, isOver, told } = this.#plan;
    for (;;) {
      await delay(calmMs);
      if (isOver() || this.#begun >= count) return;
      this.#begun += 1;
      const name = this.#next();
      const vain = await this.#do(name);
      if (vain !== null) {
        this.#begun -= 1;
        this.#isVain(vain);
        continue;
      }
      this.#vainInARow = 0;
      this.done.set(name, (this.done.get(name) ?? 0) + 1);
      this.#ended += 1;
      told(this.#ended);
    }
  }

  #isVain(vain: string): void {
    this.#plan.tellVain(vain);
    this.#vainInARow += 1;
    if (this.#vainInARow >= VAIN_MAX)
      throw new Error(`${VAIN_MAX} faults in a row had nothing to do, the last one: ${vain}`);
  }

  /** Each kind once, in an order of its own, before any comes again. */
  #next(): FaultName {
    if (this.#left.length === 0) this.#left = [...this.#plan.kinds];
    return this.#left.splice(this.#number() % this.#left.length, 1)[0] as FaultName;
  }

  /** Null: it was done; otherwise what had nothing to do, and why. */
  async #do(name: FaultName): Promise<string | null> {
    const { act, of, holdsFrames = false, holdsRows = false } = FAULTS[name];
    const { whom, stage } = await this.#cast(of);
    this.#busy.add(whom);
    try {
      const what = of === 'link' ? `${stage.admin.name} and ${stage.other.name}` : whom;
      const fault = { name, what, holdsFrames, holdsRows, aftermathMs: AFTERMATH_MS };
      const vain = await this.#ground.recorder.fault(fault, () => act(stage));
      return vain === null ? null : `${name} of ${what}: ${vain}`;
    } finally {
      this.#busy.delete(whom);
    }
  }

  /** Draws all that it needs at once, so that it is the same for the same seed. */
  async #cast(of: FaultKind['of']): Promise<{ readonly whom: string; readonly stage: Stage }> {
    const { fixture, recorder, joined, handAt } = this.#ground;
    const [first, second, chance] = [this.#number(), this.#number(), this.#number() / 2 ** 32];
    const { admins } = fixture.fleet;
    for (;;) {
      const free = admins.filter(({ name, program }) => !this.#busy.has(name) && program.exit === null);
      const admin = free[first % Math.max(1, free.length)];
      const whom = of === 'admin' || of === 'link' ? admin?.name : NAMES[of];
      if (whom !== undefined && !this.#busy.has(whom)) {
        const one = admin ?? fixture.fleet.admin();
        const others = admins.filter((other) => other !== one && other.program.exit === null);
        const other = others[second % Math.max(1, others.length)] ?? one;
        return { whom, stage: { fixture, admin: one, other, chance, recorder, joined, hand: handAt(one) } };
      }
      await delay(LOOK_MS);
    }
  }
}

/** As histories call what is no admin of its own choice. */
const NAMES = { guest: GUEST, database: DATABASE_NAME, clocks: 'the clocks' } as const;
