/**
 * What an agent says of itself to the VPN, and what it becomes when it is told. The member itself, which makes
 * interfaces, has tests of its own.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { storedPublicKey } from '../../../../agent/vpn/keys-file.ts';
import { Membership } from '../../../../agent/vpn/membership.ts';
import type { Picture } from '../../../../agent/vpn/picture.ts';
import type { AdminVpnFrame, AgentVpnFrameBody } from '../../../../agent/session/ports.ts';
import {
  NOTHING_REFUSED,
  type MemberPorts,
  type PeerPath,
  type WantedMember,
} from '../../../../transport/vpn/member/member.ts';
import type { VpnPeer, VpnSettings } from '../../../../transport/protocol/vpn.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import { until } from '../../../support/until.ts';
import { silentLog } from '../../../support/log.ts';
import { FakeClock } from '../../../support/agent/session-fixture.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const ADMIN = 'http://192.0.2.1:44000';
const PEER: VpnPeer = {
  node: NodeId.parse('6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01'),
  public_key: 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=',
  ipv4: '100.64.0.3',
  ipv6: 'fd00::3',
  endpoints: [],
  relay_region: null,
  aliases: ['web'],
};
const GATEWAY: VpnPeer = {
  ...PEER,
  node: null,
  public_key: '3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d0=',
  ipv4: '100.64.0.1',
  ipv6: 'fd00::1',
  aliases: [],
};
const EMBEDDED: VpnSettings = {
  mode: 'embedded',
  observers: [{ host: null, port: 43_478, public_key: GATEWAY.public_key }],
};

interface Fixture {
  readonly membership: Membership;
  readonly clock: FakeClock;
  readonly said: AgentVpnFrameBody[];
  /** What the member was to become, one after another. */
  readonly wanted: WantedMember[];
  readonly named: (Picture | null)[];
  readonly ends: { readonly isKept: boolean }[];
  readonly keysPath: string;
  ports(): MemberPorts;
  publicKey(): string;
}

/**
 * A membership whose member notes what it is to become. `problem`: this machine can have none. `opened`: when its
 * interface is there; `ends`: how it goes.
 */
function open(
  t: ExecutionContext,
  {
    directory = temporaryDirectory(t),
    problem = null as string | null,
    paths = [] as readonly PeerPath[],
    opened = Promise.resolve(),
    ends: closes = () => Promise.resolve(),
  } = {},
): Fixture {
  const clock = new FakeClock();
  const [said, wanted, named, ends] = [
    [] as AgentVpnFrameBody[],
    [] as WantedMember[],
    [] as (Picture | null)[],
    [] as { readonly isKept: boolean }[],
  ];
  let ports: MemberPorts | null = null;
  const keysPath = join(directory, 'mesh-keys.json');
  const membership = new Membership({
    interfaceName: 'edge00000000',
    port: 0,
    keysPath,
    picturePath: join(directory, 'mesh-network.json'),
    clusterName: () => 'prod',
    clock,
    log: silentLog,
    say: (word) => {
      said.push(word);
      return true;
    },
    named: (picture) => {
      named.push(picture);
    },
    createMember: async (options, given) => {
      await opened;
      if (problem !== null) return { ok: false, problem };
      ports = given;
      wanted.push(options.wanted);
      return {
        ok: true,
        member: {
          become: (next) => {
            wanted.push(next);
          },
          tryDirect: (key, inMs) => {
            named.push(null);
            said.push({ type: 'mesh-try', public_key: `${key} in ${inMs}` });
          },
          paths: () => paths,
          place: () => ({ listenPort: 51_820, endpoints: ['192.168.1.20:51820'], relayRegion: 900 }),
          refused: () => NOTHING_REFUSED,
          problem: () => null,
          close: (end) => {
            ends.push(end);
            return closes();
          },
        },
      };
    },
  });
  return {
    membership,
    clock,
    said,
    wanted,
    named,
    ends,
    keysPath,
    publicKey: () => storedPublicKey(keysPath) ?? '',
    ports: () => {
      if (ports === null) throw new Error('there is no member');
      return ports;
    },
  };
}

