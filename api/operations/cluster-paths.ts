/** How the members of a cluster reach each other in its VPN: asked of their agents, which alone know it. */
import { z } from 'zod';
import { ClusterPathsResource, PATH_MEMBERS_MAX, type PathMember } from '../../actors/resources/cluster-paths.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { ClusterName } from '../../transport/protocol/cluster-names.ts';
import type { VpnPath } from '../../transport/protocol/vpn.ts';
import { pathsOf, type Asking } from '../member-paths.ts';
import { operation } from '../operation.ts';
import { NOT_FOUND } from '../reading.ts';

/** Members that are asked at once. */
const ASKED_AT_ONCE_MAX = 8;

/** All of them together, in ms: who did not answer by then is not known. */
const PATHS_MS_MAX = 10_000;

export const get_cluster_paths = operation({
  name: 'get_cluster_paths',
  kind: 'query',
  summary: `Show how members of a cluster's VPN reach each other (direct, relayed, none), asked of the first ${PATH_MEMBERS_MAX}.`,
  rest: { method: 'GET', path: '/clusters/:name/paths', status: 200 },
  hints: { destructive: false, idempotent: true, openWorld: true },
  input: z.strictObject({ name: ClusterName }),
  output: ClusterPathsResource,
  handle: async ({ name }, { ports: { reads, nodeMetrics, clock } }) => {
    if ((await reads.clusterId(name)) === null) return refuse('not_found', NOT_FOUND);
    const { rows, totalCount } = await reads.list('nodes', {
      filters: [{ field: 'cluster_name', op: 'eq', value: name }],
      sort: [{ field: 'inserted_at', descending: false }],
      page: 1,
      pageSize: PATH_MEMBERS_MAX,
    });
    const known = new Set(rows.map(({ id }) => id));
    const signal = AbortSignal.timeout(PATHS_MS_MAX);
    const members = await someAtOnce(rows, async (node) =>
      viewOf(node, known, { nodeMetrics, signal, nowMs: clock.nowMs() }),
    );
    return ok({ cluster_name: name, member_count: totalCount, members });
  },
});

/** In the order of `rows`. */
async function someAtOnce<Row, Answer>(rows: readonly Row[], ask: (row: Row) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  const left = [...rows.entries()];
  const next = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) answers[one[0]] = await ask(one[1]);
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE_MAX }, next));
  return answers;
}

async function viewOf(node: NodeResource, known: ReadonlySet<string>, asking: Asking): Promise<PathMember> {
  const { id, name, status } = node;
  const read = await pathsOf(node, asking);
  if (!read.ok)
    return {
      node_id: id,
      name,
      status,
      problem: read.refusal.message,
      paths: [],
      counts: { direct: 0, relayed: 0, none: 0 },
    };
  const count = (path: VpnPath): number => read.value.filter((one) => one.path === path).length;
  return {
    node_id: id,
    name,
    status,
    problem: null,
    // what an agent makes up leads nowhere: only members that are here
    paths: read.value.filter(({ node_id: to }) => to === null || known.has(to)),
    counts: { direct: count('direct'), relayed: count('relayed'), none: count('none') },
  };
}
