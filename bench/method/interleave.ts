/** Runs the sides of a case in turns (A B A B …), so that a change of the machine's mood meets them alike. */
import { awaitCalm, readCpuTimes, spareBetween, type Calm, type Spare } from './machine.ts';

/** One run of one side: how long it took, and what else was read. */
export interface Sample {
  readonly seconds: number;
  /** Further readings in their own units, such as `cpu_ms_server`. */
  readonly readings: Readonly<Record<string, number>>;
}

/**
 * One contestant. `enter` and `leave` surround each of its runs and are not timed: there the others are put to sleep.
 */
export interface Side {
  readonly name: string;
  run(): Promise<Sample>;
  enter?(): Promise<void>;
  leave?(): Promise<void>;
}

/** All runs of all sides, and how the machine was. */
export interface Interleaved {
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  readonly calmBefore: Calm;
  readonly during: Spare;
}

/** `warmUps` rounds are run and thrown away, then `repeats` rounds count. */
export async function interleave(sides: readonly Side[], repeats: number, warmUps: number = 1): Promise<Interleaved> {
  const samples = new Map<string, Sample[]>(sides.map((side) => [side.name, []]));
  for (let round = 0; round < warmUps; round += 1) for (const side of sides) await take(side);

  const calmBefore = await awaitCalm();
  const before = readCpuTimes();
  for (let round = 0; round < repeats; round += 1) {
    for (const side of sides) samples.get(side.name)?.push(await take(side));
  }
  return { samples, calmBefore, during: spareBetween(before, readCpuTimes()) };
}

async function take(side: Side): Promise<Sample> {
  await side.enter?.();
  try {
    return await side.run();
  } finally {
    await side.leave?.();
  }
}
