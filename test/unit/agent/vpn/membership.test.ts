/**
 * What an agent says of itself to the VPN, and what it becomes when it is told. The member itself, which makes
 * interfaces, has tests of its own.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { PeerPath } from '../../../../transport/vpn/member/member.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';
import { ADMIN, PEER, GATEWAY, EMBEDDED, open, welcomed } from './membership-fixture.ts';
import { column } from '../../../support/database/columns.ts';

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
  fixture.joins(7);

  const last = fixture.wanted.at(-1);
  t.deepEqual(
    [last?.addresses, last?.mtu, [...(last?.peers.keys() ?? [])]],
    [['100.64.0.2/24', 'fd00::2/64'], 1_280, [PEER.public_key, GATEWAY.public_key]],
  );
  await until('the observer', () => fixture.wanted.at(-1)?.observers[0]?.endpoint === '192.0.2.1:43478');
  t.is(statSync(fixture.keysPath).mode & 0o777, 0o600);
  t.is(fixture.named.at(-1)?.network.domain, 'prod.edge.test');
});

test('peers that no interface takes are left out and named; the machine stays healthy, and other peers come and go', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  const bad = { ...PEER, public_key: `_${PEER.public_key.slice(1)}` };
  const note = (): string | null => fixture.membership.service.note?.() ?? null;

  fixture.joins(7, [bad, GATEWAY]);
  t.deepEqual(fixture.peers(), [GATEWAY.public_key]);
  t.deepEqual(
    [fixture.membership.service.problem(), note()],
    [null, `left out of the VPN: node ${PEER.node} (its WireGuard key is none)`],
  );

  fixture.changes(8, [{ ...bad, ipv4: 'x' }], [GATEWAY.public_key]);
  t.deepEqual([fixture.peers(), note() === null], [[], false]);

  fixture.changes(9, [PEER], [bad.public_key]);
  t.deepEqual([fixture.peers(), note()], [[PEER.public_key], null]);
});

test('no key is said that is not the public one, and none is stored readable by others', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  const { private_key: privateKey } = JSON.parse(readFileSync(fixture.keysPath, 'utf8')) as { private_key: string };

  fixture.joins(7);
  fixture.membership.rotate();

  t.false(JSON.stringify(fixture.said).includes(privateKey));
});

test('a change follows the state that is held; one of another state is asked about', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.joins(7);
  fixture.said.length = 0;

  fixture.changes(8, [], [PEER.public_key]);
  t.deepEqual(fixture.peers(), [GATEWAY.public_key]);
  t.deepEqual(fixture.said, []);

  fixture.changes(10, [PEER]);
  t.deepEqual(
    fixture.said.map((word) => word.type === 'mesh-advertise' && word.advertisement.revision),
    [{ epoch: 1, number: 8 }],
  );
  t.deepEqual(fixture.peers(), [GATEWAY.public_key]);
});

test('changes that do not follow the held revision cause one question, and another after ten seconds without answer', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.joins(7);
  fixture.said.length = 0;
  const asked = (): unknown[] =>
    fixture.said
      .splice(0)
      .flatMap((word) => (word.type === 'mesh-advertise' ? [word.advertisement.revision?.number] : []));

  fixture.changes(10);
  fixture.changes(11);
  fixture.changes(12);
  t.deepEqual(asked(), [7]);

  fixture.clock.pass(10_000);
  fixture.changes(13);
  t.deepEqual(asked(), [7]);

  fixture.joins(13);
  fixture.clock.pass(10_000);
  t.deepEqual(asked(), []);
  fixture.changes(15);
  t.deepEqual(asked(), [13]);
});

test('a machine that has no VPN, or can have none, asks for no changes of one', async (t) => {
  const [without, unable] = [open(t), open(t, { problem: 'this agent does not run as root.' })];
  unable.membership.configured(EMBEDDED, ADMIN);
  await until('why it joins none', () => unable.membership.service.note?.());
  const waiting = [without.clock.waiting(), unable.clock.waiting()];

  without.changes(7);
  unable.changes(7);

  t.deepEqual([without.clock.waiting(), unable.clock.waiting()], waiting, 'no question is open');
});

test('changes that are told twice are taken once, and nothing is asked', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.joins(7);
  fixture.changes(8, [], [PEER.public_key]);
  fixture.changes(9, [PEER]);
  fixture.said.length = 0;
  const become = fixture.wanted.length;

  fixture.changes(8, [], [PEER.public_key]);
  fixture.changes(9, [PEER]);

  t.deepEqual([fixture.said, fixture.wanted.length], [[], become]);
});

test('what the admin refuses is a problem, until it gives a VPN', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);

  fixture.membership.session.told({ seq: 1, type: 'mesh-refused', reason: 'Another node has this WireGuard key' });
  t.is(fixture.membership.service.problem(), 'Another node has this WireGuard key');

  fixture.joins(7);
  t.is(fixture.membership.service.problem(), null);
});

test('a machine that was moved, and is not let into the VPN of its cluster, leaves the one of the cluster before', async (t) => {
  const directory = temporaryDirectory(t);
  let cluster = 'prod';
  const fixture = open(t, { directory, clusterName: () => cluster });
  await welcomed(fixture);
  fixture.joins(7);
  const refused = { seq: 1, type: 'mesh-refused', reason: 'a VPN has at most 512 members' } as const;

  fixture.membership.session.told(refused);
  t.is(fixture.peers().length, 2);

  cluster = 'lab';
  fixture.membership.session.told(refused);
  t.deepEqual([fixture.peers(), fixture.wanted.at(-1)?.addresses, fixture.named.at(-1)], [[], [], null]);
  t.is(fixture.membership.service.problem(), refused.reason);
  t.false(existsSync(join(directory, 'mesh-network.json')));
});

test('a machine advertises its revision again when settings come between welcomes, as earlier messages may be lost', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.joins(7);
  fixture.said.length = 0;

  fixture.membership.configured(EMBEDDED, ADMIN);

  t.deepEqual(
    fixture.said.map((word) => word.type === 'mesh-advertise' && word.advertisement.revision),
    [{ epoch: 1, number: 7 }],
  );
});

test('a machine that was refused asks again when settings come', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.membership.session.told({
    seq: 1,
    type: 'mesh-refused',
    reason: 'The network of the cluster has no free address',
  });
  fixture.said.length = 0;

  fixture.membership.configured(EMBEDDED, ADMIN);

  t.deepEqual(column(fixture.said, 'type'), ['mesh-advertise']);
});

test('how well it is connected is told when a path changes, and now and then', async (t) => {
  const path = (publicKey: string, way: PeerPath['path']): PeerPath => ({
    publicKey,
    path: way,
    relayRegion: null,
    handshakeAgeMs: 1_000.4,
    mtu: null,
    receivedBytes: 1,
    sentBytes: 1,
  });
  const fixture = open(t, { paths: [path(PEER.public_key, 'relayed'), path(GATEWAY.public_key, 'direct')] });
  await welcomed(fixture);
  fixture.joins(7);
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
    [...fixture.membership.peers()],
    [
      [PEER.public_key, { node: PEER.node, path: 'relayed', mtu: null }],
      [GATEWAY.public_key, { node: 'gateway', path: 'direct', mtu: null }],
    ],
  );
});

test('a machine whose VPN is switched off and on again tells how well it is connected as before', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.clock.pass(10_000);
  fixture.membership.configured({ mode: 'off' }, ADMIN);
  await until('its end', () => fixture.ends.length > 0);
  fixture.said.length = 0;

  await welcomed(fixture);
  fixture.said.length = 0;
  fixture.clock.pass(30_000);

  t.deepEqual(column(fixture.said, 'type'), ['mesh-report']);
});
