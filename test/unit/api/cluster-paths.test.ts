/** Paths between members: what agents say is bounded, and only members of the answer are named. */
import test from 'ava';
import { ok, refuse } from '../../../actors/refusal.ts';
import { catalogue } from '../../../api/catalogue.ts';
import type { OperationPorts } from '../../../api/ports.ts';
import type { Call } from '../../../api/operation.ts';

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
          ? ok([
              exposition({
                [B]: 'direct',
                [C]: 'none',
                [STRANGER]: 'relayed',
                gateway: 'relayed',
                '10.0.0.1': 'direct',
              }),
            ])
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
