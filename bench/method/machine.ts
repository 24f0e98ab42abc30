/** How busy the machine is, from /proc/stat: figures taken beside busy neighbours are marked, never judged. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Jiffies since boot, all cores together. */
export interface CpuTimes {
  readonly idle: number;
  readonly steal: number;
  readonly total: number;
}

/** What was left between two readings, in percent of all cores. */
export interface Spare {
  readonly idlePercent: number;
  readonly stealPercent: number;
}

/**
 * Least idle share before a case, in percent, for its figures to be judged. Source: the method in docs/performance.md.
 */
export const IDLE_PERCENT_MIN = 85;

/** How long a case waits for the machine to calm down, in ms. */
const QUIET_WAIT_MS_MAX = 60_000;

/** Length of one look at the machine, in ms. */
const LOOK_MS = 1_000;

/** The counters now. Iowait counts as idle: no core works meanwhile. */
export function readCpuTimes(): CpuTimes {
  const fields = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').trim().split(/\s+/u).slice(1, 9).map(Number);
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = fields;
  return { idle: idle + iowait, steal, total: user + nice + system + idle + iowait + irq + softirq + steal };
}

/** The share of idle and stolen time between two readings. */
export function spareBetween(before: CpuTimes, after: CpuTimes): Spare {
  const total = Math.max(1, after.total - before.total);
  const percent = (part: number) => Math.round((part / total) * 1_000) / 10;
  return { idlePercent: percent(after.idle - before.idle), stealPercent: percent(after.steal - before.steal) };
}

/** What a case found before it began. */
export interface Calm extends Spare {
  readonly quiet: boolean;
}

/** Waits until one look finds the machine idle enough; after `waitMsMax` goes on with `quiet: false`. */
export async function awaitCalm(waitMsMax: number = QUIET_WAIT_MS_MAX): Promise<Calm> {
  const until = Date.now() + waitMsMax;
  for (;;) {
    const before = readCpuTimes();
    await delay(LOOK_MS);
    const spare = spareBetween(before, readCpuTimes());
    const quiet = spare.idlePercent >= IDLE_PERCENT_MIN;
    if (quiet || Date.now() >= until) return { ...spare, quiet };
  }
}
