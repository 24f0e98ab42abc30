/** Counters of the network protocols. */
import type { Exposition } from '../../../../transport/net/exposition/exposition.ts';
import type { Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/**
 * Fields of every protocol, and of some besides: of several hundred. Source: node_exporter's flag
 * collector.netstat.fields, with Tcp_MaxConn, which its community's dashboard asks for.
 */
const ERRORS = ['InErrors', 'InErrs'] as const;
const SERVED: Readonly<Record<string, readonly string[]>> = {
  Ip: ['Forwarding'],
  IpExt: ['InOctets', 'OutOctets'],
  Ip6: ['InOctets', 'OutOctets'],
  Icmp: ['InMsgs', 'OutMsgs'],
  Icmp6: ['InMsgs', 'OutMsgs'],
  Tcp: ['ActiveOpens', 'PassiveOpens', 'CurrEstab', 'InSegs', 'OutSegs', 'OutRsts', 'RetransSegs', 'MaxConn'],
  TcpExt: [
    'ListenDrops',
    'ListenOverflows',
    'SyncookiesFailed',
    'SyncookiesRecv',
    'SyncookiesSent',
    'TCPSynRetrans',
    'TCPTimeouts',
    'TCPOFOQueue',
    'TCPRcvQDrop',
  ],
  Udp: ['InDatagrams', 'OutDatagrams', 'NoPorts', 'RcvbufErrors', 'SndbufErrors'],
  Udp6: ['InDatagrams', 'OutDatagrams', 'NoPorts', 'RcvbufErrors', 'SndbufErrors'],
};

/** Protocols of /proc/net/snmp6. */
const VERSION_6 = ['Ip6', 'Icmp6', 'Udp6', 'UdpLite6'] as const;

/** Of /proc/net/netstat, snmp, and snmp6 where there is IPv6. */
export const netstat: Collector = {
  name: 'netstat',
  collect(out, host) {
    const seen = new Set<string>();
    addPairs(out, host.proc('net/netstat'), seen);
    addPairs(out, host.proc('net/snmp'), seen);
    const text = `\n${host.procOrNull('net/snmp6') ?? ''}\n`;
    for (const protocol of VERSION_6)
      for (const name of fieldsOf(protocol)) add(out, protocol, name, lineOf(text, protocol + name), seen);
  },
};

function fieldsOf(protocol: string): readonly string[] {
  return [...ERRORS, ...(SERVED[protocol] ?? [])];
}

/** Two lines a protocol: its names, then its numbers. */
function addPairs(out: Exposition, text: string, seen: Set<string>): void {
  const lines = text.split('\n');
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const names = (lines[index] ?? '').split(' ');
    const numbers = (lines[index + 1] ?? '').split(' ');
    const protocol = names[0]?.slice(0, -1) ?? '';
    if (!/^\w+$/u.test(protocol)) continue;
    for (const name of fieldsOf(protocol)) {
      const place = names.indexOf(name, 1);
      if (place > 0) add(out, protocol, name, numbers[place], seen);
    }
  }
}

/** A line a number: `Ip6InReceives  123`. */
function lineOf(text: string, name: string): string | undefined {
  const start = text.indexOf(`\n${name} `) + 1;
  return start === 0 ? undefined : text.slice(start + name.length, text.indexOf('\n', start)).trim();
}

/** A name comes once, whatever the files say. */
function add(out: Exposition, protocol: string, name: string, number: string | undefined, seen: Set<string>): void {
  const family = `${protocol}_${name}`;
  if (seen.has(family)) return;
  seen.add(family);
  out.single(`node_netstat_${family}`, 'untyped', `Statistic ${protocol}${name}.`, numberOrNull(number));
}
