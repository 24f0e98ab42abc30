/** Time that programs ran and waited on each processor. */
import { addTable, rowsOf, type Collector, type Column } from './collector.ts';

const NANOSECONDS_PER_SECOND = 1e9;

/** Numbers of a processor's line, after its name. Source: the kernel's Documentation/scheduler/sched-stats.rst. */
const COLUMNS: readonly Column<readonly number[]>[] = [
  {
    name: 'node_schedstat_running_seconds_total',
    type: 'counter',
    help: 'Number of seconds CPU spent running a process.',
    of: (numbers) => seconds(numbers[6]),
  },
  {
    name: 'node_schedstat_waiting_seconds_total',
    type: 'counter',
    help: 'Number of seconds spent by processing waiting for this CPU.',
    of: (numbers) => seconds(numbers[7]),
  },
  {
    name: 'node_schedstat_timeslices_total',
    type: 'counter',
    help: 'Number of timeslices executed by CPU.',
    of: (numbers) => numbers[8],
  },
];

/** Of /proc/schedstat, where the kernel was told to keep it. */
export const schedstat: Collector = {
  name: 'schedstat',
  collect(out, host) {
    const lines = [...host.proc('schedstat').matchAll(/^cpu(?<cpu>\d+) (?<numbers>[\d ]+)$/gmu)].map(({ groups }) => ({
      cpu: groups?.['cpu'] ?? '',
      numbers: (groups?.['numbers'] ?? '').split(' ').map(Number),
    }));
    addTable(
      out,
      COLUMNS,
      rowsOf(
        host,
        lines,
        ({ cpu }) => ({ cpu }),
        ({ numbers }) => numbers,
      ),
    );
  },
};

function seconds(nanoseconds: number | undefined): number | undefined {
  return nanoseconds === undefined ? undefined : nanoseconds / NANOSECONDS_PER_SECOND;
}
