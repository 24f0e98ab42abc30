/** What the network interfaces are: state, speed, size of packets. */
import { addInfo, addTable, DEVICES_MAX, rowsOf, type Collector, type Column } from './collector.ts';
import { numberOrNull, type HostFiles } from './files.ts';

/**
 * Attributes that can be read at any time, and what the family is called. Source: the kernel's
 * Documentation/ABI/testing/sysfs-class-net.
 */
const ATTRIBUTES = {
  address_assign_type: 'addr_assign_type',
  carrier_changes_total: 'carrier_changes',
  carrier_up_changes_total: 'carrier_up_count',
  carrier_down_changes_total: 'carrier_down_count',
  device_id: 'dev_id',
  flags: 'flags',
  iface_id: 'ifindex',
  iface_link: 'iflink',
  iface_link_mode: 'link_mode',
  mtu_bytes: 'mtu',
  name_assign_type: 'name_assign_type',
  net_dev_group: 'netdev_group',
  transmit_queue_length: 'tx_queue_len',
  protocol_type: 'type',
} as const;

/** Attributes that the kernel refuses while an interface is down. */
const WHILE_UP = { carrier: 'carrier', dormant: 'dormant' } as const;

/** The flag of an interface that is up. Source: if.h, IFF_UP. */
const IFF_UP = 1;

const BITS_PER_BYTE = 8;
const MEGA = 1_000_000;

interface Row {
  readonly name: string;
  readonly state: string | null;
  readonly duplex: string | null;
  readonly values: ReadonlyMap<string, number | null>;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'node_network_up',
    help: "Value is 1 if operstate is 'up', 0 otherwise.",
    of: ({ state }) => (state === null ? null : Number(state === 'up')),
  },
  ...[...Object.keys(ATTRIBUTES), ...Object.keys(WHILE_UP), 'speed_bytes'].toSorted().map((name): Column<Row> => ({
    name: `node_network_${name}`,
    type: name.endsWith('_total') ? 'counter' : 'gauge',
    help: `Network device property: ${name}`,
    of: ({ values }) => values.get(name),
  })),
];

/** Of /sys/class/net. A speed that the driver does not know is negative, as with node_exporter. */
export const netclass: Collector = {
  name: 'netclass',
  collect(out, host) {
    const rows = rowsOf(
      host,
      host.sysNames('class/net'),
      (device) => ({ device }),
      (device) => rowOf(host, device),
    );
    addTable(out, COLUMNS, rows);
    addInfo(
      out,
      'node_network_info',
      'Non-numeric data from /sys/class/net/<iface>, value is always 1.',
      [...rows.values()].slice(0, DEVICES_MAX).map(({ name, state, duplex }) => {
        const text = (attribute: string): string => host.sysOrNull(`class/net/${name}/${attribute}`) ?? '';
        return {
          device: name,
          address: text('address'),
          broadcast: text('broadcast'),
          duplex: duplex ?? '',
          ifalias: text('ifalias'),
          operstate: state ?? '',
        };
      }),
    );
  },
};

function rowOf(host: HostFiles, name: string): Row | null {
  const attribute = (file: string): number | null => numberOrNull(host.sysOrNull(`class/net/${name}/${file}`));
  const flags = attribute('flags');
  if (flags === null) return null; // it is gone, or is a file beside the interfaces, such as bonding_masters
  const isUp = (flags & IFF_UP) !== 0;
  const values = new Map<string, number | null>(
    Object.entries(ATTRIBUTES).map(([family, file]) => [family, file === 'flags' ? flags : attribute(file)]),
  );
  if (isUp) for (const [family, file] of Object.entries(WHILE_UP)) values.set(family, attribute(file));
  const speed = isUp ? attribute('speed') : null;
  if (speed !== null) values.set('speed_bytes', (speed * MEGA) / BITS_PER_BYTE);
  return {
    name,
    state: host.sysOrNull(`class/net/${name}/operstate`),
    duplex: isUp ? host.sysOrNull(`class/net/${name}/duplex`) : null,
    values,
  };
}
