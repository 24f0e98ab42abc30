/**
 * What channels stand on, in memory: a clock that goes when a test says so, and a lease that another admin may take.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { ChannelPorts } from '../../../../supervisors/publishing/channel.ts';
import type { TaskLease } from '../../../../supervisors/tasks/held-task.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';

/** How long a lease holds here, in ms. As in the database. */
export const LEASE_MS = 3_000;

/** Time goes on in such steps, in ms; in between everything that can happen does. */
const STEP_MS = 10;

/** Lets everything happen that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await turn();
}

/** What the database says of a channel. */
export interface LeaseRow {
  holder: 'me' | 'another' | null;
  epoch: number;
  isAway: boolean;
  /** How long each call takes, in ms. */
  delayMs: number;
  readonly calls: string[];
}

/** A channel's surroundings, without its work. */
export function channelFixture() {
  const clock = createFakeClock();
  const log = recordingLog();
  /** Whether this admin takes tasks: it is not drained, or nobody else is there. */
  const standing = { takesTasks: true };
  const row: LeaseRow = { holder: null, epoch: 0, isAway: false, delayMs: 0, calls: [] };
  let leaseClockMs = 5_000;

  async function called(what: string): Promise<void> {
    row.calls.push(what);
    if (row.delayMs > 0)
      await new Promise<void>((resolve) => {
        clock.after(row.delayMs, resolve);
      });
    if (row.isAway) throw new DatabaseUnavailable('away');
  }

  const lease: TaskLease = {
    async claim() {
      await called('claim');
      if (row.holder === 'another') return null;
      row.holder = 'me';
      row.epoch += 1;
      return row.epoch;
    },
    async renew(epoch) {
      await called('renew');
      return row.holder === 'me' && row.epoch === epoch;
    },
    async release(epoch) {
      await called('release');
      if (row.epoch === epoch) row.holder = null;
    },
  };
  const ports: Omit<ChannelPorts, 'lost' | 'mayGiveWay' | 'name' | 'work'> = {
    lease,
    leaseMs: LEASE_MS,
    clock,
    leaseClockMs: () => leaseClockMs,
    takesTasks: () => standing.takesTasks,
    random: () => 1,
    log,
  };

  return {
    clock,
    log,
    row,
    standing,
    ports,
    /** Time goes by, a little at a time. */
    pass: async (ms: number): Promise<void> => {
      await settled();
      for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
        leaseClockMs += STEP_MS;
        clock.pass(STEP_MS);
        await settled();
      }
    },
    /** The process stands still, and no timer fires. */
    pause: (ms: number): void => {
      leaseClockMs += ms;
    },
  };
}
