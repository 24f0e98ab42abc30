/** How long `edge admin drain --wait` waits: for what is owned, and for what one admin does for all. */
import test from 'ava';
import type { PeerAdmin } from '../../../cli/names/admins.ts';
import { drained } from '../../../cli/draining.ts';
import { hangAfter } from '../../support/busy.ts';
import { SOME_ID } from '../../support/api/fakes.ts';

type Told = Partial<Pick<PeerAdmin, 'cluster_count' | 'tasks'>>;

/** What becomes of a drain whose admin is seen so, one look after the other; the last goes on. */
async function waited(
  looks: readonly Told[],
  tasksMsMax?: number,
): Promise<{ readonly looks: number; readonly last: Told }> {
  let seen = 0;
  const next = (): PeerAdmin => {
    const told = looks[Math.min(seen, looks.length - 1)];
    seen += 1;
    return { id: SOME_ID, name: 'one', cluster_count: 0, node_count: 0, draining_since: 'now', ...told } as PeerAdmin;
  };
  const api = { get_peer_admin: { query: async () => Promise.resolve(next()) } };
  const { cluster_count, tasks } = await drained({ api, connection: {} } as never, next(), Infinity, tasksMsMax);
  return { looks: seen, last: { cluster_count, tasks } };
}

test('it is over once nothing is owned and the others do the tasks', async (t) => {
  t.timeout(hangAfter(10_000));
  const looks = [
    { cluster_count: 1, tasks: ['sweeps'] },
    { tasks: ['sweeps'] },
    { tasks: [] },
    { tasks: ['never seen'] },
  ];

  t.deepEqual(await waited(looks), { looks: 3, last: { cluster_count: 0, tasks: [] } });
});

test('an admin of a release that tells no tasks is waited for until it owns nothing', async (t) => {
  t.timeout(hangAfter(10_000));

  t.is((await waited([{ cluster_count: 1 }, {}])).looks, 2);
});

test('an admin of a release that keeps its tasks is not waited for for ever, unless it owns something', async (t) => {
  t.timeout(hangAfter(10_000));
  const keeps = { tasks: ['sweeps'] };

  t.deepEqual(await waited([{ ...keeps, cluster_count: 1 }, keeps], 0), {
    looks: 2,
    last: { cluster_count: 0, tasks: ['sweeps'] },
  });
});
