/** Processor time by mode, and how often heat throttled a processor. */
import { addTable, DEVICES_MAX, rowsOf, type Collector } from './collector.ts';
import { numberOrNull } from './files.ts';
import type { HostFiles } from './files.ts';

/**
 * Ticks a second in which the kernel counts towards programs, on every Linux that Node runs on. Source: proc(5),
 * USER_HZ.
 */
export const TICKS_PER_SECOND = 100;

/** In the order of /proc/stat. */
const MODES = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal'] as const;

/** Of /proc/stat and /sys/devices/system/cpu. */
export const cpu: Collector = {
  name: 'cpu',
  collect(out, host) {
    const lines = [...host.procShared('stat').matchAll(/^cpu(?<cpu>\d+) (?<ticks>[\d ]+)$/gmu)].map(({ groups }) => ({
      cpu: groups?.['cpu'] ?? '',
      ticks: (groups?.['ticks'] ?? '').split(' ').map(Number),
    }));
    if (lines.length === 0) throw new Error('/proc/stat names no processor');
    host.leftOut += Math.max(0, lines.length - DEVICES_MAX);
    const served = lines.slice(0, DEVICES_MAX);

    out.family('node_cpu_seconds_total', 'counter', 'Seconds the CPUs spent in each mode.');
    for (const line of served) {
      for (const [index, mode] of MODES.entries()) {
        const ticks = line.ticks[index];
        if (ticks !== undefined)
          out.sample('node_cpu_seconds_total', ticks / TICKS_PER_SECOND, `{cpu="${line.cpu}",mode="${mode}"}`);
      }
    }
    out.family('node_cpu_guest_seconds_total', 'counter', 'Seconds the CPUs spent in guests (VMs) for each mode.');
    for (const line of served) {
      for (const [index, mode] of ['user', 'nice'].entries()) {
        const ticks = line.ticks[MODES.length + index];
        if (ticks !== undefined)
          out.sample('node_cpu_guest_seconds_total', ticks / TICKS_PER_SECOND, `{cpu="${line.cpu}",mode="${mode}"}`);
      }
    }
    addThrottles(
      out,
      host,
      served.map((line) => line.cpu),
    );
  },
};

/** Two threads of a core have the same counts: one of them is served. */
function addThrottles(out: Parameters<Collector['collect']>[0], host: HostFiles, cpus: readonly string[]): void {
  if (host.sysOrNull(`devices/system/cpu/cpu${cpus[0]}/thermal_throttle/core_throttle_count`) === null) return;
  const places = cpus.map((name) => ({
    path: `devices/system/cpu/cpu${name}`,
    core: host.sysOrNull(`devices/system/cpu/cpu${name}/topology/core_id`) ?? '',
    package: host.sysOrNull(`devices/system/cpu/cpu${name}/topology/physical_package_id`) ?? '',
  }));
  addTable(
    out,
    [
      {
        name: 'node_cpu_core_throttles_total',
        type: 'counter',
        help: 'Number of times this CPU core has been throttled.',
        of: (count) => count,
      },
    ],
    rowsOf(
      host,
      places,
      (place) => ({ core: place.core, package: place.package }),
      (place) => numberOrNull(host.sysOrNull(`${place.path}/thermal_throttle/core_throttle_count`)),
    ),
  );
  addTable(
    out,
    [
      {
        name: 'node_cpu_package_throttles_total',
        type: 'counter',
        help: 'Number of times this CPU package has been throttled.',
        of: (count) => count,
      },
    ],
    rowsOf(
      host,
      places,
      (place) => ({ package: place.package }),
      (place) => numberOrNull(host.sysOrNull(`${place.path}/thermal_throttle/package_throttle_count`)),
    ),
  );
}
