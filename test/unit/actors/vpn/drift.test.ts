import test from 'ava';
import { driftOf, namesFor, type WantedVpn } from '../../../../actors/vpn/drift.ts';
import { clusterOf, type VpnSurvey } from '../../../../actors/vpn/vpn.ts';
import { networkOf } from '../../../../transport/protocol/cluster-names.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { id } from '../../../support/actors.ts';

const [A, B, C] = [id<NodeId>('b', 1), id<NodeId>('b', 2), id<NodeId>('b', 3)];
const ONE = { name: 'cluster-one', ipv4Range: '10.0.1.0/24', ipv6Range: 'fd00:1::/64' };
const TWO = { name: 'cluster-two', ipv4Range: '10.0.2.0/24', ipv6Range: 'fd00:2::/64' };

const host = (node: NodeId) => ({ id: `host-${node}`, node });
const member = (network: string, node: NodeId) => ({ network, host: `host-${node}`, node });
const name = (network: string, label: string, node: NodeId | null) => ({ network, name: label, node });

const WANTED: WantedVpn = {
  networks: [
    {
      ...ONE,
      nodes: [
        { node: A, aliases: ['db'] },
        { node: B, aliases: [] },
      ],
    },
    { ...TWO, nodes: [] },
  ],
  gone: [],
};
const SEEN: VpnSurvey = {
  networks: [ONE, TWO],
  hosts: [host(A), host(B)],
  members: [member(ONE.name, A), member(ONE.name, B)],
  names: [name(ONE.name, `node-${A}`, A), name(ONE.name, `node-${B}`, B), name(ONE.name, 'db', A)],
};

test('where nothing differs nothing is done', (t) => {
  t.deepEqual(driftOf(WANTED, SEEN), { repairs: [], misranged: [] });
});

test('a node leaves where it should not be before it joins where it should, and names follow when it is a member', (t) => {
  const seen = {
    ...SEEN,
    members: [member(ONE.name, A), member(TWO.name, B)],
    names: [name(ONE.name, `node-${A}`, A), name(ONE.name, 'db', A), name(TWO.name, `node-${B}`, B)],
  };

  t.deepEqual(driftOf(WANTED, seen).repairs, [
    { type: 'leave', network: TWO.name, node: B },
    { type: 'join', network: ONE.name, node: B },
    { type: 'set-names', network: TWO.name, names: [] },
  ]);
});

test('who is no host yet is not joined, strangers are put out, and what is gone is removed first', (t) => {
  const seen: VpnSurvey = {
    networks: [ONE, TWO, { ...ONE, name: 'cluster-old' }],
    hosts: [host(A), host(C)],
    members: [member(ONE.name, A), { network: ONE.name, host: 'laptop', node: null }, member('cluster-old', C)],
    names: [name(ONE.name, `node-${A}`, A), name(ONE.name, 'db', A)],
  };

  t.deepEqual(driftOf({ ...WANTED, gone: [C] }, seen).repairs, [
    { type: 'remove-host', node: C },
    { type: 'expel', network: ONE.name, host: 'laptop' },
    { type: 'remove-network', name: 'cluster-old' },
  ]);
});

test('who is wanted elsewhere leaves a network that goes before that is removed, and the others go with it', (t) => {
  const seen: VpnSurvey = {
    ...SEEN,
    networks: [ONE, TWO, { ...ONE, name: 'cluster-old' }],
    members: [member(ONE.name, A), member('cluster-old', B), member('cluster-old', C)],
    names: [name(ONE.name, `node-${A}`, A), name(ONE.name, 'db', A)],
  };

  t.deepEqual(driftOf(WANTED, seen).repairs, [
    { type: 'leave', network: 'cluster-old', node: B },
    { type: 'remove-network', name: 'cluster-old' },
    { type: 'join', network: ONE.name, node: B },
  ]);
});

test('names that lead elsewhere, to nobody, twice or not at all are set anew', (t) => {
  const names = namesFor([
    { node: A, aliases: ['db'] },
    { node: B, aliases: [] },
  ]);
  for (const wrong of [name(ONE.name, 'db', B), name(ONE.name, 'db', null), name(ONE.name, 'dc', A)]) {
    t.deepEqual(driftOf(WANTED, { ...SEEN, names: [...SEEN.names.slice(0, 2), wrong] }).repairs, [
      { type: 'set-names', network: ONE.name, names },
    ]);
  }
  t.deepEqual(driftOf(WANTED, { ...SEEN, names: [...SEEN.names, name(ONE.name, 'db', A)] }).repairs.length, 1);
  t.deepEqual(driftOf(WANTED, { ...SEEN, names: SEEN.names.slice(0, 2) }).repairs.length, 1);
});

test('a network that is missing is made, one with other ranges is told of', (t) => {
  t.deepEqual(driftOf(WANTED, { ...SEEN, networks: [{ ...ONE, ipv4Range: '10.9.0.0/24' }] }), {
    repairs: [{ type: 'ensure-network', network: TWO }],
    misranged: [ONE.name],
  });
});

test('no alias takes the name of a node', (t) => {
  t.deepEqual(
    namesFor([
      { node: A, aliases: [`node-${B}`] },
      { node: B, aliases: [] },
    ]),
    [
      { name: `node-${B}`, node: B },
      { name: `node-${A}`, node: A },
    ],
  );
});

test('the longest name of a cluster makes the longest name of a network, and nothing else is ours', (t) => {
  t.is(networkOf('x'.repeat(24)).length, 32);
  t.deepEqual(['cluster-one', 'cluster-', 'office', 'Cluster-one', `cluster-${'x'.repeat(25)}`].map(clusterOf), [
    'one',
    null,
    null,
    null,
    null,
  ]);
});
