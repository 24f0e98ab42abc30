/** Bytes that wait in the sockets of UDP. */
import type { Collector } from './collector.ts';

/** Of /proc/net/udp, and udp6 where there is IPv6. */
export const udpQueues: Collector = {
  name: 'udp_queues',
  collect(out, host) {
    out.family('node_udp_queues', 'gauge', 'Number of allocated memory in the kernel for UDP datagrams in bytes.');
    for (const [ip, text] of [
      ['v4', host.proc('net/udp')],
      ['v6', host.procOrNull('net/udp6')],
    ] as const) {
      if (text === null) continue;
      // addresses are followed by ports of four digits
      const queues = [...text.matchAll(/ (?<sent>[\dA-F]{8}):(?<received>[\dA-F]{8}) /gu)];
      const sum = (queue: 'sent' | 'received'): number =>
        queues.reduce((bytes, { groups }) => bytes + Number.parseInt(groups?.[queue] ?? '', 16), 0);
      out
        .sample('node_udp_queues', sum('sent'), `{ip="${ip}",queue="tx"}`)
        .sample('node_udp_queues', sum('received'), `{ip="${ip}",queue="rx"}`);
    }
  },
};
