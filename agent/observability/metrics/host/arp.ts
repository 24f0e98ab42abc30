/** Neighbours by interface. */
import { addTable, rowsOf, type Collector } from './collector.ts';

/** Of /proc/net/arp: how many, never who. */
export const arp: Collector = {
  name: 'arp',
  collect(out, host) {
    const counts = new Map<string, number>();
    for (const line of host.proc('net/arp').split('\n').slice(1)) {
      const device = line.trim().split(/ +/u)[5];
      if (device !== undefined) counts.set(device, (counts.get(device) ?? 0) + 1);
    }
    addTable(
      out,
      [{ name: 'node_arp_entries', help: 'ARP entries by device', of: (count) => count }],
      rowsOf(
        host,
        counts,
        ([device]) => ({ device }),
        ([, count]) => count,
      ),
    );
  },
};