function network(
  publicKey: string,
  number: number,
  peers: readonly VpnPeer[] = [PEER, GATEWAY],
): Extract<AdminVpnFrame, { type: 'mesh-network' }> {
  return {
    seq: 1,
    type: 'mesh-network',
    revision: { epoch: 1, number },
    network: {
      cluster_name: 'prod',
      domain: 'prod.edge.test',
      public_key: publicKey,
      ipv4: '100.64.0.2',
      ipv6: 'fd00::2',
      ipv4_range: '100.64.0.0/24',
      ipv6_range: 'fd00::/64',
      mtu: 1_280,
      aliases: [],
    },
    peers: [...peers],
  };
}

async function welcomed(fixture: Fixture): Promise<void> {
  fixture.membership.configured(EMBEDDED, ADMIN, true);
  await until('an advertisement', () => fixture.said.length > 0);
}

test('an agent that is welcomed makes its key once, says what it is, and becomes what it is told', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);

  const publicKey = fixture.publicKey();
  t.deepEqual(fixture.said, [
    {
      type: 'mesh-advertise',
      advertisement: {
        public_key: publicKey,
        listen_port: 51_820,
        endpoints: ['192.168.1.20:51820'],
        relay_region: 900,
        revision: null,
      },
    },
  ]);
  fixture.membership.session.told(network(publicKey, 7));

  const last = fixture.wanted.at(-1);
  t.deepEqual(
    [last?.addresses, last?.mtu, [...(last?.peers.keys() ?? [])]],
    [['100.64.0.2/24', 'fd00::2/64'], 1_280, [PEER.public_key, GATEWAY.public_key]],
  );
  await until('the observer', () => fixture.wanted.at(-1)?.observers[0]?.endpoint === '192.0.2.1:43478');
  t.is(statSync(fixture.keysPath).mode & 0o777, 0o600);
  t.is(fixture.named.at(-1)?.network.domain, 'prod.edge.test');
});

test('peers that an admin tells and no interface takes are left out and named; the machine is healthy, and the others come and go', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  const bad = { ...PEER, public_key: `_${PEER.public_key.slice(1)}` };
  const note = (): string | null => fixture.membership.service.note?.() ?? null;

  fixture.membership.session.told(network(fixture.publicKey(), 7, [bad, GATEWAY]));
  t.deepEqual([...(fixture.wanted.at(-1)?.peers.keys() ?? [])], [GATEWAY.public_key]);
  t.deepEqual(
    [fixture.membership.service.problem(), note()],
    [null, `left out of the VPN: node ${PEER.node} (its WireGuard key is none)`],
  );

  fixture.membership.session.told({
    seq: 2,
    type: 'mesh-changed',
    from: { epoch: 1, number: 7 },
    to: { epoch: 1, number: 8 },
    set: [{ ...bad, ipv4: 'x' }],
    removed: [GATEWAY.public_key],
  });
  t.deepEqual([[...(fixture.wanted.at(-1)?.peers.keys() ?? [])], note() === null], [[], false]);

  fixture.membership.session.told({
    seq: 3,
    type: 'mesh-changed',
    from: { epoch: 1, number: 8 },
    to: { epoch: 1, number: 9 },
    set: [PEER],
    removed: [bad.public_key],
  });
  t.deepEqual([[...(fixture.wanted.at(-1)?.peers.keys() ?? [])], note()], [[PEER.public_key], null]);
});

test('no key is said that is not the public one, and none is stored readable by others', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  const { private_key: privateKey } = JSON.parse(readFileSync(fixture.keysPath, 'utf8')) as { private_key: string };

  fixture.membership.session.told(network(fixture.publicKey(), 7));
  fixture.membership.rotate();

  t.false(JSON.stringify(fixture.said).includes(privateKey));
});

test('a change follows the state that is held; one of another state is asked about', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.membership.session.told(network(fixture.publicKey(), 7));
  fixture.said.length = 0;

  fixture.membership.session.told({
    seq: 2,
    type: 'mesh-changed',
    from: { epoch: 1, number: 7 },
    to: { epoch: 1, number: 8 },
    set: [],
    removed: [PEER.public_key],
  });
  t.deepEqual([...(fixture.wanted.at(-1)?.peers.keys() ?? [])], [GATEWAY.public_key]);
  t.deepEqual(fixture.said, []);

  fixture.membership.session.told({
    seq: 3,
    type: 'mesh-changed',
    from: { epoch: 1, number: 9 },
    to: { epoch: 1, number: 10 },
    set: [PEER],
    removed: [],
  });
  t.deepEqual(
    fixture.said.map((word) => word.type === 'mesh-advertise' && word.advertisement.revision),
    [{ epoch: 1, number: 8 }],
  );
  t.deepEqual([...(fixture.wanted.at(-1)?.peers.keys() ?? [])], [GATEWAY.public_key]);
});

