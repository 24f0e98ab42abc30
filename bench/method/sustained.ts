/**
 * A closed loop of independent operations: a fixed number in flight, each on a random node, for a fixed time. Used by
 * both sides.
 */

import { setTimeout as delay } from 'node:timers/promises';

/**
 * What is still under way this long after the load is over is given up, in ms: an operation that never ends must not
 * keep a run from telling of the others.
 */
const LAST_MS_MAX = 20_000;

/** How much load, for how long. */
export interface SustainedLoad {
  readonly seconds: number;
  /** Operations under way at any time. */
  readonly inFlight: number;
  /** Nodes to choose from. */
  readonly nodes: number;
}

/** Latencies in ms, from the start of an operation to its end. */
export interface SustainedResult {
  readonly operations: number;
  readonly seconds: number;
  readonly latenciesMs: Float64Array;
  /** Those that were given up. They count with the time that they had by then. */
  readonly unended: number;
}

/** Runs the load; the first tenth of the time warms up and is not counted. */
export async function sustain(
  { seconds, inFlight, nodes }: SustainedLoad,
  one: (node: number) => Promise<void>,
): Promise<SustainedResult> {
  const began = performance.now();
  const countFrom = began + seconds * 100;
  const until = countFrom + seconds * 1_000;
  const latencies: number[] = [];
  let last = countFrom;
  const underWay = new Map<number, number>();
  const loop = async (_none: unknown, index: number): Promise<void> => {
    for (let now = performance.now(); now < until; now = performance.now()) {
      underWay.set(index, now);
      await one(Math.floor(Math.random() * nodes));
      underWay.delete(index);
      last = performance.now();
      if (last >= countFrom) latencies.push(last - now);
    }
  };
  await Promise.race([
    Promise.all(Array.from({ length: inFlight }, loop)),
    delay(until - began + LAST_MS_MAX, undefined, { ref: false }),
  ]);
  const unended = underWay.size;
  for (const fromMs of underWay.values()) latencies.push(performance.now() - fromMs);
  return {
    unended,
    operations: latencies.length,
    seconds: (last - countFrom) / 1_000,
    latenciesMs: Float64Array.from(latencies),
  };
}
