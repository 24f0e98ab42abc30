/** What the network interfaces received and sent. */
import { addTable, rowsOf, type Collector, type Column } from './collector.ts';
import { numberOrNull } from './files.ts';

/** Columns of /proc/net/dev, in their order, and their names as node_exporter has them. Source: proc(5). */
const RECEIVED = ['bytes', 'packets', 'errs', 'drop', 'fifo', 'frame', 'compressed', 'multicast'] as const;
const SENT = ['bytes', 'packets', 'errs', 'drop', 'fifo', 'colls', 'carrier', 'compressed'] as const;

interface Row {
  readonly numbers: readonly number[];
  readonly withoutHandler: number | null;
}

const COLUMNS: readonly Column<Row>[] = [
  ...RECEIVED.map((name, index) => column(`receive_${name}`, ({ numbers }) => numbers[index])),
  column('receive_nohandler', ({ withoutHandler }) => withoutHandler),
  ...SENT.map((name, index) => column(`transmit_${name}`, ({ numbers }) => numbers[RECEIVED.length + index])),
];

/** Of /proc/net/dev. */
export const netdev: Collector = {
  name: 'netdev',
  collect(out, host) {
    const lines = host
      .proc('net/dev')
      .split('\n')
      .slice(2)
      .map((line) => ({
        device: line.slice(0, line.lastIndexOf(':')).trim(),
        numbers: line
          .slice(line.lastIndexOf(':') + 1)
          .trim()
          .split(/ +/u),
      }));
    addTable(
      out,
      COLUMNS,
      rowsOf(
        host,
        lines.filter(({ device }) => device !== ''),
        ({ device }) => ({ device }),
        ({ device, numbers }) => ({
          numbers: numbers.map(Number),
          withoutHandler: numberOrNull(host.sysOrNull(`class/net/${device}/statistics/rx_nohandler`)),
        }),
      ),
    );
  },
};

function column(name: string, of: Column<Row>['of']): Column<Row> {
  return { name: `node_network_${name}_total`, type: 'counter', help: `Network device statistic ${name}.`, of };
}
