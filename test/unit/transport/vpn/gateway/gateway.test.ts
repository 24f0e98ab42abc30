import test from 'ava';
import type { AdminFrameBody } from '../../../../../transport/protocol/frames.ts';
import type { ClusterId } from '../../../../../transport/protocol/ids.ts';
import type { CreatedMember } from '../../../../../transport/vpn/member/create-member.ts';
import type { GatewayPlace } from '../../../../../transport/vpn/gateway/advertisement.ts';
import { Gateway, HANDSHAKE_MS_MAX } from '../../../../../transport/vpn/gateway/gateway.ts';
import { GATEWAY_ROUND_MS } from '../../../../../transport/vpn/gateway/rounds.ts';
import type { ListenerAddress, Firewall } from '../../../../../transport/vpn/gateway/firewall.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/log.ts';
import type { Scope } from '../../../../support/scope.ts';
import { until } from '../../../../support/until.ts';
import { clusterId, key, member, vpn, nodeId, path, recordingMember, settled } from './fixture.ts';
import type { RecordingMember } from './fixture.ts';

const OWN = key(65_535);

/** Addresses that this machine has: a listener opens at once. */
const LOOPBACK = { ipv4Range: '127.77.1.0/24' };

interface Given {
  readonly isEnabled?: boolean;
  readonly peersMax?: number;
  readonly addressesMax?: number;
  readonly host?: string;
  readonly refused?: string;
  readonly firewallProblem?: string;
}

function fixture(
  t: Scope,
  { isEnabled = true, peersMax = 100, addressesMax = 200, host, refused, firewallProblem }: Given = {},
) {
  const clock = createFakeClock();
  const log = recordingLog();
  const owned = new Map<ClusterId, number>();
  const stored: { cluster: ClusterId; epoch: number; place: GatewayPlace }[] = [];
  const sent: AdminFrameBody[] = [];
  const firewalls: (readonly ListenerAddress[])[] = [];
  const order: string[] = [];
  const members: RecordingMember[] = [];
  const firewall: Firewall = {
    async raise(listeners) {
      firewalls.push(listeners);
      order.push('firewall');
      return firewallProblem ?? null;
    },
    holdApart: async () => made.isThere,
    async remove() {
      order.push('no firewall');
    },
  };
  const made: { refused: string | undefined; database: boolean; isThere: boolean; isFresh: boolean } = {
    refused,
    database: true,
    isThere: true,
    isFresh: true,
  };
  const gateway = new Gateway({
    clock,
    log,
    monotonicMs: () => clock.nowMs(),
    keys: { privateKey: 'private', publicKey: OWN },
    firewall,
    host: host ?? null,
    limits: { peersMax, addressesMax },
    open: isEnabled
      ? async (wanted, ports): Promise<CreatedMember> => {
          order.push('interface');
          if (made.refused !== undefined) return { ok: false, problem: made.refused };
          const one = recordingMember(wanted, ports);
          members.push(one);
          return { ok: true, member: one };
        }
      : null,
    epochOf: (cluster) => owned.get(cluster) ?? null,
    isFresh: (cluster) => owned.has(cluster) && made.isFresh,
    async store(cluster, epoch, place) {
      if (!made.database) throw new Error('away');
      stored.push({ cluster, epoch, place });
      return true;
    },
    send: (_node, frame) => {
      sent.push(frame);
    },
    followRelayMap: () => () => {},
    upgrade: (_request, socket) => {
      socket.destroy();
    },
  });
  t.teardown(() => gateway.close());
  const pass = async (ms = GATEWAY_ROUND_MS): Promise<void> => {
    clock.pass(ms);
    await settled();
  };
  const lines = (): readonly string[] =>
    log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  return { gateway, clock, log, owned, stored, sent, firewalls, order, members, made, pass, lines };
}

test('an admin joins the VPNs of its clusters by one interface, behind a firewall that stands before it', async (t) => {
  const { gateway, owned, members, order, pass } = fixture(t);
  owned.set(clusterId(1), 1).set(clusterId(2), 1);

  gateway.become(vpn(1, [member(1, 2)]));
  gateway.become(vpn(2, [member(2, 2)]));
  await pass(20);

  t.is(members.length, 1);
  t.deepEqual(members[0]?.wanted[0]?.addresses, [
    '100.64.1.1/24',
    'fd00:0:0:1::1/64',
    '100.64.2.1/24',
    'fd00:0:0:2::1/64',
  ]);
  t.deepEqual([...(members[0]?.wanted[0]?.peers.keys() ?? [])], [key(258), key(514)]);
  t.deepEqual(order.slice(0, 2), ['firewall', 'interface']);
});

