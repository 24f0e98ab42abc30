/** Whom a targeting would reach: how many are named. */
import test from 'ava';
import { PREVIEWED_NODES_DEFAULT, PREVIEWED_NODES_MAX } from '../../../actors/resources/group.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Target } from '../../../actors/targeting-schema.ts';
import { serveApi } from '../../support/api/fakes.ts';
import { node } from '../../support/console/nodes-shown.ts';

const REACHED = 240;

const nodes = Array.from({ length: REACHED }, (_, index) =>
  node(`web-${index}`, { id: `0193a1c2-0000-7000-8000-${String(index).padStart(12, '0')}` }),
);

test('a preview names 100 nodes, and as many as somebody wants to see, up to its limit', async (t) => {
  const { request } = await serveApi(t, {
    reads: {
      targets: async () =>
        nodes.map(({ id, cluster_name: clusterName }) => ({ node: id, cluster: 'c', clusterName }) as Target),
      list: (async (_list: string, { filters, pageSize }: { filters: { value: unknown }[]; pageSize: number }) => {
        const ids = filters[0]?.value as readonly string[];
        const rows: readonly NodeResource[] = nodes.filter(({ id }) => ids.includes(id)).slice(0, pageSize);
        return { rows, totalCount: rows.length };
      }) as never,
    },
  });
  const named = async (more: object) => {
    const { status, body } = await request('POST', '/api/v1/targeting/preview', {
      body: { targeting: { type: 'all' }, ...more },
    });
    return [status, (body?.data?.['nodes'] as readonly unknown[] | undefined)?.length, body?.data?.['node_count']];
  };

  t.deepEqual(await named({}), [200, PREVIEWED_NODES_DEFAULT, REACHED]);
  t.deepEqual(await named({ max_nodes: 3 }), [200, 3, REACHED]);
  t.deepEqual(await named({ max_nodes: PREVIEWED_NODES_MAX }), [200, REACHED, REACHED]);
  t.is((await named({ max_nodes: PREVIEWED_NODES_MAX + 1 }))[0], 422);
  t.is((await named({ max_nodes: 0 }))[0], 422);
});
