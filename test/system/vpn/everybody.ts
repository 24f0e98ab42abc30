/** One VPN with a member on every kind of network, and somebody in another one. */
import { serveIperf } from '../../support/networks/iperf.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { connected, startFixture, type Fixture, type Member } from '../../support/vpn/fixture.ts';

/** Names of the members. `lan` stands beside `easy`, behind the same NAT. */
export const MEMBERS = ['public', 'easy', 'lan', 'far', 'hard', 'blocked'] as const;
/** One of them. */
export type MemberName = (typeof MEMBERS)[number];

/** Rounds in which everybody meets everybody once, each busy with one other at a time. */
export const ROUNDS: readonly (readonly (readonly [MemberName, MemberName])[])[] = [
  [
    ['public', 'blocked'],
    ['easy', 'hard'],
    ['lan', 'far'],
  ],
  [
    ['public', 'hard'],
    ['blocked', 'far'],
    ['easy', 'lan'],
  ],
  [
    ['public', 'far'],
    ['hard', 'lan'],
    ['blocked', 'easy'],
  ],
  [
    ['public', 'lan'],
    ['far', 'easy'],
    ['hard', 'blocked'],
  ],
  [
    ['public', 'easy'],
    ['lan', 'blocked'],
    ['far', 'hard'],
  ],
];

/**
 * Pairs of which one side's ports are another for everybody, or who have no UDP at all: nothing but a relay is between
 * them.
 */
export const isRelayed = (one: MemberName, other: MemberName): boolean =>
  [one, other].includes('blocked') || ([one, other].includes('hard') && ![one, other].includes('public'));

/** Says the name of its machine to whoever asks. */
const SERVER = `require('node:http').createServer((_, answer) => answer.end(process.argv[1])).listen(8080, '::', () => console.log('serves'));`;

/** All of them, connected. */
export interface Everybody {
  readonly fixture: Fixture;
  /** In the cluster `red`. */
  readonly members: Readonly<Record<MemberName, Member>>;
  /** In the other cluster, `blue`. */
  readonly stranger: Member;
}

/**
 * Starts them with the admin; they end with the scope. On each member's machine a server says its name, by HTTP at port
 * 8080, and iperf3 listens.
 */
export async function startEverybody(scope: Scope): Promise<Everybody> {
  const fixture = await startFixture(scope);
  for (const name of ['red', 'blue']) await fixture.rest.post('/clusters', { name });
  const { internet } = fixture;
  const [home, other, hotel, office] = await Promise.all([
    internet.nat('easy'),
    internet.nat('easy'),
    internet.nat('hard'),
    internet.nat('udp-blocked'),
  ]);
  const [open, outside, easy, lan, far, hard, blocked] = await Promise.all([
    internet.host('public'),
    internet.host('stranger'),
    home.machine('easy'),
    home.machine('lan'),
    other.machine('far'),
    hotel.machine('hard'),
    office.machine('blocked'),
  ]);
  // Here a resolver can be used: there is somebody to ask for all other names.
  await open.run('sh', ['-c', `echo 'nameserver ${fixture.host.address}' > /etc/resolv.conf`]);
  const stranger = await fixture.member(outside, 'blue');
  const machines = { public: open, easy, lan, far, hard, blocked };
  const members = Object.fromEntries(
    await Promise.all(
      MEMBERS.map(async (name) => {
        const machine = machines[name];
        serveIperf(machine);
        const server = machine.spawn(process.execPath, ['-e', SERVER, name]);
        await until('its server', () => server.output.includes('serves'));
        return [name, await fixture.member(machine, 'red')];
      }),
    ),
  ) as Record<MemberName, Member>;
  await connected(stranger, ...Object.values(members));
  return { fixture, members, stranger };
}