test('an agent that starts again is in its VPN before any admin answers, and says which state it holds', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.membership.session.told(network(first.publicKey(), 7));
  await first.membership.close({ isKept: true });

  const second = open(t, { directory });
  await until('a member', () => second.wanted.length > 0);
  t.deepEqual([...(second.wanted[0]?.peers.keys() ?? [])], [PEER.public_key, GATEWAY.public_key]);
  second.membership.configured(EMBEDDED, ADMIN, true);

  t.is(second.publicKey(), first.publicKey());
  await until('what it holds', () =>
    second.said.some((word) => word.type === 'mesh-advertise' && word.advertisement.revision?.number === 7),
  );
  t.deepEqual(first.ends, [{ isKept: true }]);
});

test('a new key is said first, and used when the others know it', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  const before = fixture.publicKey();
  fixture.membership.session.told(network(before, 7));
  const oldPrivate = fixture.wanted.at(-1)?.privateKey;
  fixture.said.length = 0;

  fixture.membership.rotate();
  const [word] = fixture.said;
  const next = word?.type === 'mesh-advertise' ? word.advertisement.public_key : '';
  t.not(next, before);
  t.is(fixture.publicKey(), before);
  fixture.membership.session.told({
    seq: 2,
    type: 'mesh-changed',
    from: { epoch: 1, number: 7 },
    to: { epoch: 1, number: 8 },
    set: [],
    removed: [],
  });
  t.is(fixture.wanted.at(-1)?.privateKey, oldPrivate);

  fixture.membership.session.told(network(next, 9));

  t.is(fixture.publicKey(), next);
  t.not(fixture.wanted.at(-1)?.privateKey, oldPrivate);
  t.is(fixture.wanted.at(-1)?.peers.size, 2);
});

test('a rotation that no admin has heard of goes on after a restart', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.membership.session.told(network(first.publicKey(), 7));
  first.membership.rotate();
  const asked = first.said.at(-1);
  await first.membership.close({ isKept: true });

  const second = open(t, { directory });
  await welcomed(second);

  const again = second.said.at(-1);
  t.is(
    again?.type === 'mesh-advertise' && again.advertisement.public_key,
    asked?.type === 'mesh-advertise' && asked.advertisement.public_key,
  );
});

test('a machine that can have no interface says so in its health, which is good, and tries again later', async (t) => {
  const fixture = open(t, { problem: 'it needs root' });

  fixture.membership.configured(EMBEDDED, ADMIN, true);
  await until('the note', () => fixture.membership.service.note?.() !== null);

  t.is(fixture.membership.service.note?.(), 'This machine joins no VPN: it needs root');
  t.is(fixture.membership.service.problem(), null);
  t.deepEqual(fixture.said, []);
});

test('what the admin refuses is a problem, until it gives a VPN', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);

  fixture.membership.session.told({ seq: 1, type: 'mesh-refused', reason: 'Another node has this WireGuard key' });
  t.is(fixture.membership.service.problem(), 'Another node has this WireGuard key');

  fixture.membership.session.told(network(fixture.publicKey(), 7));
  t.is(fixture.membership.service.problem(), null);
});

test('an admin without a VPN, or with another kind of it, ends the membership', async (t) => {
  for (const settings of [{ mode: 'off' }, { mode: 'netmaker' }] as const) {
    const directory = temporaryDirectory(t);
    const fixture = open(t, { directory });
    await welcomed(fixture);
    fixture.membership.session.told(network(fixture.publicKey(), 7));

    fixture.membership.configured(settings, ADMIN, true);

    await until('its end', () => fixture.ends.length > 0);
    t.deepEqual([fixture.ends, fixture.named.at(-1)], [[{ isKept: false }], null]);
    t.false(existsSync(join(directory, 'mesh-network.json')), 'the next start would be in it');
  }
});

test('an admin of a version without VPNs ends none: it is there while others become newer', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.membership.session.told(network(fixture.publicKey(), 7));

  fixture.membership.configured(undefined, ADMIN, true);
  await fixture.membership.close({ isKept: true });

  t.deepEqual(fixture.ends, [{ isKept: true }]);
});

