/** Paths between members, of all and of one: what agents say is bounded, and only members of the cluster are named. */
import test from 'ava';
import type { Filter } from '../../../actors/filters.ts';
import { ok, refuse } from '../../../actors/refusal.ts';
import { catalogue } from '../../../api/catalogue.ts';
import type { OperationPorts } from '../../../api/ports.ts';
import type { Call } from '../../../api/operation.ts';
import { NodeId } from '../../../transport/protocol/ids.ts';
import { VPN_PEERS_MAX } from '../../../transport/protocol/vpn.ts';

const [A, B, C] = ['a', 'b', 'c'].map((letter) => `0193a1c2-7f3a-7000-8000-00000000000${letter}`) as [
  string,
  string,
  string,
];
const STRANGER = '0193a1c2-7f3a-7000-8000-0000000000ff';
const NOW_MS = 1_000_000_000;

const labels = (key: string, name: string) => `interface="edge0",public_key="${key}",friendly_name="${name}"`;

/** What an agent serves, of peers by their names, each with its path; handshakes 5 s ago. */
function exposition(peers: Readonly<Record<string, string>>): Uint8Array {
  const lines = Object.entries(peers).flatMap(([name, path], index) => [
    `wireguard_latest_handshake_seconds{${labels(`k${index}`, name)}} ${path === 'none' ? 0 : NOW_MS / 1_000 - 5}`,
    `wireguard_peer_path{${labels(`k${index}`, name)},path="${path}"} 1`,
  ]);
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** So many others, as an agent that makes things up may say. */
function manyPeers(count: number): Readonly<Record<string, string>> {
  const idOf = (index: number): string => `0193a1c2-7f3a-7000-9000-${String(index).padStart(12, '0')}`;
  return Object.fromEntries(Array.from({ length: count }, (_none, index) => [idOf(index), 'direct']));
}

test('members tell their paths; those that are away or strangers are not asked or named', async (t) => {
  const asked: string[] = [];
  const row = (id: string, status = 'healthy') => ({ id, name: `node ${id.slice(-1)}`, status });
  const ports = {
    clock: { nowMs: () => NOW_MS },
    reads: {
      clusterId: async (name: string) => (name === 'prod' ? A : null),
      list: async () => ({ rows: [row(A), row(B), row(C, 'unreachable')], totalCount: 3 }),
    },
    nodeMetrics: {
      raw: async (id: string) => {
        asked.push(id);
        return id === A
          ? ok({
              text: exposition({
                [B]: 'direct',
                [C]: 'none',
                [STRANGER]: 'relayed',
                gateway: 'relayed',
                '10.0.0.1': 'direct',
              }),
              gzip: null,
            })
          : refuse('service_unavailable', 'The agent does not answer.');
      },
    },
  } as unknown as OperationPorts;
  const call = { ports } as unknown as Call;

  const answer = await catalogue.get_cluster_paths.handle({ name: 'prod' }, call);

  t.deepEqual(asked, [A, B]);
  const none = { direct: 0, relayed: 0, none: 0 };
  t.deepEqual(answer, {
    ok: true,
    value: {
      cluster_name: 'prod',
      member_count: 3,
      members: [
        {
          node_id: A,
          name: 'node a',
          status: 'healthy',
          problem: null,
          paths: [
            { node_id: B, path: 'direct', handshake_age_seconds: 5 },
            { node_id: C, path: 'none', handshake_age_seconds: null },
            { node_id: null, path: 'relayed', handshake_age_seconds: 5 },
          ],
          counts: { direct: 1, relayed: 2, none: 1 },
        },
        {
          node_id: B,
          name: 'node b',
          status: 'healthy',
          problem: 'The agent does not answer.',
          paths: [],
          counts: none,
        },
        { node_id: C, name: 'node c', status: 'unreachable', problem: 'The node is away.', paths: [], counts: none },
      ],
    },
  });
  t.like(await catalogue.get_cluster_paths.handle({ name: 'other' }, call), { ok: false });
});

test('one node tells its paths: members of its cluster by name, each once, behind the gateway', async (t) => {
  const row = (id: string, name: string, status = 'healthy') => ({ id, name, status, cluster_name: 'prod' });
  const nodes: Readonly<Record<string, unknown>> = {
    [A]: row(A, 'a'),
    [B]: row(B, 'zed'),
    [C]: row(C, 'cee', 'unreachable'),
  };
  const looked: (readonly Filter[])[] = [];
  let said = ok({
    text: exposition({ [B]: 'direct', [STRANGER]: 'direct', [A]: 'direct', [C]: 'none', gateway: 'relayed' }),
    gzip: null,
  });
  const ports = {
    clock: { nowMs: () => NOW_MS },
    reads: {
      get: async (_name: string, id: string) => nodes[id] ?? null,
      nodesAfter: async (filters: readonly Filter[]) => {
        looked.push(filters);
        return { rows: [nodes[B], nodes[C]], next: null };
      },
    },
    nodeMetrics: { raw: async () => said },
  } as unknown as OperationPorts;
  const paths = async (id: string) =>
    catalogue.get_node_paths.handle({ id: NodeId.parse(id) }, { ports } as unknown as Call);

  t.deepEqual(await paths(A), {
    ok: true,
    value: {
      node_id: A,
      cluster_name: 'prod',
      problem: null,
      paths: [
        { node_id: null, path: 'relayed', handshake_age_seconds: 5, name: null, status: null },
        { node_id: C, path: 'none', handshake_age_seconds: null, name: 'cee', status: 'unreachable' },
        { node_id: B, path: 'direct', handshake_age_seconds: 5, name: 'zed', status: 'healthy' },
      ],
    },
  });
  t.deepEqual(looked, [
    [
      { field: 'cluster_name', op: 'eq', value: 'prod' },
      { field: 'node_id', op: 'in', value: [B, STRANGER, C] },
    ],
  ]);

  said = ok({ text: exposition({ gateway: 'direct', ...manyPeers(VPN_PEERS_MAX + 1) }), gzip: null });
  await paths(A);
  t.is((looked[1]?.[1]?.value as readonly string[] | undefined)?.length, VPN_PEERS_MAX - 1, 'as many as a VPN has');

  said = ok({ text: exposition({}), gzip: null });
  t.like(await paths(A), { value: { problem: null, paths: [] } }, 'it is in no VPN');
  said = refuse('service_unavailable', 'The agent does not answer.') as never;
  t.like(await paths(A), { value: { problem: 'The agent does not answer.', paths: [] } });
  t.like(await paths(C), { value: { problem: 'The node is away.', paths: [] } });
  t.is(looked.length, 2, 'where nobody is named nobody is looked for');
  t.like(await paths(STRANGER), { ok: false, refusal: { code: 'not_found' } });
});
