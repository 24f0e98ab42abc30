/**
 * The gateway of an admin with a real interface and a real firewall, in so many clusters of so many members, at a UDP
 * port if one is given. Says each second how it is, and how long the process stood still.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import { openGateway } from '../../../../transport/vpn/gateway/open-gateway.ts';
import { systemClock } from '../../../../transport/net/clock.ts';
import type { GatewayVpn } from '../../../../actors/vpn/effects.ts';
import type { ClusterId, NodeId } from '../../../../transport/protocol/ids.ts';
import type { VpnPeer } from '../../../../transport/protocol/vpn.ts';
import type { Log } from '../../../../transport/net/log.ts';

/** Between two lines, in ms. */
const SAY_MS = 250;

const [adminId = '', clusters = '', membersEach = '', port = '0'] = process.argv.slice(2);

const say = (line: object): void => console.log(JSON.stringify(line));
const warned =
  (level: string) =>
  (fields: object, message: string): void =>
    say({ level, msg: message, ...fields });
const log: Log = { debug() {}, info() {}, warn: warned('warn'), error: warned('error') };

const gateway = openGateway(
  adminId,
  { isEnabled: true, port: Number(port), host: null, peersMax: 20_000 },
  {
    clock: systemClock,
    log,
    monotonicMs: () => performance.now(),
    epochOf: () => 1,
    isFresh: () => true,
    isPlain: () => true,
    store: async () => Promise.resolve(true),
    send() {},
    upgrade: (_request, socket) => {
      socket.destroy();
    },
    relayMapUrls: () => [],
    adminUrls: () => [],
  },
);

const uuid = (...numbers: readonly [number, number]): string =>
  `0190f5c2-7a11-7c3e-8f00-${numbers.map((number) => number.toString(16).padStart(6, '0')).join('')}`;

function vpnOf(number: number): GatewayVpn {
  const [third, fourth] = [number >> 8, number & 0xff];
  const members = Array.from({ length: Number(membersEach) }, (_, index): VpnPeer => ({
    node: uuid(number, index + 1) as NodeId,
    public_key: makeKeyPair().publicKey,
    ipv4: `10.${third}.${fourth}.${index + 2}`,
    ipv6: `fd00:0:1:${(number + 1).toString(16)}::${(index + 2).toString(16)}`,
    endpoints: [],
    relay_region: null,
    aliases: [],
  }));
  return {
    cluster: uuid(number, 0) as ClusterId,
    clusterName: `c${number}`,
    ipv4Range: `10.${third}.${fourth}.0/24`,
    ipv6Range: `fd00:0:1:${(number + 1).toString(16)}::/64`,
    peers: new Map(members.map((peer) => [peer.public_key, peer])),
    leftOut: [],
  };
}

const stalls = monitorEventLoopDelay({ resolution: 10 });
stalls.enable();
for (let number = 0; number < Number(clusters); number += 1) gateway.become(vpnOf(number));
setInterval(() => {
  const readings = gateway.readings();
  say({
    msg: 'now',
    ...gateway.state(),
    joined: readings?.joined ?? 0,
    leftOut: readings?.leftOut ?? 0,
    peers: readings?.peers.none ?? 0,
    stallMs: Math.round(stalls.max / 1e6),
    cpuMs: Math.round(process.cpuUsage().user / 1_000),
  });
}, SAY_MS);

process.once(
  'SIGTERM',
  () =>
    void gateway.close().then(() => {
      say({ msg: 'closed' });
      process.exit(0);
    }),
);
