/** Counters of the network protocols. */
import type { Collector } from './collector.ts';
import { numberOrNull, type HostFiles } from './files.ts';

/** The fields that are served, of several hundred. Source: node_exporter's flag collector.netstat.fields, and Tcp_MaxConn and Icmp errors that its community's dashboard asks for. */
const SERVED = /^(?:\w+_(?:InErrors|InErrs)|Ip_Forwarding|Ip(?:6|Ext)_(?:InOctets|OutOctets)|Icmp6?_(?:InMsgs|OutMsgs)|TcpExt_(?:Listen\w*|Syncookies\w*|TCPSynRetrans|TCPTimeouts|TCPOFOQueue|TCPRcvQDrop)|Tcp_(?:ActiveOpens|InSegs|OutSegs|OutRsts|PassiveOpens|RetransSegs|CurrEstab|MaxConn)|Udp6?_(?:InDatagrams|OutDatagrams|NoPorts|RcvbufErrors|SndbufErrors))$/u;

/** Of /proc/net/netstat, snmp, and snmp6 where there is IPv6. */
export const netstat: Collector = {
  name: 'netstat',
  collect(out, host) {
    const fields = new Map([...pairs(host.proc('net/netstat')), ...pairs(host.proc('net/snmp')), ...lines(host)]);
    for (const [name, text] of fields) if (SERVED.test(name)) out.single(`node_netstat_${name}`, 'untyped', `Statistic ${name.replace('_', '')}.`, numberOrNull(text));
  },
};

/** Two lines a protocol: its names, then its numbers. */
function pairs(text: string): (readonly [name: string, number: string])[] {
  const all = text.split('\n');
  return all.flatMap((line, index) => {
    if (index % 2 === 1) return [];
    const [protocol = '', ...names] = line.split(' ');
    const [, ...numbers] = (all[index + 1] ?? '').split(' ');
    return names.map((name, place) => [`${protocol.slice(0, -1)}_${name}`, numbers[place] ?? ''] as const);
  });
}

/** A line a number, with the protocol at the beginning of its name, up to its 6. */
function lines(host: HostFiles): (readonly [name: string, number: string])[] {
  const text = host.procOrNull('net/snmp6') ?? '';
  return [...text.matchAll(/^(?<protocol>[A-Za-z]+6)(?<name>\w+)\s+(?<number>\d+)$/gmu)].map(({ groups }) => [`${groups?.['protocol']}_${groups?.['name']}`, groups?.['number'] ?? ''] as const);
}
