/** This process, which is the exporter. */
import type { Collector } from './collector.ts';
import { TICKS_PER_SECOND } from './cpu.ts';
import { numberOrNull } from './files.ts';
import { pageBytesOf } from './page-size.ts';
import { totalOf } from './stat.ts';

/** What a process without a limit has: the 2^64 - 1 of the kernel, as a floating-point number. */
const UNLIMITED = 2 ** 64;

/** Of /proc/self. Not one of node_exporter's collectors: there these families come with its library. */
export const ownProcess: Collector = {
  name: 'process',
  collect(out, host) {
    const text = host.proc('self/stat');
    // the first two stand before the end of the program's name
    const field = (place: number): number => Number(fields[place - 3]);
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const limits = host.proc('self/limits');
    const limit = (name: string): number | null => {
      const soft = new RegExp(String.raw`^${name}\s+(\d+|unlimited)`, 'mu').exec(limits)?.[1];
      return soft === 'unlimited' ? UNLIMITED : numberOrNull(soft);
    };
    const pageBytes = pageBytesOf(host);
    const bootSeconds = totalOf(host, 'btime');
    out
      .single(
        'process_cpu_seconds_total',
        'counter',
        'Total user and system CPU time spent in seconds.',
        (field(14) + field(15)) / TICKS_PER_SECOND,
      )
      .single('process_max_fds', 'gauge', 'Maximum number of open file descriptors.', limit('Max open files'))
      .single('process_open_fds', 'gauge', 'Number of open file descriptors.', host.procNames('self/fd').length)
      .single(
        'process_resident_memory_bytes',
        'gauge',
        'Resident memory size in bytes.',
        pageBytes === null ? null : field(24) * pageBytes,
      )
      .single(
        'process_start_time_seconds',
        'gauge',
        'Start time of the process since unix epoch in seconds.',
        bootSeconds === null ? null : bootSeconds + field(22) / TICKS_PER_SECOND,
      )
      .single('process_virtual_memory_bytes', 'gauge', 'Virtual memory size in bytes.', field(23))
      .single(
        'process_virtual_memory_max_bytes',
        'gauge',
        'Maximum amount of virtual memory available in bytes.',
        limit('Max address space'),
      );
  },
};
