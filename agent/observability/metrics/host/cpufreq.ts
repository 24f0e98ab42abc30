/** Frequencies of the processors. */
import { addTable, rowsOf, type Collector, type Column } from './collector.ts';
import { numberOrNull } from './files.ts';

const CPUS = 'devices/system/cpu';
const KILO = 1_000;

/**
 * Families, in Hz, and the attributes that hold them in kHz. Source: the kernel's
 * Documentation/admin-guide/pm/cpufreq.rst.
 */
const ATTRIBUTES = {
  node_cpu_frequency_hertz: ['cpuinfo_cur_freq', 'Current CPU thread frequency in hertz.'],
  node_cpu_frequency_min_hertz: ['cpuinfo_min_freq', 'Minimum CPU thread frequency in hertz.'],
  node_cpu_frequency_max_hertz: ['cpuinfo_max_freq', 'Maximum CPU thread frequency in hertz.'],
  node_cpu_scaling_frequency_hertz: ['scaling_cur_freq', 'Current scaled CPU thread frequency in hertz.'],
  node_cpu_scaling_frequency_min_hertz: ['scaling_min_freq', 'Minimum scaled CPU thread frequency in hertz.'],
  node_cpu_scaling_frequency_max_hertz: ['scaling_max_freq', 'Maximum scaled CPU thread frequency in hertz.'],
} as const;

const COLUMNS = Object.entries(ATTRIBUTES).map(([name, [, help]], index): Column<readonly (number | null)[]> => ({
  name,
  help,
  of: (kiloHertz) => (kiloHertz[index] === null || kiloHertz[index] === undefined ? null : kiloHertz[index] * KILO),
}));

/** Of /sys/devices/system/cpu, where the frequency is the kernel's to choose; in most virtual machines it is not. */
export const cpufreq: Collector = {
  name: 'cpufreq',
  collect(out, host) {
    const cpus = host.sysNames(CPUS).flatMap((name) => /^cpu(?<cpu>\d+)$/u.exec(name)?.groups?.['cpu'] ?? []);
    addTable(
      out,
      COLUMNS,
      rowsOf(
        host,
        cpus,
        (cpu) => ({ cpu }),
        (cpu) => {
          // instead of looking for six files in vain
          if (host.sysOrNull(`${CPUS}/cpu${cpu}/cpufreq/scaling_driver`) === null) return null;
          return Object.values(ATTRIBUTES).map(([file]) =>
            numberOrNull(host.sysOrNull(`${CPUS}/cpu${cpu}/cpufreq/${file}`)),
          );
        },
      ),
    );
  },
};
