/** What the agent says about itself: one entry a service, healthy or with the reason why not. */
import { statfsSync } from 'node:fs';
import type { HealthReport } from '../../transport/protocol/agent-description.ts';

/** Free bytes of the data directory's disk below which it counts as full: one output at its largest. */
export const DISK_FREE_BYTES_MIN = 16_777_216;

/** A part of the agent that knows whether it works: null, or one sentence. */
export interface Service {
  readonly name: string;
  readonly problem: () => string | null;
  /** What works otherwise than one would expect, in one sentence, while nothing is wrong. */
  readonly note?: () => string | null;
}

/** Asks the services now. */
export function healthReport(services: readonly Service[]): HealthReport {
  return {
    services: services.map(({ name, problem, note }) => {
      const found = problem();
      const detail = found ?? note?.() ?? null;
      return { name, healthy: found === null, detail: detail === null ? null : detail.slice(0, 512) };
    }),
  };
}

/** Room on the disk of `directory`. */
export function diskService(directory: string): Service {
  return {
    name: 'disk',
    problem() {
      try {
        const { bavail, bsize } = statfsSync(directory);
        const freeBytes = bavail * bsize;
        return freeBytes >= DISK_FREE_BYTES_MIN
          ? null
          : `${Math.floor(freeBytes / 1_048_576)} MiB are free where the agent keeps its data`;
      } catch (error) {
        return `the data directory cannot be looked at: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`;
      }
    },
  };
}
