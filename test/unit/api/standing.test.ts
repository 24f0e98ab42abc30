/** What clients are told of a fleet that does not fit its admins, and what is refused for it. */
import test from 'ava';
import { WHOLE, type Standing } from '../../../actors/standing.ts';
import type { ClusterId } from '../../../transport/protocol/ids.ts';
import { serveApi } from '../../support/api/fakes.ts';

const LEFT = '01900000-0000-7000-8000-000000000001' as ClusterId;
const ORPHAN = { cluster: LEFT, name: 'left', nodes: 2 };

/** A group of one admin that owns nothing. */
const GROUP = {
  name: 'default',
  total_admins: 1,
  total_edge_capacity: 1,
  total_nodes: 2,
  topology: [],
  edge_clusters: {},
};

test('a cluster that fits nowhere degrades the group like more nodes than room, but only the latter refuses changes', async (t) => {
  const kinds: readonly Standing[] = [
    WHOLE,
    { kind: 'fragmented', orphans: [ORPHAN], roomMax: 1 },
    { kind: 'overfull', orphans: [ORPHAN], roomMax: 1 },
  ];
  const told: unknown[] = [];
  for (const standing of kinds) {
    const { request } = await serveApi(t, {
      ports: {
        standing: () => standing,
        adminTopology: {
          mine: async () => GROUP,
          adminClusters: async () => [],
          edgeClusters: async () => ({}),
          ownerless: async (clusters) => ({ asked: [...clusters] }),
        },
      },
    });
    const group = await request('GET', '/api/v1/admins/my_admin_cluster');
    const orphans = await request('GET', '/api/v1/admins/orphaned_clusters');
    const created = await request('POST', '/api/v1/clusters', { body: { name: 'one' } });
    told.push([
      (group.body?.data as { degraded?: boolean } | undefined)?.degraded,
      orphans.body?.data,
      created.body?.error?.code === 'degraded_mode',
    ]);
  }

  t.deepEqual(told, [
    [false, {}, false],
    [true, { asked: [LEFT] }, false],
    [true, { asked: [LEFT] }, true],
  ]);
});
