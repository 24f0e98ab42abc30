/** What an admin that joins is to be given by the others, and whether it was. */
import { setTimeout as delay } from 'node:timers/promises';
import { scaled } from '../../support/busy.ts';
import type { Stage } from './stage.ts';

/**
 * An admin that owns nothing while nothing else is done is given a cluster in this time, in ms. It counts as there
 * after a second, admins look each second, and give away what has not changed between two looks.
 */
const SHARE_MS_MAX = 15_000;

/** What was given something else waits for a home for so long, in ms. */
const HOME_MS_MAX = 5_000;

/** Between two looks, in ms. */
const LOOK_MS = 100;

/** What it owns: how many clusters, and how many clusters and homes others gave to it since it came. */
interface Share {
  readonly owned: number;
  readonly given: number;
  readonly homes: number;
}

const NOTHING: Share = { owned: 0, given: 0, homes: 0 };

/**
 * To be asked before it starts. `hasShare` resolves when it was given a home or something else for a while, or should
 * have been, which the history then knows. Meanwhile clients leave clusters alone, and those of clients are deleted:
 * they would be given first, and nothing is done in them.
 */
export async function beginVisit(stage: Stage, admin: string): Promise<{ hasShare(): Promise<void> }> {
  const { fixture, recorder, hand } = stage;
  const { land } = hand;
  const [last] = await fixture.fleet
    .sql<{ place: string }>('select coalesce(max(place), 0)::text as place from edge_history_owner')
    .catch(() => []);
  const look = async (): Promise<Share | undefined> => {
    const homes = land.homes.map(({ cluster }) => cluster);
    const rows = await fixture.fleet.sql<Share>(SHARE, [admin, last?.place ?? '0', homes]).catch(() => []);
    return rows[0];
  };
  return {
    async hasShare() {
      const fromMs = recorder.nowMs();
      let [calmMs, idleMs, servedMs, share] = [0, 0, 0, NOTHING];
      land.areClustersAtRest = true;
      try {
        await emptied(stage);
        while (share.homes === 0 && servedMs < HOME_MS_MAX && calmMs < scaled(SHARE_MS_MAX)) {
          await delay(LOOK_MS);
          share = (await look()) ?? share;
          if (share.given > 0) servedMs += LOOK_MS;
          if (!recorder.isCalmBut(admin)) continue;
          calmMs += LOOK_MS;
          if (share.owned === 0) idleMs += LOOK_MS;
        }
      } finally {
        land.areClustersAtRest = false;
      }
      const isDue = share.given === 0 && idleMs === calmMs;
      recorder.visits.push({ admin, fromMs, toMs: recorder.nowMs(), isGiven: share.given > 0, isDue });
    },
  };
}

const SHARE = `select (select count(*)::int from cluster_ownership w join admin a on a.id = w.admin_id where a.name = $1) as owned,
  count(*)::int as given, (count(*) filter (where cluster = any($3)))::int as homes
  from edge_history_owner where admin = $1 and is_given and place > $2::bigint`;

/** No cluster is there but homes, as far as somebody does it. */
async function emptied({ hand }: Stage): Promise<void> {
  for (const { of, cluster } of hand.land.names.cluster.all())
    await hand.ask({ verb: 'delete', ...of, id: null }, cluster, { again: true });
}
