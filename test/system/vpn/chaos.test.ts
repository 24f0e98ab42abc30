/**
 * A thousand random changes of who is where, by several at once, over kills of the admin: in the end everybody's
 * VPN is exactly what the rows say.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joined } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { AliasResource } from '../../../actors/resources/node.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import type { VpnPeer } from '../../../transport/protocol/vpn.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { startVpnMember, type VpnMember } from '../../support/fleet/vpn-member.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { until } from '../../support/until.ts';
import { rowMembers } from './rows.ts';
import { hangAfter } from '../../support/busy.ts';

const OPERATIONS = 1_000;

/** Who do them side by side. */
const WORKERS = 12;

/** The admin is killed when so many operations are done. */
const KILLS = [250, 500, 750];

const CLUSTERS = ['red', 'green', 'blue'] as const;
const MEMBERS_MIN = 10;
const MEMBERS_MAX = 36;
const ALIASES = 12;

/** All operations and what comes of them, on a busy machine, in ms. */
const CHAOS_MS_MAX = 240_000;

/**
 * Each member stores each state durably, at once: in memory, where there is some, all of them together do not wait for
 * a disk.
 */
const FILES = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Of what is wrong, so many are shown, and of a key so many digits. */
const SHOWN_MAX = 6;
const KEY_SHOWN = 6;

const SEED = Number(process.env['VPN_SEED'] ?? randomInt(2 ** 31));

interface Fixture {
  readonly fleet: Fleet;
  readonly members: Map<string, VpnMember>;
  /** All that ever were, for what they were told. */
  readonly everyone: VpnMember[];
  readonly keys: ReadonlyMap<string, string>;
  readonly t: ExecutionContext;
  readonly directory: string;
  readonly pick: <T>(things: readonly T[]) => T;
}

/** What may happen, and how often. */
const ACTIONS: readonly (readonly [number, (fixture: Fixture) => Promise<unknown>])[] = [
  [26, join],
  [18, leave],
  [
    22,
    ({ fleet, members, pick }) =>
      fleet.rest.call('POST', `/nodes/${pick([...members.keys()])}/change_cluster`, {
        body: { cluster_name: pick(CLUSTERS) },
      }),
  ],
  [
    12,
    async ({ members, pick }) =>
      Promise.resolve(pick([...members.values()]).move(`192.168.${pick([1, 2, 3])}.7:${randomInt(1_024, 65_536)}`)),
  ],
  [
    8,
    ({ fleet, members, pick }) =>
      fleet.rest.call('POST', `/nodes/${pick([...members.keys()])}/aliases`, {
        body: { name: `alias-${pick([...Array(ALIASES).keys()])}` },
      }),
  ],
  [6, dropAlias],
  [4, async ({ members, pick }) => Promise.resolve(pick([...members.values()]).rotate())],
  [4, async ({ members, pick }) => Promise.resolve(pick([...members.values()]).cut())],
];

