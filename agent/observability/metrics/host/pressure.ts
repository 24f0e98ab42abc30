/** Time that programs waited for a processor, memory or disks. */
import type { Collector } from './collector.ts';
import type { HostFiles } from './files.ts';

const MICROSECONDS_PER_SECOND = 1_000_000;

/** Of /proc/pressure, where the kernel was told to keep it. Source: the kernel's Documentation/accounting/psi.rst. */
export const pressure: Collector = {
  name: 'pressure',
  collect(out, host) {
    out
      .single(
        'node_pressure_cpu_waiting_seconds_total',
        'counter',
        'Total time in seconds that processes have waited for CPU time',
        seconds(host, 'cpu', 'some'),
      )
      .single(
        'node_pressure_io_waiting_seconds_total',
        'counter',
        'Total time in seconds that processes have waited due to IO congestion',
        seconds(host, 'io', 'some'),
      )
      .single(
        'node_pressure_io_stalled_seconds_total',
        'counter',
        'Total time in seconds no process could make progress due to IO congestion',
        seconds(host, 'io', 'full'),
      )
      .single(
        'node_pressure_memory_waiting_seconds_total',
        'counter',
        'Total time in seconds that processes have waited for memory',
        seconds(host, 'memory', 'some'),
      )
      .single(
        'node_pressure_memory_stalled_seconds_total',
        'counter',
        'Total time in seconds no process could make progress due to memory congestion',
        seconds(host, 'memory', 'full'),
      );
    if (host.procOrNull('pressure/irq') !== null)
      out.single(
        'node_pressure_irq_stalled_seconds_total',
        'counter',
        'Total time in seconds no process could make progress due to IRQ congestion',
        seconds(host, 'irq', 'full'),
      );
  },
};

function seconds(host: HostFiles, resource: string, kind: 'some' | 'full'): number | null {
  const total = new RegExp(String.raw`^${kind} .*\btotal=(\d+)$`, 'mu').exec(
    host.procShared(`pressure/${resource}`),
  )?.[1];
  return total === undefined ? null : Number(total) / MICROSECONDS_PER_SECOND;
}
