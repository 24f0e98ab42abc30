/** What each processor did with packets before they had an owner. */
import { addTable, rowsOf, type Collector, type Column } from './collector.ts';

/**
 * Columns of /proc/net/softnet_stat that mean something, and which processor it is. Source: the kernel's
 * net/core/net-procfs.c.
 */
const PLACES = {
  processed_total: 0,
  dropped_total: 1,
  times_squeezed_total: 2,
  cpu_collision_total: 8,
  received_rps_total: 9,
  flow_limit_count_total: 10,
  backlog_len: 11,
} as const;
const PROCESSOR = 12;

const HELP: Readonly<Record<keyof typeof PLACES, string>> = {
  processed_total: 'Number of processed packets',
  dropped_total: 'Number of dropped packets',
  times_squeezed_total: 'Number of times processing packets ran out of quota',
  cpu_collision_total: 'Number of collisions that occurred while obtaining the device lock',
  received_rps_total: 'Number of times the processor was woken up to process packets',
  flow_limit_count_total: 'Number of times the flow limit was reached',
  backlog_len: 'Number of packets that wait for this processor',
};

const COLUMNS = Object.entries(PLACES).map(([name, place]): Column<readonly number[]> => ({
  name: `node_softnet_${name}`,
  type: name.endsWith('_total') ? 'counter' : 'gauge',
  help: HELP[name as keyof typeof PLACES],
  of: (numbers) => numbers[place],
}));

/** Of /proc/net/softnet_stat: hexadecimal numbers, a line a processor. */
export const softnet: Collector = {
  name: 'softnet',
  collect(out, host) {
    const lines = host
      .proc('net/softnet_stat')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) =>
        line
          .trim()
          .split(/ +/u)
          .map((word) => Number.parseInt(word, 16)),
      );
    addTable(
      out,
      COLUMNS,
      rowsOf(
        host,
        lines.entries(),
        ([index, numbers]) => ({ cpu: String(numbers[PROCESSOR] ?? index) }),
        ([, numbers]) => numbers,
      ),
    );
  },
};
