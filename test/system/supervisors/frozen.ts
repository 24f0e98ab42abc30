/** An admin that was stopped and is awake again without knowing: everything goes but the ownership loop. */
import type { Clock } from '../../../actors/ports.ts';
import { ROUND_MS } from '../../../supervisors/ownership/loop.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { until } from '../../support/until.ts';

/** Time that stands still for one admin while it goes on for the others. */
export interface FreezableClock extends Clock {
  freeze(): void;
  /** Freezes it, and resolves when no round is under way any more. */
  still(): Promise<void>;
  /** What was due meanwhile happens now. */
  thaw(): void;
}

/** Goes at first. */
export function createFreezableClock(): FreezableClock {
  let isFrozen = false;
  let missed: (() => void)[] = [];
  return {
    nowMs: () => systemClock.nowMs(),
    after: (ms, run) =>
      systemClock.after(ms, () => {
        if (isFrozen && ms === ROUND_MS) missed.push(run);
        else run();
      }),
    freeze() {
      isFrozen = true;
    },
    async still() {
      isFrozen = true;
      await until('the round that does not begin', () => missed.length > 0);
    },
    thaw() {
      isFrozen = false;
      const runs = missed;
      missed = [];
      for (const run of runs) run();
    },
  };
}
