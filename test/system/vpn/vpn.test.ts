/**
 * A VPN of real agents on every kind of network: who reaches whom, by which way, under which names, and who is kept
 * out.
 */
import ava from 'ava';
import type { AliasResource } from '../../../actors/resources/node.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { makeKeyPair } from '../../../transport/vpn/wireguard/keys.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { enrollment, rawAgent, type RawSession } from '../../support/fleet/raw-agent.ts';
import { sendByIperf } from '../../support/networks/iperf.ts';
import type { Machine } from '../../support/networks/machine.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { isRelayed, ROUNDS, startEverybody, type Everybody, type MemberName } from './everybody.ts';
import { rowMembers } from './rows.ts';
import { DOMAIN, nodeName, pings, reaches, type Fixture, type Member } from '../../support/vpn/fixture.ts';
import { hangAfter } from '../../support/busy.ts';
import { METRICS_SOURCES } from '../../../actors/resources/node-metrics.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'curl', 'iperf3', 'wg', 'wireguard-go');

/** All tests of one fixture, on a busy machine, in ms. */
const TEST_MS_MAX = 300_000;

/** Timeout of a direct path, in ms: a first try that a busy machine spoils is followed by another after a minute. */
const DIRECT_MS_MAX = 150_000;

const scope = createScope();
let fixture: Fixture;
let members: Everybody['members'];
/** In the other cluster. */
let stranger: Member;

const member = (name: MemberName): Member => members[name];
const own = (name: MemberName): string => nodeName(member(name), 'red');

test.before(async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  ({ fixture, members, stranger } = await startEverybody(scope));
});

ava.after.always(() => scope.end());

test.serial('everybody reaches everybody by name, directly where a way can be found, else by a relay', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  for (const round of ROUNDS) {
    await Promise.all(
      round.map(async ([one, other]) => {
        await Promise.all([reaches(member(one), own(other)), reaches(member(other), own(one))]);
        t.is(await asks(member(one), own(other)), other, `${one} asked`);
        t.is(await asks(member(other), own(one)), one, `${other} asked`);
        t.is(await asks(member(one), own(other), '-6'), other, `${one} asked by IPv6`);
        const { end } = await sendByIperf(member(one).machine, own(other), ['--bytes', '4M']);
        t.true(end.sum_received.bytes > 0, `${one} sends to ${other}`);
      }),
    );
  }
  for (const [one, other] of ROUNDS.flat()) {
    const path = isRelayed(one, other) ? 'relayed' : 'direct';
    await fixture.untilPath(member(one), member(other), path, DIRECT_MS_MAX);
  }
  t.regex((await fixture.pathTo(member('easy'), member('lan')))?.endpoint ?? '', /^192\.168\.1\./u);
});

test.serial(
  'a machine has its own name, the gateway has one too, and the cluster is also called by its longer name',
  async (t) => {
    await reaches(member('easy'), own('easy'));
    await reaches(member('hard'), `node-${member('public').node}.cluster-red.${DOMAIN}`);
    await t.notThrowsAsync(reaches(member('far'), `gateway.red.${DOMAIN}`));
  },
);

test.serial(
  'an alias soon resolves to its node on all members, not outside of the cluster, and nowhere once deleted',
  async (t) => {
    const name = `printer.red.${DOMAIN}`;
    const resolvesAt = (machine: Machine) => machine.succeeds('getent', ['hosts', name]);
    const began = performance.now();
    const alias = await fixture.rest.post<AliasResource>(`/nodes/${member('hard').node}/aliases`, { name: 'printer' });

    await Promise.all(
      Object.values(members).map((one) => until(`${name} at ${one.machine.name}`, () => resolvesAt(one.machine))),
    );

    t.log(`all members know an alias after ${Math.round(performance.now() - began)} ms`);
    t.is(await asks(member('easy'), name), 'hard');
    t.log(`and it was used after ${Math.round(performance.now() - began)} ms`);
    t.deepEqual(await Promise.all([stranger.machine, fixture.host].map(resolvesAt)), [false, false]);
    t.is((await settledAnswer(() => fixture.rest.call('DELETE', `/aliases/${alias.id}`))).status, 204);
    t.log(`deleted after ${Math.round(performance.now() - began)} ms`);
    await Promise.all(
      Object.values(members).map((one) =>
        until(`${name} gone at ${one.machine.name}`, async () => !(await resolvesAt(one.machine))),
      ),
    );
    t.log(`and gone everywhere after ${Math.round(performance.now() - began)} ms`);
  },
);

test.serial(
  'the admin refuses and logs false endpoints, requests for foreign peers, and the key of another member',
  async (t) => {
    const [one, other] = [makeKeyPair().publicKey, await fixture.keyOf(member('public'))];
    const session = await enter('blue');
    const advertise = (publicKey: string, endpoints: string[]): void =>
      session.send({
        type: 'mesh-advertise',
        advertisement: { public_key: publicKey, listen_port: 4_000, endpoints, relay_region: null, revision: null },
      });

    advertise(other, []);
    await session.frame('mesh-refused');
    advertise(one, [
      '8.8.8.8:4000',
      '100.100.100.200:80',
      '192.168.7.7:4000',
      `${member('public').machine.address}:53`,
    ]);
    const { peers } = await session.frame('mesh-network');
    session.send({ type: 'mesh-try', public_key: other });

    t.deepEqual(
      peers.map(({ node }) => node),
      [null, stranger.node],
    );
    const [row] = await fixture.sql<{ endpoints: string[] }>(
      'select endpoints from mesh_member where public_key = $1',
      [one],
    );
    t.deepEqual(
      row?.endpoints.filter((endpoint) => !/^(?:192\.168|100)\./u.test(endpoint)),
      [],
    );
    for (const message of [
      'a node was not let into the VPN of its cluster',
      'a node names addresses that are not its own as places where it is reached: they are left out',
      'a node wants a path to what is no peer of its own',
    ]) {
      t.truthy(await fixture.admin.logged(message));
    }
    t.is(
      session.frames.some(({ type }) => type === 'mesh-try'),
      false,
    );
    t.is(await fixture.keyOf(member('public')), other);
    await reaches(member('easy'), own('public'));
  },
);