test('after a thousand joins, leaves and moves members hold exactly the VPN of the rows, the same at each revision', async (t) => {
  t.timeout(hangAfter(CHAOS_MS_MAX));
  t.log(`VPN_SEED=${SEED}`);
  const fixture = await startFixture(t);
  let done = 0;
  let kill = Promise.resolve();
  const work = async (): Promise<void> => {
    while (done < OPERATIONS) {
      done += 1;
      if (KILLS.includes(done)) kill = killed(fixture);
      await actionOf(fixture)(fixture).catch(() => kill); // what was under way may or may not have happened: the rows say it
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await kill;

  await until(
    'everybody to have the VPN of the rows',
    async () => {
      const wrong = await differences(fixture);
      if (wrong.length > 0) throw new Error(`${wrong.length} do not: ${wrong.slice(0, 3).join('; ')}`);
      return true;
    },
    60_000,
  );
  t.deepEqual(contradictions(fixture.everyone), []);
  t.deepEqual(addressesOfTwo(fixture.everyone), []);
  const counted = await fixture.fleet.sql(
    'select count(*)::int as members, count(*) filter (where m.cluster_id <> n.cluster_id)::int as strays from mesh_member m join node n on n.id = m.node_id',
  );
  t.deepEqual(counted, [{ members: fixture.members.size, strays: 0 }]);
  t.log(
    `${fixture.everyone.length} members came, ${fixture.members.size} are there, who were told of ${fixture.everyone.reduce((sum, { networkMaps }) => sum + networkMaps.length, 0)} states`,
  );
});

async function startFixture(t: ExecutionContext): Promise<Fixture> {
  const fleet = await startFleet(t);
  const keys = new Map<string, string>();
  for (const name of CLUSTERS) {
    await fleet.rest.post('/clusters', { name });
    keys.set(
      name,
      (await fleet.rest.post<EnrollmentKeyResource>(`/clusters/${name}/enrollment_keys`, { uses_remaining: null })).key,
    );
  }
  const directory = await mkdtemp(joined(FILES, 'edge-vpn-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  let state = SEED;
  const random = (): number => (state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0) / 2 ** 32;
  const fixture: Fixture = {
    fleet,
    keys,
    t,
    directory,
    members: new Map(),
    everyone: [],
    pick: <T>(things: readonly T[]) => things[Math.floor(random() * things.length)] as T,
  };
  for (let count = 0; count < MEMBERS_MIN; count += 1) await join(fixture);
  return fixture;
}

function actionOf({ members, pick }: Fixture): (fixture: Fixture) => Promise<unknown> {
  if (members.size <= MEMBERS_MIN) return join;
  if (members.size >= MEMBERS_MAX) return leave;
  return pick(ACTIONS.flatMap(([weight, act]) => Array.from({ length: weight }, () => act)));
}

async function join({ fleet, members, everyone, keys, t, directory, pick }: Fixture): Promise<void> {
  const answer = await fleet.rest.post<EnrollAnswer>(
    '/agents/enroll',
    enrollment(keys.get(pick(CLUSTERS)) ?? '', randomUUID()),
  );
  const member = startVpnMember(t, fleet.admin().url, answer, directory);
  everyone.push(member);
  members.set(member.node, member);
}

/**
 * Asked again until there is an answer, since one is lost with the admin that is killed: 404 says then that it was
 * done.
 */
async function leave({ fleet, members, pick }: Fixture): Promise<void> {
  const node = pick([...members.keys()]);
  await until('a node to be gone', async () => {
    const { status, text } = await fleet.rest.call('DELETE', `/nodes/${node}`);
    if (status !== 204 && status !== 404) throw new Error(`the admin answered ${status}: ${text}`);
    return true;
  });
  members.delete(node);
}

async function dropAlias({ fleet, pick }: Fixture): Promise<void> {
  const aliases = await fleet.rest.get<readonly AliasResource[]>('/aliases?page_size=100');
  if (aliases.length > 0) await fleet.rest.call('DELETE', `/aliases/${pick(aliases).id}`);
}

async function killed({ fleet }: Fixture): Promise<void> {
  const admin = fleet.admin();
  await admin.kill();
  await admin.start();
}

/** What members hold that the rows do not say, or the other way round. */
async function differences({ fleet, members }: Fixture): Promise<string[]> {
  const rows = await rowMembers(fleet);
  return [...members.values()].flatMap((member): string[] => {
    const row = rows.find(({ peer }) => peer.node === member.node);
    const networkMap = member.networkMaps.at(-1);
    if (row === undefined || networkMap === undefined)
      return [`${member.node} has no ${row === undefined ? 'row' : 'network'}`];
    const { cluster, peer: own } = row;
    const held = [
      ...networkMap.peers.values(),
      {
        ...own,
        public_key: networkMap.network.public_key,
        ipv4: networkMap.network.ipv4,
        ipv6: networkMap.network.ipv6,
        aliases: networkMap.network.aliases,
      },
    ];
    const wanted = rows.filter((one) => one.cluster === cluster).map(({ peer }) => peer);
    if (networkMap.network.cluster_name !== cluster || sorted(held) !== sorted(wanted))
      return [
        `${member.node} of ${cluster} holds ${networkMap.network.cluster_name} ${sorted(held)} and not ${sorted(wanted)}`,
      ];
    // What it would make its interface of is what it was told.
    return member.wanted?.peers === networkMap.peers ||
      sorted([...(member.wanted?.peers.values() ?? [])]) === sorted([...networkMap.peers.values()])
      ? []
      : [`${member.node} does not do what it was told`];
  });
}

function sorted(peers: readonly VpnPeer[]): string {
  return JSON.stringify(
    peers
      .map(({ node, public_key, ipv4, ipv6, endpoints, relay_region, aliases }) => [
        public_key,
        node,
        ipv4,
        ipv6,
        endpoints,
        relay_region,
        aliases,
      ])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
}

/**
 * States of one cluster that two members hold differently, in who is there or in what somebody is, and members that are
 * their own peers. The first of them.
 */
function contradictions(everyone: readonly VpnMember[]): string[] {
  const keysOf = new Map<string, string>();
  const peerOf = new Map<string, string>();
  const found: string[] = [];
  const once = (known: Map<string, string>, key: string, value: string): void => {
    const before = known.get(key);
    if (before !== undefined && before !== value) found.push(`${key}: ${before} and ${value}`);
    known.set(key, value);
  };
  const short = (key: string): string => key.slice(0, KEY_SHOWN);
  for (const { networkMaps } of everyone) {
    for (const {
      revision: { epoch, number },
      network,
      peers,
    } of networkMaps) {
      const state = `${network.cluster_name} ${epoch}.${number}`;
      if (peers.has(network.public_key)) found.push(`${state}: ${short(network.public_key)} is its own peer`);
      else once(keysOf, state, [...peers.keys(), network.public_key].map(short).toSorted().join(' '));
      for (const peer of peers.values()) once(peerOf, `${state} ${short(peer.public_key)}`, sorted([peer]));
    }
  }
  return found.slice(0, SHOWN_MAX);
}

/** Addresses that more than one node had: none comes again within a day. */
function addressesOfTwo(everyone: readonly VpnMember[]): string[] {
  const nodesOf = Map.groupBy(
    everyone.flatMap(({ node, networkMaps }) =>
      [...new Set(networkMaps.flatMap(({ network }) => [network.ipv4, network.ipv6]))].map((address) => ({
        node,
        address,
      })),
    ),
    ({ address }) => address,
  );
  return [...nodesOf].filter(([, uses]) => uses.length > 1).map(([address]) => address);
}
