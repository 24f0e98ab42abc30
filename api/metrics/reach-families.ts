/** Metrics of the ways to nodes: proxies, tunnels, VPNs, the observer and the relay. */
import { type Family, gauge, counter, one, by } from './family.ts';

/** All of them, in the order in which they are written. */
export const REACH_FAMILIES: readonly Family[] = [
  counter('proxy_connections_total', 'Connections that came to a proxy.', ['proxy'], ({ live: { proxies } }) =>
    proxies === null ? [] : by('proxy', { http: proxies.http.connections, socks5: proxies.socks5.connections }),
  ),
  counter(
    'proxy_blocked_total',
    'Clients of a proxy that were turned away, by reason.',
    ['proxy', 'reason'],
    ({ live: { proxies } }) =>
      proxies === null
        ? []
        : [
            ...by('reason', proxies.http.blocked, { proxy: 'http' }),
            ...by('reason', proxies.socks5.blocked, { proxy: 'socks5' }),
          ],
  ),
  counter(
    'proxy_bytes_total',
    'Bytes through the proxies; up is to the target.',
    ['direction'],
    ({ live: { proxies } }) => by('direction', proxies?.bytes),
  ),
  gauge(
    'proxy_tunnels',
    'Open connections of clients through the proxies to their targets.',
    [],
    ({ live: { proxies } }) => one(proxies?.open),
  ),
  counter(
    'proxy_tunnels_closed_total',
    'Connections through the proxies that ended, by reason.',
    ['reason'],
    ({ live: { proxies } }) => by('reason', proxies?.closed),
  ),
  counter(
    'reach_total',
    'Targets that clients of the proxies asked for: nodes (forward), or what is behind one (chain).',
    ['mode', 'outcome'],
    ({ live: { proxies } }) =>
      proxies === null
        ? []
        : [
            ...by('outcome', proxies.reach.forward, { mode: 'forward' }),
            ...by('outcome', proxies.reach.chain, { mode: 'chain' }),
          ],
  ),
  gauge('console_sessions', 'Sessions of the console that there are, at all admins.', [], ({ totals }) =>
    one(totals?.consoleSessions),
  ),
  gauge(
    'console_connections',
    'Open connections of pages of the console, terminals with them.',
    [],
    ({ live: { console: pages } }) => one(pages.connections),
  ),
  counter(
    'console_sign_ins_total',
    'Attempts to sign in to the console, by result.',
    ['result'],
    ({ live: { console: pages } }) => by('result', pages.signIns),
  ),
  gauge('terminals', 'Open connections of terminals by WebSocket.', [], ({ live: { terminals } }) =>
    one(terminals.open),
  ),
  counter(
    'terminals_opened_total',
    'Terminals by WebSocket in which somebody was logged in.',
    [],
    ({ live: { terminals } }) => one(terminals.opened),
  ),
  counter(
    'terminals_ended_total',
    'Terminals by WebSocket that ended, by reason.',
    ['reason'],
    ({ live: { terminals } }) => by('reason', terminals.ended),
  ),
  counter(
    'terminal_bytes_total',
    'Bytes of shells and files in terminals by WebSocket; up is to the node.',
    ['direction'],
    ({ live: { terminals } }) => by('direction', terminals.bytes),
  ),
  gauge('tunnels', 'Open tunnels to nodes.', [], ({ live }) => one(live.tunnels.open)),
  counter(
    'tunnels_opened_total',
    'Tunnels that nodes opened when they were asked to, by path: through the VPN, or to a URL of this admin.',
    ['path'],
    ({ live }) => by('path', live.tunnels.opened),
  ),
  gauge(
    'mesh_networks',
    'Networks of owned clusters that this admin has joined, and those left out for want of room. Absent where it is in none.',
    ['state'],
    ({ live: { gateway } }) =>
      gateway === null ? [] : by('state', { joined: gateway.joined, left_out: gateway.leftOut }),
  ),
  gauge(
    'mesh_peers',
    'Members of the networks that this admin has joined, by how packets go to them.',
    ['path'],
    ({ live: { gateway } }) => by('path', gateway?.peers),
  ),
  gauge(
    'observer_ports',
    'UDP ports on which this admin sees where members are, and those that it could not have or that are closed for a moment by a flood. Absent, as the rest of the observer, where it is switched off.',
    ['state'],
    ({ live: { observer } }) => (observer === null ? [] : by('state', observer.ports)),
  ),
  gauge('observer_members', 'Members that the observer sees now.', [], ({ live: { observer } }) =>
    one(observer?.members),
  ),
  counter(
    'observer_packets_total',
    'Packets that came to the observer, by what became of them.',
    ['outcome'],
    ({ live: { observer } }) => by('outcome', observer?.packets),
  ),
  counter('observer_told_total', 'Times that the observer told where a member is.', [], ({ live: { observer } }) =>
    one(observer?.told),
  ),
  counter(
    'observer_shut_total',
    'Times that a port of the observer was closed for some seconds, because it was flooded.',
    [],
    ({ live: { observer } }) => one(observer?.shut),
  ),
  gauge(
    'relay_clients',
    'Members that are connected to the relay of this admin. Absent, as the rest of the relay, where it has none.',
    [],
    ({ live: { relay } }) => one(relay?.clients),
  ),
  counter('relay_clients_opened_total', 'Connections to the relay that were admitted.', [], ({ live: { relay } }) =>
    one(relay?.opened),
  ),
  counter(
    'relay_refused_total',
    'Connections to the relay that were not, by reason: no proof of a key in time, no room, a key of nobody, or nobody could say.',
    ['reason'],
    ({ live: { relay } }) => by('reason', relay?.refused),
  ),
  counter('relay_packets_total', 'Packets that the relay handed on.', [], ({ live: { relay } }) => one(relay?.packets)),
  counter('relay_bytes_total', 'Bytes of these packets, which are ciphertext.', [], ({ live: { relay } }) =>
    one(relay?.bytes),
  ),
  counter(
    'relay_dropped_total',
    'Packets that the relay dropped, by reason: their destination is absent, shares no cluster with their source, or reads too slowly.',
    ['reason'],
    ({ live: { relay } }) => by('reason', relay?.dropped),
  ),
];