test.serial(
  'a node that moves is reached in its new cluster by its new name, and from the old one by nothing',
  async (t) => {
    const moved = member('lan');
    const before = await addressOf(moved);
    const { status } = await settledAnswer(() =>
      fixture.rest.call('POST', `/nodes/${moved.node}/change_cluster`, { body: { cluster_name: 'blue' } }),
    );
    t.is(status, 200);

    await reaches(stranger, nodeName(moved, 'blue'));
    await reaches(moved, nodeName(stranger, 'blue'));
    await Promise.all(
      (['public', 'easy', 'far'] as const).map((name) =>
        until(
          `${name} to forget it`,
          async () => !(await pings(member(name), before)) && !(await pings(member(name), own('lan'))),
        ),
      ),
    );
    t.deepEqual(
      await Promise.all([
        pings(moved, await addressOf(member('public'))),
        pings(moved, own('easy')),
        pings(member('easy'), await addressOf(moved)),
      ]),
      [false, false, false],
    );
  },
);

test.serial('packets of a node that was deleted are dropped by all', async (t) => {
  const deleted = member('far');
  const addresses = await Promise.all(
    (['public', 'easy', 'hard', 'blocked'] as const).map((name) => addressOf(member(name))),
  );
  const key = await fixture.keyOf(deleted);
  const began = performance.now();
  t.is((await fixture.rest.call('DELETE', `/nodes/${deleted.node}`)).status, 204);

  const left = [member('public'), member('easy'), member('hard'), member('blocked')];
  await Promise.all(
    left.map((one) =>
      until(
        `${one.machine.name} without it`,
        async () => !(await one.peers()).some(({ publicKey }) => publicKey === key),
      ),
    ),
  );

  t.log(`gone from all interfaces after ${Math.round(performance.now() - began)} ms`);
  t.deepEqual(await Promise.all(addresses.map((address) => pings(deleted, address))), [false, false, false, false]);
  await reaches(member('public'), own('easy'));
});

test.serial('no address of the VPN is in an answer, an event, a metric, or a line of the log at info', async (t) => {
  const addresses = [...new Set((await rowMembers(fixture)).flatMap(({ peer }) => [peer.ipv4, peer.ipv6]))];
  t.true(addresses.length >= 12);
  const nodes = [member('public'), member('easy'), member('hard'), stranger];
  const paths = [
    '/nodes',
    '/clusters',
    '/clusters/red',
    '/aliases',
    '/admins',
    '/admins/me',
    '/admins/me/metrics',
    '/admins/me/metrics/raw',
    '/admins/topology',
    '/events?page_size=100',
    ...nodes.flatMap(({ node }) => [
      `/nodes/${node}`,
      `/nodes/${node}/diagnostics`,
      `/nodes/${node}/metrics`,
      ...METRICS_SOURCES.map((source) => `/nodes/${node}/metrics/${source}/raw`),
    ]),
  ];
  const said = await Promise.all(
    paths.map(async (path) => ({
      place: path,
      text: (await fixture.rest.call('GET', path, { headers: { authorization: `Bearer ${FLEET_KEYS.MASTER_KEY}` } }))
        .text,
    })),
  );
  const events = { place: 'events', text: JSON.stringify(await fixture.sql('select data::text from event')) };
  const logs = [fixture.admin, ...[...Object.values(members), stranger].flatMap(({ runs }) => runs)].map((program) => ({
    place: `the log of ${program.pid}`,
    text: program
      .lines()
      .filter(({ level }) => level !== 'debug')
      .map((line) => JSON.stringify(line))
      .join('\n'),
  }));

  const forms = addresses.map(
    (address) => new RegExp(`(?<![\\d.:a-f])${address.replaceAll('.', '\\.')}(?![\\d:a-f/])(?!\\.\\d)`, 'u'),
  );
  t.deepEqual(
    [...said, events, ...logs].flatMap(({ place, text }) =>
      forms.filter((form) => form.test(text)).map((form) => `${form.source} in ${place}`),
    ),
    [],
  );
  t.true(
    said.every(({ text }) => text.length > 2) &&
      said.some(({ text }) => text.includes('wireguard_latest_handshake_seconds')),
    'they were asked',
  );
  t.true(
    forms.some((form) => form.test(`x ${addresses[0]} y`)),
    'they would be found',
  );
});

async function addressOf({ node }: Member): Promise<string> {
  return (await rowMembers(fixture)).find(({ peer }) => peer.node === node)?.peer.ipv4 ?? '';
}

/** A node without an agent, by whose session the test says what it wants. */
async function enter(cluster: string): Promise<RawSession> {
  const answer = await fixture.rest.post<EnrollAnswer>('/agents/enroll', enrollment((await fixture.key(cluster)).key));
  const session = await rawAgent(scope, () => fixture.url, answer).connect({ protocol: 4 });
  return session;
}

/** What the server of a machine says, which is its name. */
async function asks(from: Member, name: string, ...words: readonly string[]): Promise<string> {
  return (await from.machine.run('curl', [...words, '-s', '-m', '20', `http://${name}:8080/`])).stdout;
}
