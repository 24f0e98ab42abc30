/** How the members of a cluster reach each other in its VPN: asked of their agents, which alone know it. */
import { z } from 'zod';
import {
  ClusterPathsResource,
  PATH_MEMBERS_MAX,
  type MemberPath,
  type PathMember,
} from '../../actors/resources/cluster-paths.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { samplesInTurns, type Sample, type Samples } from '../../transport/net/exposition/samples.ts';
import { ClusterName } from '../../transport/protocol/cluster-names.ts';
import { NodeId } from '../../transport/protocol/ids.ts';
import { VPN_PATHS, type VpnPath } from '../../transport/protocol/vpn.ts';
import { operation } from '../operation.ts';
import type { NodeMetrics } from '../ports.ts';
import { NOT_FOUND } from '../reading.ts';

/** Members that are asked at once. */
const ASKED_AT_ONCE_MAX = 8;

/** All of them together, in ms: who did not answer by then is not known. */
const PATHS_MS_MAX = 10_000;

/** What agents call themselves so. Source: agent/observability/metrics/wireguard.ts. */
const PATHS = 'wireguard_peer_path';
const HANDSHAKES = 'wireguard_latest_handshake_seconds';
const GATEWAY = 'gateway';

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
      pathsOf(node, known, { nodeMetrics, signal, nowMs: clock.nowMs() }),
    );
    return ok({ cluster_name: name, member_count: totalCount, members });
  },
});

interface Asking {
  readonly nodeMetrics: NodeMetrics;
  readonly signal: AbortSignal;
  /** Unix ms. */
  readonly nowMs: number;
}

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

async function pathsOf(node: NodeResource, known: ReadonlySet<string>, asking: Asking): Promise<PathMember> {
  const { id, name, status } = node;
  const read = await readingOf(node, asking);
  if (!read.ok)
    return {
      node_id: id,
      name,
      status,
      problem: read.refusal.message,
      paths: [],
      counts: { direct: 0, relayed: 0, none: 0 },
    };
  const all = pathsIn(read.value, asking.nowMs);
  const count = (path: VpnPath): number => all.filter((one) => one.path === path).length;
  return {
    node_id: id,
    name,
    status,
    problem: null,
    // what an agent makes up leads nowhere: only members that are here, and each once
    paths: [
      ...new Map(
        all.filter(({ node_id: to }) => to === null || known.has(to)).map((one) => [one.node_id, one]),
      ).values(),
    ],
    counts: { direct: count('direct'), relayed: count('relayed'), none: count('none') },
  };
}

async function readingOf({ id, status }: NodeResource, { nodeMetrics, signal }: Asking): Promise<Result<Samples>> {
  if (status === 'unreachable') return refuse('service_unavailable', 'The node is away.');
  if (signal.aborted) return refuse('service_unavailable', 'There was no time left to ask it.');
  const scraped = await nodeMetrics.raw(NodeId.parse(id), 'wireguard', signal);
  if (!scraped.ok) return scraped;
  const text = Buffer.concat(scraped.value).toString('utf8');
  return ok(await samplesInTurns(text, new Set([PATHS, HANDSHAKES])));
}

function pathsIn(samples: Samples, nowMs: number): readonly MemberPath[] {
  const handshakes = new Map(
    samples.get(HANDSHAKES)?.map(({ labels, value }) => [labels.get('public_key'), value]) ?? [],
  );
  return (samples.get(PATHS) ?? []).flatMap((sample): MemberPath[] => {
    const to = peerOf(sample);
    const path = VPN_PATHS.find((one) => one === sample.labels.get('path'));
    const atSeconds = handshakes.get(sample.labels.get('public_key')) ?? 0;
    if (to === undefined || path === undefined) return [];
    return [
      {
        node_id: to,
        path,
        // by the clock of the machine: what lies ahead of ours is now
        handshake_age_seconds: atSeconds > 0 ? Math.max(0, Math.round(nowMs / 1_000 - atSeconds)) : null,
      },
    ];
  });
}

/** The peer that a sample is of; null: the gateway; undefined: nobody. */
function peerOf({ labels }: Sample): string | null | undefined {
  const named = labels.get('friendly_name') ?? '';
  if (named === GATEWAY) return null;
  const id = NodeId.safeParse(named);
  return id.success ? id.data : undefined;
}
