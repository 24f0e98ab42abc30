/**
 * The last minutes of this process: how late its event loop was and how much memory it had. Taken only while the
 * dashboard is on.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Time between two samples, in ms, and how many are kept: ten minutes. */
export const SAMPLE_MS = 5_000;
export const SAMPLES_MAX = 120;

/** How finely the lateness of the loop is measured, in ms. */
const RESOLUTION_MS = 10;

const NS_PER_MS = 1e6;

/** One sample; of the loop, what was between it and the one before. */
export interface Sample {
  readonly atMs: number;
  readonly lagP50Ms: number;
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** Share of one core, 0 to 1 and above. */
  readonly cpu: number;
}

/** Samples as they are taken. */
export interface Sampling {
  /** Oldest first, at most SAMPLES_MAX. */
  samples(): readonly Sample[];
  stop(): void;
}

/** Starts to take samples. */
export function startSampling(): Sampling {
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  loop.enable();
  const samples: Sample[] = [];
  let since = performance.now();
  let usage = process.cpuUsage();
  const timer = setInterval(take, SAMPLE_MS).unref();

  function take(): void {
    const now = performance.now();
    const used = process.cpuUsage(usage);
    const { rss, heapUsed, external } = process.memoryUsage();
    samples.push({
      atMs: Date.now(),
      lagP50Ms: late(loop.percentile(50)),
      lagP99Ms: late(loop.percentile(99)),
      lagMaxMs: late(loop.max),
      residentBytes: rss,
      heapBytes: heapUsed,
      externalBytes: external,
      cpu: (used.user + used.system) / 1_000 / (now - since),
    });
    if (samples.length > SAMPLES_MAX) samples.shift();
    since = now;
    usage = process.cpuUsage();
    loop.reset();
  }

  return {
    samples: () => samples,
    stop() {
      clearInterval(timer);
      loop.disable();
    },
  };
}

/** The histogram measures whole waits: what is above its resolution was late. */
function late(ns: number): number {
  return Math.max(0, ns / NS_PER_MS - RESOLUTION_MS);
}
