/** One VPN whose members stand on every kind of network, and connections through it. */
import { startInternet, type Internet, type Nat } from '../../../support/networks/internet.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { mapOfRelays, startRelayOn, startVpn, type TestMember, type TestVpn } from '../../../support/vpn/members.ts';

/** Everybody, on every kind of network. `near` and `neighbour` stand on one LAN. */
export interface Everybody {
  readonly near: TestMember;
  readonly neighbour: TestMember;
  readonly easy: TestMember;
  readonly hard: TestMember;
  readonly blocked: TestMember;
  readonly open: TestMember;
  readonly home: Nat;
  readonly office: Nat;
  readonly vpn: TestVpn;
  readonly internet: Internet;
}

/** Starts a relay and all of them; they end with the scope. */
export async function startEverybody(scope: Scope): Promise<Everybody> {
  const internet = await startInternet(scope);
  const relay = await startRelayOn(await internet.host('hub'), 900);
  const vpn = startVpn(scope, () => mapOfRelays([relay]));
  const [home, office, hotel, ship] = [
    await internet.nat('easy'),
    await internet.nat('easy'),
    await internet.nat('hard'),
    await internet.nat('udp-blocked'),
  ];
  const [near, neighbour, easy, hard, blocked, open] = await Promise.all([
    vpn.join(await home.machine('near'), home.address),
    vpn.join(await home.machine('neighbour'), home.address),
    vpn.join(await office.machine('easy'), office.address),
    vpn.join(await hotel.machine('hard'), hotel.address),
    vpn.join(await ship.machine('blocked'), ship.address),
    vpn.join(await internet.host('open')),
  ]);
  return { near, neighbour, easy, hard, blocked, open, home, office, vpn, internet };
}

/** A connection that is used all the time. */
export interface Talk {
  /** Waits until more was heard, or it broke. Whether it goes on. */
  goesOn(): Promise<boolean>;
}

/** A TCP connection through the VPN that carries a dot each 100 ms, both ways. */
export async function startTalk(from: TestMember, to: TestMember): Promise<Talk> {
  const server = to.machine.spawn(process.execPath, [
    '-e',
    `require('net').createServer((s) => s.on('error', () => {}).pipe(s)).listen(7000, '${to.ipv4}', () => console.log('{"msg":"listening"}'))`,
  ]);
  await server.logged('listening');
  const client = from.machine.spawn(process.execPath, [
    '-e',
    `
    const s = require('net').connect(7000, '${to.ipv4}', () => setInterval(() => s.write('.'), 100));
    s.on('data', (d) => process.stdout.write(d.toString())).on('error', (e) => { console.log('!' + e.code); process.exit(1); }).on('close', () => process.exit(1));
  `,
  ]);
  const lines = () => client.output.length;
  await until('a talk over TCP', () => lines() > 3);
  return {
    async goesOn() {
      const before = lines();
      await until('the talk goes on', () => lines() > before + 5 || client.exit !== null);
      return client.exit === null;
    },
  };
}