test('an interface that is still being opened goes when the admin has no VPN, and when the machine must leave', async (t) => {
  for (const act of [
    (fixture: Fixture) => fixture.membership.configured({ mode: 'off' }, ADMIN, true),
    (fixture: Fixture) => void fixture.membership.close({ isKept: false }),
  ]) {
    const opened = Promise.withResolvers<void>();
    const fixture = open(t, { opened: opened.promise });
    fixture.membership.configured(EMBEDDED, ADMIN, true);

    act(fixture);
    opened.resolve();

    await until('its end', () => fixture.ends.length > 0);
    t.deepEqual([fixture.ends, fixture.said], [[{ isKept: false }], []]);
  }
});

test('an interface that cannot be removed is said, and ends nothing', async (t) => {
  const fixture = open(t, { ends: () => Promise.reject(new Error('ip: it failed')) });
  await welcomed(fixture);

  fixture.membership.configured({ mode: 'off' }, ADMIN, true);

  await t.notThrowsAsync(fixture.membership.close({ isKept: false }));
});

test('one that was refused asks again when settings come', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.membership.session.told({
    seq: 1,
    type: 'mesh-refused',
    reason: 'The network of the cluster has no free address',
  });
  fixture.said.length = 0;

  fixture.membership.configured(EMBEDDED, ADMIN, false);

  t.deepEqual(
    fixture.said.map(({ type }) => type),
    ['mesh-advertise'],
  );
});

test('changes that come together are stored together, and all of them at the end', async (t) => {
  const directory = temporaryDirectory(t);
  const fixture = open(t, { directory });
  await welcomed(fixture);
  fixture.membership.session.told(network(fixture.publicKey(), 7));
  const stored = (): unknown =>
    (JSON.parse(readFileSync(join(directory, 'mesh-network.json'), 'utf8')) as { revision: { number: number } })
      .revision.number;
  const change = (number: number): void =>
    fixture.membership.session.told({
      seq: number,
      type: 'mesh-changed',
      from: { epoch: 1, number: number - 1 },
      to: { epoch: 1, number },
      set: [],
      removed: [],
    });

  change(8);
  change(9);
  t.is(stored(), 7);
  fixture.clock.pass(1_000);
  t.is(stored(), 9);

  change(10);
  await fixture.membership.close({ isKept: true });
  t.is(stored(), 10);
});

test('how well it is connected is told when a path changes, and now and then', async (t) => {
  const path = (publicKey: string, way: PeerPath['path']): PeerPath => ({
    publicKey,
    path: way,
    relayRegion: null,
    handshakeAgeMs: 1_000.4,
    receivedBytes: 1,
    sentBytes: 1,
  });
  const fixture = open(t, { paths: [path(PEER.public_key, 'relayed'), path(GATEWAY.public_key, 'direct')] });
  await welcomed(fixture);
  fixture.membership.session.told(network(fixture.publicKey(), 7));
  fixture.said.length = 0;
  const report = {
    type: 'mesh-report',
    report: { direct: 1, relayed: 1, none: 0, gateway: { path: 'direct', handshake_age_ms: 1_000 } },
  };

  fixture.ports().changed();
  fixture.ports().changed();
  fixture.clock.pass(1_000);
  t.deepEqual(fixture.said, [report]);
  fixture.clock.pass(30_000);
  t.deepEqual(fixture.said, [report, report]);
  t.deepEqual(
    [
      fixture.membership.nodeOf(PEER.public_key),
      fixture.membership.nodeOf(GATEWAY.public_key),
      fixture.membership.nodeOf('other'),
      fixture.membership.pathOf(PEER.public_key),
    ],
    [PEER.node, 'gateway', null, 'relayed'],
  );
});

test('a machine whose VPN is switched off and on again tells how well it is connected as before', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.clock.pass(10_000);
  fixture.membership.configured({ mode: 'off' }, ADMIN, true);
  await until('its end', () => fixture.ends.length > 0);
  fixture.said.length = 0;

  await welcomed(fixture);
  fixture.said.length = 0;
  fixture.clock.pass(30_000);

  t.deepEqual(
    fixture.said.map(({ type }) => type),
    ['mesh-report'],
  );
});

test('files that are damaged are made anew', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'mesh-keys.json'), '{');
  writeFileSync(join(directory, 'mesh-network.json'), 'null');
  const fixture = open(t, { directory });

  await welcomed(fixture);

  t.is(fixture.publicKey().length, 44);
});
