/**
 * How many processes and threads there are, and may be. Their states are not served: that would take a file for each.
 */
import type { Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/** Of /proc itself. node_exporter has this collector too, switched off unless it is asked for. */
export const processes: Collector = {
  name: 'processes',
  collect(out, host) {
    const threads = /\/(?<all>\d+) \d+\s*$/u.exec(host.proc('loadavg'))?.groups?.['all'];
    out
      .single(
        'node_processes_pids',
        'gauge',
        'Number of PIDs',
        host.procNames('').filter((name) => name >= '0' && name < ':').length,
      )
      .single(
        'node_processes_max_processes',
        'gauge',
        'Number of max PIDs limit',
        numberOrNull(host.proc('sys/kernel/pid_max').trim()),
      )
      .single('node_processes_threads', 'gauge', 'Allocated threads in system', numberOrNull(threads))
      .single(
        'node_processes_max_threads',
        'gauge',
        'Limit of threads in the system',
        numberOrNull(host.proc('sys/kernel/threads-max').trim()),
      );
  },
};
