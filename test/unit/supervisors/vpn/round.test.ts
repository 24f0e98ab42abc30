/** What one round does of what differs, where not all of it can be done. */
import test from 'ava';
import type { UnfinishedMove, VpnRows } from '../../../../actors/vpn/rows.ts';
import {
  VpnRefused,
  VpnUnavailable,
  type VpnManager,
  type VpnName,
  type VpnSurvey,
} from '../../../../actors/vpn/vpn.ts';
import { noRefusals, Refusals, REFUSALS_MAX } from '../../../../supervisors/vpn/refusals.ts';
import { MOVES_MAX, reconcile, REPAIRS_MAX } from '../../../../supervisors/vpn/round.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { id } from '../../../support/actors.ts';

const ONE = { name: 'cluster-one', ipv4Range: '10.0.1.0/24', ipv6Range: 'fd00:1::/64' };
const TWO = { name: 'cluster-two', ipv4Range: '10.0.2.0/24', ipv6Range: 'fd00:2::/64' };
const OLD = ['cluster-old', 'cluster-older'];
const MANY = REPAIRS_MAX + 50;
const NODES = Array.from({ length: MANY }, (_, index) => id<NodeId>('b', index + 1));
const GONE = id<NodeId>('c', 1);

/**
 * Rounds over two networks with all nodes in the first, none of them a member yet, and `old` ones. `refuses`: what is
 * asked of the manager, as `what node`, is refused for as long as it says so.
 */
function roundsFixture({
  gone = [GONE],
  moves = [],
  refuses,
  members = [],
  old = [],
}: {
  readonly gone?: readonly NodeId[];
  readonly moves?: readonly UnfinishedMove[];
  readonly members?: VpnSurvey['members'];
  readonly old?: readonly string[];
  readonly refuses: (asked: string) => 'refused' | 'busy' | null;
}) {
  const asked: string[] = [];
  const done: string[] = [];
  const act = async (what: string): Promise<void> => {
    asked.push(what);
    const refusal = refuses(what);
    if (refusal === 'refused') throw new VpnRefused('no');
    if (refusal === 'busy') throw new VpnUnavailable('too busy');
    done.push(what);
  };
  let hosts = [...NODES, ...gone].map((node) => ({ id: `host-${node}`, node }));
  let present = [...members];
  let names: VpnSurvey['names'] = [];
  let networks = [ONE, TWO, ...old.map((name) => ({ ...ONE, name }))];
  const manager = {
    kind: 'netmaker',
    survey: async () => ({ networks, hosts, members: present, names }),
    join: async (network: string, node: NodeId) => {
      await act(`join ${network} ${node}`);
      present.push({ network, host: `host-${node}`, node });
      return true;
    },
    leave: async (network: string, node: NodeId) => {
      await act(`leave ${network} ${node}`);
      present = present.filter((member) => member.node !== node || member.network !== network);
    },
    removeNetwork: async (name: string) => {
      await act(`remove-network ${name}`);
      networks = networks.filter((network) => network.name !== name);
      present = present.filter(({ network }) => network !== name);
    },
    removeHost: async (node: NodeId) => {
      await act(`remove ${node}`);
      hosts = hosts.filter((host) => host.node !== node);
    },
    setNames: async (network: string, set: readonly VpnName[]) => {
      names = set.map((name) => ({ network, ...name }));
    },
  } as unknown as VpnManager;
  const rows = {
    wanted: async () => ({
      networks: [
        { ...ONE, nodes: NODES.map((node) => ({ node, aliases: [] })) },
        { ...TWO, nodes: [] },
      ],
      gone,
    }),
    moves: async (limit: number, last: readonly NodeId[] = []) =>
      moves.toSorted((one, other) => last.indexOf(one.node) - last.indexOf(other.node)).slice(0, limit),
    wantedOf: async () => [],
    advance: async () => null,
  } as unknown as VpnRows;
  const refused = noRefusals();
  return {
    asked,
    done,
    round: () => reconcile({ manager, rows, keep: () => {}, refused }, true),
  };
}

test('a deleted node is removed although more joins than a round does are refused', async (t) => {
  const { done, round } = roundsFixture({ refuses: (asked) => (asked.startsWith('join') ? 'refused' : null) });

  t.deepEqual((await round()).repaired, { 'remove-host': 1 });

  t.deepEqual(done, [`remove ${GONE}`]);
});

