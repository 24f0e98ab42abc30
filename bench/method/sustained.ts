/**
 * A closed loop of independent operations: a fixed number in flight, each on a random node, for a fixed time. Used by
 * both sides.
 */

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
  const loop = async (): Promise<void> => {
    for (let now = performance.now(); now < until; now = performance.now()) {
      await one(Math.floor(Math.random() * nodes));
      last = performance.now();
      if (last >= countFrom) latencies.push(last - now);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return {
    operations: latencies.length,
    seconds: (last - countFrom) / 1_000,
    latenciesMs: Float64Array.from(latencies),
  };
}
