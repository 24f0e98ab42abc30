/** Whom a gateway reaches, and what it leaves out. */
import test from 'ava';
import { HANDSHAKE_MS_MAX } from '../../../../../transport/vpn/gateway/gateway.ts';
import { NOTHING_REFUSED } from '../../../../../transport/vpn/member/member.ts';
import type { DeviceBackend } from '../../../../../transport/vpn/wireguard/device.ts';
import { until } from '../../../../support/until.ts';
import { clusterId, key, member, vpn, nodeId, path } from './fixture.ts';
import { OWN, fixture } from './gateway-fixture.ts';

/** Addresses that this machine has: a listener opens at once. */
const LOOPBACK = { ipv4Range: '127.77.1.0/24' };

test('a cluster for which there is no room is left out, and its name is said once', async (t) => {
  const { gateway, owned, members, stored, lines, pass } = fixture(t, { peersMax: 2 });
  owned.set(clusterId(1), 1).set(clusterId(2), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  gateway.become(vpn(2, [member(2, 2), member(2, 3)]));
  await pass(20);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass();

  t.deepEqual([...(members[0]?.wanted.at(-1)?.peers.keys() ?? [])], [key(258)]);
  t.deepEqual(
    stored.map(({ cluster }) => cluster),
    [clusterId(1)],
  );
  t.is(lines().length, 1);
  t.like(gateway.readings(), { joined: 1, leftOut: 1 });
});

test('the gateway note names what interface or rows leave out, by cluster and node, once; the admin has no problem', async (t) => {
  const { gateway, owned, members, lines, pass } = fixture(t, { addressesMax: 4 });
  owned.set(clusterId(1), 1).set(clusterId(2), 1).set(clusterId(3), 1);
  for (const number of [1, 2, 3])
    gateway.become({
      ...vpn(number, [member(number, 2)]),
      leftOut: number === 1 ? [{ node: nodeId(1, 9), reason: 'its WireGuard key is none' }] : [],
    });
  await pass(20);
  const [one] = members;
  if (one === undefined) throw new Error('no interface');
  one.say.refused = {
    peers: [{ node: nodeId(2, 2), reason: 'it was refused' }],
    addresses: ['100.64.2.1/24'],
    taken: [],
  };
  await pass();
  await pass();

  t.deepEqual(gateway.state(), {
    isHere: true,
    problem: null,
    note: `there is no room for the VPNs of cluster-3; the interface does not take the addresses of cluster-2; left out of the VPN: node ${nodeId(1, 9)} (its WireGuard key is none), node ${nodeId(2, 2)} (it was refused)`,
  });
  t.is(lines().length, 3);
  one.say.refused = NOTHING_REFUSED;
  owned.delete(clusterId(3));
  gateway.become(vpn(1, [member(1, 2)]));
  await pass();
  await pass();
  t.is(gateway.state().note, null);
  one.say.refused = { ...NOTHING_REFUSED, taken: ['100.64.1.1/24'] };
  await pass();
  await pass();
  t.is(
    gateway.state().note,
    'the interface does not take the addresses of cluster-1',
    'this machine has another there',
  );
});

test('a node is reached through the VPN while its handshake is young and its cluster is owned', async (t) => {
  const { gateway, owned, members, made, firewalls, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become({
    ...vpn(1, [member(1, 2, { ipv4: '127.77.1.2' }), member(1, 3, { ipv4: '127.77.1.3' })]),
    ...LOOPBACK,
  });
  await pass(20);
  const [one] = members;
  if (one === undefined) throw new Error('no interface');
  const urlAfter = async (ageMs: number | null, how?: 'relayed' | 'none'): Promise<string | null> => {
    one.paths = () => [path(key(258), ageMs, how)];
    await pass(1_000);
    return gateway.urlFor(nodeId(1, 2));
  };
  await until('the listener', () => firewalls.at(-1)?.length === 1);

  t.regex((await urlAfter(1_000)) ?? '', /^http:\/\/127\.77\.1\.1:\d+$/u);
  t.regex((await urlAfter(1_000, 'relayed')) ?? '', /^http:/u);
  t.is(await urlAfter(HANDSHAKE_MS_MAX), null);
  t.is(await urlAfter(null), null);
  t.is(await urlAfter(1_000, 'none'), null);
  t.is(gateway.urlFor(nodeId(1, 3)), null);
  await urlAfter(1_000);
  made.isThere = false;
  t.is(await urlAfter(1_000), null);
  made.isThere = true;
  t.regex((await urlAfter(1_000)) ?? '', /^http:/u);
  owned.delete(clusterId(1));
  t.is(gateway.urlFor(nodeId(1, 2)), null);
});

test('where agents have TLS, only a direct path of WireGuard in the kernel is taken: the others are slower', async (t) => {
  const { gateway, owned, members, made, firewalls, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become({ ...vpn(1, [member(1, 2, { ipv4: '127.77.1.2' })]), ...LOOPBACK });
  await pass(20);
  const [one] = members;
  if (one === undefined) throw new Error('no interface');
  await until('the listener', () => firewalls.at(-1)?.length === 1);
  const isTaken = async (backend: DeviceBackend, how: 'direct' | 'relayed'): Promise<boolean> => {
    one.say.backend = backend;
    one.paths = () => [path(key(258), 1_000, how)];
    await pass(1_000);
    return gateway.urlFor(nodeId(1, 2)) !== null;
  };

  made.isPlain = false;
  t.deepEqual(
    [await isTaken('user-space', 'direct'), await isTaken('kernel', 'relayed'), await isTaken('kernel', 'direct')],
    [false, false, true],
  );
  made.isPlain = true; // the VPN alone encrypts then
  t.true(await isTaken('user-space', 'relayed'));
});

test('both sides of a pair try at once, unless the lease ran out: then another admin may be the gateway (O1)', async (t) => {
  const { gateway, owned, members, made, sent, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  made.isFresh = false;
  members[0]?.ports.wantsTry(key(258));
  made.isFresh = true;
  members[0]?.ports.wantsTry(key(258));
  members[0]?.ports.wantsTry(key(3));

  t.deepEqual(sent, [{ type: 'mesh-try', public_key: OWN, in_ms: 250 }]);
  t.deepEqual(members[0]?.tries, [key(258)]);
});

test('readings count peers by path', async (t) => {
  const { gateway, owned, members, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2), member(1, 3)]));
  await pass(20);
  const [one] = members;
  if (one !== undefined) one.paths = () => [path(key(258), 1), path(key(259), 1, 'relayed')];

  t.deepEqual(gateway.readings(), { joined: 1, leftOut: 0, peers: { direct: 1, relayed: 1, none: 0 } });
});
