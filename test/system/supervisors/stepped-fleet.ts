/** Admins on one database that do a round when a test says so, for what they take for the silence of others. */
import type { Pool } from 'pg';
import { Leases } from '../../../persistence/ownership/leases.ts';
import { LOOKS_MISSED_MIN } from '../../../supervisors/ownership/watch-times.ts';
import type { Scope } from '../../support/scope.ts';
import type { SupervisorsFixture } from './actors-fixture.ts';
import { startSupervisors, type SupervisorsFixtureOptions } from './fixture.ts';
import { createFreezableClock } from './frozen.ts';

/** An admin that does a round when a test says so, and how far its lease clock is ahead. */
export interface SteppedAdmin {
  readonly admin: SupervisorsFixture;
  /** A round, and the pause after it. */
  round(): Promise<void>;
  still(): Promise<void>;
  thaw(): void;
}

/** Admins on one database, and how much time went by at all of them, in ms. */
export function steppedFleet(scope: Scope) {
  let aheadMs = 0;
  let jumpedMs = 0;
  class Jumping extends Leases {
    override async survey(unseenMs?: number) {
      const survey = await super.survey(unseenMs);
      return { ...survey, databaseMs: survey.databaseMs + jumpedMs };
    }
  }
  let first: SupervisorsFixture | null = null;
  const started: SteppedAdmin[] = [];

  async function moveRows(ms: number): Promise<void> {
    const earlier = `- ${ms} * interval '1 ms'`;
    await first?.rows(`update cluster_ownership set lease_until = lease_until ${earlier}`);
    await first?.rows(`update admin set last_checked_in = last_checked_in ${earlier}`);
  }

  return {
    async start(options: SupervisorsFixtureOptions = {}): Promise<SteppedAdmin> {
      const clock = createFreezableClock();
      const leaseClockMs = (): number => performance.now() + aheadMs;
      const connection = first === null ? {} : { connection: first.connection };
      const leases = (pool: Pool): Leases => new Jumping(pool);
      const admin = await startSupervisors(scope, { clock, leaseClockMs, leases, ...connection, ...options });
      first ??= admin;
      const round = async (): Promise<void> => {
        clock.thaw();
        await clock.still();
      };
      const stepped = { admin, round, still: () => clock.still(), thaw: () => clock.thaw() };
      started.push(stepped);
      return stepped;
    },
    /** All have seen all of the others' silence since, and stand still. */
    async settled(): Promise<void> {
      await Promise.all(started.map((one) => one.still()));
      for (let rounds = 0; rounds < LOOKS_MISSED_MIN; rounds += 1) await Promise.all(started.map((one) => one.round()));
    },
    /** So much time goes by in which nobody does anything. */
    async pass(ms: number): Promise<void> {
      aheadMs += ms;
      await moveRows(ms);
    },
    /** The clock of the database is set ahead: its time is later by so much than what it wrote. */
    async jump(ms: number): Promise<void> {
      jumpedMs += ms;
      await moveRows(ms);
    },
    /** An admin was killed so long ago that its leases ran out now. */
    async died({ admin: { adminId } }: SteppedAdmin): Promise<void> {
      await first?.rows('update cluster_ownership set lease_until = clock_timestamp() where admin_id = $1', [adminId]);
      await first?.rows("update admin set last_checked_in = clock_timestamp() - interval '3 s' where id = $1", [
        adminId,
      ]);
    },
    /** Who owns what under which epoch. */
    owners: async () =>
      await first?.rows('select cluster_id, admin_id, epoch from cluster_ownership order by cluster_id'),
  };
}