test('nothing is opened before there is a VPN, nor for one of another admin', async (t) => {
  const { gateway, members, order, pass } = fixture(t);

  gateway.become(vpn(1, [member(1, 2)]));
  await pass();

  t.deepEqual([members.length, order], [0, []]);
});

test('a cluster that is not owned any more is left in the next round', async (t) => {
  const { gateway, owned, members, pass } = fixture(t);
  owned.set(clusterId(1), 1).set(clusterId(2), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  gateway.become(vpn(2, [member(2, 2)]));
  await pass(20);

  owned.delete(clusterId(1));
  await pass(GATEWAY_ROUND_MS);

  t.deepEqual(members[0]?.wanted.at(-1)?.addresses, ['100.64.2.1/24', 'fd00:0:0:2::1/64']);
  t.deepEqual([...(members[0]?.wanted.at(-1)?.peers.keys() ?? [])], [key(514)]);
});

test('members are told where the gateway is, once, and again under each epoch and from each place', async (t) => {
  const { gateway, owned, stored, members, pass } = fixture(t, { host: '203.0.113.9' });
  const place = {
    publicKey: OWN,
    listenPort: 51_820,
    endpoints: ['203.0.113.9:51820', '203.0.113.1:51820'],
    relayRegion: 900,
  };
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);
  t.deepEqual(stored, [{ cluster: clusterId(1), epoch: 1, place }]);

  gateway.become(
    vpn(1, [
      member(1, 2),
      member(1, 1, { node: null, public_key: OWN, endpoints: place.endpoints, relay_region: 900 }),
    ]),
  );
  await pass();
  await pass(60_000);
  t.is(stored.length, 1);

  owned.set(clusterId(1), 2);
  await pass();
  t.deepEqual(stored.at(-1), { cluster: clusterId(1), epoch: 2, place });

  const [one] = members;
  if (one === undefined) throw new Error('no interface');
  one.say.place = { ...one.say.place, relayRegion: 901 };
  one.ports.moved(one.say.place);
  await pass(20);
  t.deepEqual(stored.at(-1), { cluster: clusterId(1), epoch: 2, place: { ...place, relayRegion: 901 } });
});

test('where the gateway is comes to the rows also after the database was away', async (t) => {
  const { gateway, owned, stored, made, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  made.database = false;
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  made.database = true;
  await pass();

  t.is(stored.length, 1);
});

test('an admin without rights says so once, tries again without a word, and takes back what another admin said of its gateway', async (t) => {
  const { gateway, owned, members, stored, lines, made, pass } = fixture(t, { refused: 'it is not root' });
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2), member(1, 1, { node: null, public_key: key(9) })]));
  await pass(20);
  await pass(300_000);

  t.is(lines().length, 1);
  t.deepEqual(gateway.state(), { isHere: false, problem: 'it is not root', note: null });
  t.is(gateway.readings(), null);
  t.deepEqual(stored[0], { cluster: clusterId(1), epoch: 1, place: null });

  made.refused = undefined;
  await pass(300_000);
  t.is(members.length, 1);
  t.deepEqual(gateway.state(), { isHere: true, problem: null, note: null });
});

test('without a firewall there is no interface', async (t) => {
  const { gateway, owned, members, pass, lines } = fixture(t, { firewallProblem: 'there is no nft' });
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  t.is(members.length, 0);
  t.is(lines().length, 1);
});

test('a gateway that is switched off opens nothing and has no problem', async (t) => {
  const { gateway, owned, order, pass } = fixture(t, { isEnabled: false });
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass();

  t.deepEqual(order, []);
  t.deepEqual(gateway.state(), { isHere: false, problem: null, note: null });
});

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

test('what an interface or the rows leave out is named in the note, by cluster and node, and said once; it is no problem of the admin', async (t) => {
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
  one.say.refused = { peers: [{ node: nodeId(2, 2), reason: 'it was refused' }], addresses: ['100.64.2.1/24'] };
  await pass();
  await pass();

  t.deepEqual(gateway.state(), {
    isHere: true,
    problem: null,
    note: `there is no room for the VPNs of cluster-3; the interface does not take the addresses of cluster-2; left out of the VPN: node ${nodeId(1, 9)} (its WireGuard key is none), node ${nodeId(2, 2)} (it was refused)`,
  });
  t.is(lines().length, 3);
  one.say.refused = { peers: [], addresses: [] };
  owned.delete(clusterId(3));
  gateway.become(vpn(1, [member(1, 2)]));
  await pass();
  await pass();
  t.is(gateway.state().note, null);
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

test('a gateway that is closed leaves no interface and no rules', async (t) => {
  const { gateway, owned, members, order, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  await gateway.close();

  t.true(members[0]?.isClosed);
  t.is(order.at(-1), 'no firewall');
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
