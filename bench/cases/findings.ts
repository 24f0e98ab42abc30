/** Samples of two sides as findings: medians, tails, readings, and the ratio against the floor. */
import type { Interleaved, Sample } from '../method/interleave.ts';
import type { Finding } from '../method/report.ts';
import { quantile, summarise } from '../method/statistics.ts';

/** A limit that the product's side is held against. */
export type Target = (product: { readonly ratio: number | null; readonly series: readonly number[] }) => boolean;

/**
 * One finding a side. `ratio` is the floor's median over this side's, `cpu_ratio` the same of processor time, which
 * neighbours disturb less. `base` is the side that stands for the floor.
 */
export function compare(
  name: string,
  fields: Readonly<Record<string, number | string>>,
  result: Interleaved,
  target?: Target,
  base = 'floor',
): Finding[] {
  const floor = result.samples.get(base) ?? [];
  const floorMedian =
    floor.length > 0
      ? quantile(
          floor.map(({ seconds }) => seconds),
          0.5,
        )
      : null;
  return [...result.samples]
    .filter(([, samples]) => samples.length > 0)
    .map(([side, samples]) => {
      const series = samples.map(({ seconds }) => seconds);
      const { best, median, p95, p99 } = summarise(series);
      const ratio = floorMedian === null || side === base ? null : floorMedian / median;
      return {
        case: name,
        side,
        ...fields,
        seconds: median,
        best,
        p95,
        p99,
        ratio,
        ...medians(samples),
        ...(side === base ? {} : cpuRatio(floor, samples)),
        idle_before: result.calmBefore.idlePercent,
        steal: result.during.stealPercent,
        verdict:
          side === base || target === undefined ? 'none' : verdict(result.calmBefore.quiet, target({ ratio, series })),
      };
    });
}

/** A noisy machine is never judged. */
export function verdict(quiet: boolean, met: boolean): Finding['verdict'] {
  if (!quiet) return 'noisy';
  return met ? 'met' : 'missed';
}

function cpuRatio(floor: readonly Sample[], samples: readonly Sample[]): Record<string, number> {
  const [bare, ours] = [medians(floor)['cpu_ms'], medians(samples)['cpu_ms']];
  return bare === undefined || ours === undefined ? {} : { cpu_ratio: bare / ours };
}

function medians(samples: readonly Sample[]): Record<string, number> {
  const names = Object.keys(samples[0]?.readings ?? {});
  return Object.fromEntries(
    names.map((name) => [
      name,
      quantile(
        samples.map(({ readings }) => readings[name] ?? Number.NaN),
        0.5,
      ),
    ]),
  );
}