test('what is refused is tried behind all else, and all of it in turn', async (t) => {
  let isOver = false;
  const { asked, done, round } = roundsFixture({
    gone: Array.from({ length: MANY }, (_, index) => id<NodeId>('c', index + 1)),
    refuses: (what) => (what.startsWith('remove') && !isOver ? 'refused' : null),
  });

  for (let rounds = 0; rounds < 3; rounds += 1) t.deepEqual((await round()).refused, ['no']);
  t.is(done.length, MANY, 'everybody has joined');
  for (let rounds = 0; rounds < 3; rounds += 1) await round();
  const counts = [...Map.groupBy(asked, (what) => what)].flatMap(([what, times]) =>
    what.startsWith('remove') ? [times.length] : [],
  );
  t.is(counts.length, MANY, 'each was tried');
  t.true(Math.min(...counts) > 1, 'and again');
  t.true(Math.max(...counts) - Math.min(...counts) <= 1, 'none more often than others');

  isOver = true;
  for (let rounds = 0; rounds < 2; rounds += 1) await round();
  t.is(done.length, 2 * MANY);
});

test('one thing for which the manager is always too busy keeps nothing else from being done', async (t) => {
  const { done, round } = roundsFixture({ refuses: (asked) => (asked.startsWith('remove') ? 'busy' : null) });

  await t.throwsAsync(round(), { instanceOf: VpnUnavailable });
  await round();

  t.is(done.length, REPAIRS_MAX);
});

test('a node that was not taken out of one network joins no other', async (t) => {
  const [node = GONE] = NODES;
  let isStuck = true;
  const { done, round } = roundsFixture({
    gone: [],
    members: [
      { network: TWO.name, host: `host-${node}`, node },
      ...NODES.slice(1).map((other) => ({ network: ONE.name, host: `host-${other}`, node: other })),
    ],
    refuses: (asked) => (asked.startsWith('leave') && isStuck ? 'refused' : null),
  });

  await round();
  await round();
  t.deepEqual(done, []);
  isStuck = false;
  await round();
  t.deepEqual(done, [`leave ${TWO.name} ${node}`]);
  await round();
  t.is(done.at(-1), `join ${ONE.name} ${node}`);
});

test('a node in networks that are to go joins no other before it is out of all of them', async (t) => {
  const [node = GONE] = NODES;
  let left = OLD.slice(1);
  const { done, round } = roundsFixture({
    gone: [],
    old: OLD,
    members: [
      ...OLD.map((network) => ({ network, host: `host-${node}`, node })),
      ...NODES.slice(1).map((other) => ({ network: ONE.name, host: `host-${other}`, node: other })),
    ],
    refuses: (asked) =>
      asked.startsWith('join') || left.some((name) => asked === `leave ${name} ${node}`) ? null : 'refused',
  });

  for (let rounds = 0; rounds < 2; rounds += 1) await round();
  t.deepEqual(done, [`leave ${OLD[1]} ${node}`], 'it is in the first of them still');
  left = OLD;
  for (let rounds = 0; rounds < 2; rounds += 1) await round();
  t.deepEqual(done.slice(1), [`leave ${OLD[0]} ${node}`, `join ${ONE.name} ${node}`]);
});

test('moves that are refused keep no later one from being finished', async (t) => {
  const moves = Array.from({ length: MOVES_MAX + 1 }, (_, index): UnfinishedMove => {
    return { node: id<NodeId>('d', index + 1), from: TWO.name, to: null, step: 'leave', version: '1' };
  });
  const last = moves.at(-1)?.node;
  const { done, round } = roundsFixture({
    moves,
    refuses: (asked) => (asked === `leave ${TWO.name} ${last}` ? null : 'refused'),
  });

  t.is((await round()).moved, 0);
  t.is((await round()).moved, 1);

  t.deepEqual(done, [`leave ${TWO.name} ${last}`]);
});

test('so many refusals are remembered, the last ones', (t) => {
  const refusals = new Refusals();
  for (let key = 0; key <= REFUSALS_MAX; key += 1) refusals.add(`${key}`);
  refusals.add('1');

  t.is(refusals.keys().length, REFUSALS_MAX);
  t.deepEqual([refusals.keys()[0], refusals.keys().at(-1)], ['2', '1']);
});
