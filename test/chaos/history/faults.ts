/** What is done to admins and to the database of all, one thing after another, in an order that a seed decides. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { seededNumbers } from '../../support/seeded.ts';
import type { Fixture } from '../fixture.ts';
import type { Recorder } from './recorder.ts';
import { DATABASE_NAME } from './rules.ts';

/** Time in which nothing is wrong, between two faults, in ms. */
const CALM_MS = 4_000;

/** An admin that was killed is away for as long as this and up to twice as long, in ms: about a lease. */
const AWAY_MS = 1_500;

/** A frozen admin loses its clusters: longer than a lease, in ms. */
const FROZEN_MS = 5_000;

/** The database stands still for as long as this, and up to twice as long, in ms. */
const STANDSTILL_MS = 1_000;

/** After it is done, what it was done to may be slow for so long, in ms. */
const AFTERMATH_MS = 2_000;

/** One kind of fault. */
export type FaultName = keyof typeof FAULTS;

interface Stage {
  readonly fixture: Fixture;
  readonly admin: AdminProgram;
  readonly chance: number;
}

const FAULTS = {
  kill: async ({ fixture, admin, chance }: Stage) => {
    await fixture.killAdmin(admin);
    await delay(AWAY_MS * (1 + chance));
    await admin.start();
  },
  freeze: async ({ fixture, admin }: Stage) => {
    fixture.freezes += 1;
    admin.program.pause();
    await delay(FROZEN_MS);
    admin.program.resume();
  },
  terminate: async ({ admin }: Stage) => {
    admin.program.terminate();
    await admin.program.ended();
    await admin.start();
  },
  'database standstill': async ({ fixture, chance }: Stage) => {
    const thaw = await fixture.pausePostgres();
    await delay(STANDSTILL_MS * (1 + chance));
    thaw();
  },
  'database kill': ({ fixture }: Stage) => fixture.killPostgres(),
} as const;

/** All kinds. */
export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

/** Does them until it is told to stop, each kind as often as the others; resolves with how many of each. */
export async function doFaults(
  { fixture, recorder }: { readonly fixture: Fixture; readonly recorder: Recorder },
  {
    kinds,
    seed,
    isOver,
  }: { readonly kinds: readonly FaultName[]; readonly seed: number; readonly isOver: () => boolean },
): Promise<ReadonlyMap<FaultName, number>> {
  const number = seededNumbers(seed);
  const done = new Map<FaultName, number>();
  for (let round = 0; kinds.length > 0; round += 1) {
    await delay(CALM_MS);
    if (isOver()) break;
    const kind = kinds[round % kinds.length] as FaultName;
    const { admins } = fixture.fleet;
    const admin = admins[number() % admins.length] as AdminProgram;
    const isOfDatabase = kind.startsWith('database');
    await recorder.fault(isOfDatabase ? DATABASE_NAME : admin.name, async () => {
      await FAULTS[kind]({ fixture, admin, chance: number() / 2 ** 32 });
      await delay(AFTERMATH_MS);
    });
    done.set(kind, (done.get(kind) ?? 0) + 1);
  }
  return done;
}
