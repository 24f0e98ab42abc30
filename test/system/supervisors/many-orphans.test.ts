/** What a look for room costs: a process of its own, as processor time is measured. */
import test from 'ava';
import {
  ORPHANS_A_LOOK_MAX,
  ORPHANS_TURN_MS,
  planned,
  type PlacedAdmin,
} from '../../../supervisors/ownership/moves.ts';
import type { PlacedCluster } from '../../../supervisors/ownership/placement.ts';
import { cpuMsOf } from '../../support/cpu-time.ts';

/** Processor time of one look, in ms: an admin that took longer would be late with its leases. */
const LOOK_CPU_MS_MAX = 50;

const LINK = 9;
const ADMINS = 7;
const CLUSTERS_EACH = 300;
const ORPHANS = 300;

/** Admins whose clusters have these sizes in turn, each with so much room left, and orphans of ever other sizes. */
function crowded(sizes: readonly number[], rooms: readonly number[], orphanOf: (at: number) => number) {
  const owned = Array.from({ length: ADMINS * CLUSTERS_EACH }, (_, at): PlacedCluster => {
    const nodes = sizes[at % sizes.length] ?? 1;
    return { cluster: `c${at}`, name: `c${at}`, nodes, owner: `a${at % ADMINS}`, isBusy: false };
  });
  const admins = Array.from({ length: ADMINS }, (_, at): PlacedAdmin => {
    const nodes = owned.filter(({ owner }) => owner === `a${at}`).reduce((sum, one) => sum + one.nodes, 0);
    const capacity = nodes + (rooms[at % rooms.length] ?? 0);
    return { id: `a${at}`, capacity, aliveMs: 1e9, isHeard: true, isDraining: false, linkVersion: LINK };
  });
  const orphans = Array.from({ length: ORPHANS }, (_, at): PlacedCluster => {
    return { cluster: `o${at}`, name: `o${at}`, nodes: orphanOf(at), owner: null, isBusy: false };
  });
  return { admins, clusters: [...owned, ...orphans] };
}

const upTo = (max: number): readonly number[] => Array.from({ length: max }, (_, at) => 1 + ((at * 37) % max));

for (const [what, { admins, clusters }] of Object.entries({
  'hardly any room': crowded(upTo(130), [2], (at) => 20 + at),
  'room for most clusters': crowded(upTo(130), [60], (at) => 300 + at),
  'room at one admin only': crowded(upTo(300), [299, 1, 2], (at) => 700 + at),
  'more choices than are tried': crowded(
    upTo(300).map((size) => size + 300),
    [600, 600, 300, 300, 300, 300, 300], // two of them fit elsewhere, and never a third
    (at) => 1_600 + at,
  ),
}))
  test.serial(
    `${ADMINS} admins of ${CLUSTERS_EACH} clusters and ${what} place ${ORPHANS} orphans in ${LOOK_CPU_MS_MAX} ms of CPU time`,
    async (t) => {
      const tookMs = [];
      for (let turn = 0; turn < 5; turn += 1) {
        const later = admins.map((one) => ({ ...one, aliveMs: one.aliveMs + turn * ORPHANS_TURN_MS }));
        tookMs.push(await cpuMsOf(() => planned(later, clusters, LINK)));
      }

      t.log(tookMs.map((ms) => Math.round(ms)).join(', '));
      t.true(Math.min(...tookMs) < LOOK_CPU_MS_MAX, `${tookMs.join(', ')} ms`);
    },
  );

test('each orphan has its turn, also behind others that nothing helps', (t) => {
  // Only the smallest can be helped: what is moved for it has to be smaller.
  const admins = ['a', 'b'].map((id): PlacedAdmin => {
    return { id, capacity: 10, aliveMs: 0, isHeard: true, isDraining: false, linkVersion: LINK };
  });
  const cluster = (name: string, nodes: number, owner: string | null): PlacedCluster => {
    return { cluster: name, name, nodes, owner, isBusy: false };
  };
  const hopeless = Array.from({ length: 2 * ORPHANS_A_LOOK_MAX }, (_, at) => cluster(`o${at}`, 100 + at, null));
  const all = [cluster('x', 8, 'a'), cluster('y', 6, 'b'), cluster('z', 2, 'b'), ...hopeless, cluster('o', 4, null)];
  const at = (turn: number) =>
    planned(
      admins.map((one) => ({ ...one, aliveMs: turn * ORPHANS_TURN_MS })),
      all,
      LINK,
    );

  t.deepEqual([0, 1, 2, 3].map(at), [[], [], [{ cluster: 'z', from: 'b', to: 'a' }], []]);
});
