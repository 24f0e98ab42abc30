/** What the kernel counts over all processors, and since when. */
import type { Collector } from './collector.ts';
import type { HostFiles } from './files.ts';

/** Of /proc/stat. */
export const stat: Collector = {
  name: 'stat',
  collect(out, host) {
    const total = (name: string): number | null => totalOf(host, name);
    if (total('btime') === null) throw new Error('/proc/stat does not say when this machine started');
    out
      .single('node_boot_time_seconds', 'gauge', 'Node boot time, in unixtime.', total('btime'))
      .single('node_context_switches_total', 'counter', 'Total number of context switches.', total('ctxt'))
      .single('node_forks_total', 'counter', 'Total number of forks.', total('processes'))
      .single('node_intr_total', 'counter', 'Total number of interrupts serviced.', total('intr'))
      .single('node_procs_running', 'gauge', 'Number of processes in runnable state.', total('procs_running'))
      .single(
        'node_procs_blocked',
        'gauge',
        'Number of processes blocked waiting for I/O to complete.',
        total('procs_blocked'),
      );
  },
};

/** The first number of a line of /proc/stat; null without it. */
export function totalOf(host: HostFiles, name: string): number | null {
  const text = host.procShared('stat');
  const start = text.indexOf(`\n${name} `);
  if (start === -1) return null;
  // no number of the kernel has more digits
  const number = Number.parseInt(text.slice(start + name.length + 2, start + name.length + 24), 10);
  return Number.isNaN(number) ? null : number;
}
