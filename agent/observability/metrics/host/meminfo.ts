/** Memory: every line of /proc/meminfo. */
import type { Collector } from './collector.ts';

/**
 * Name, number and, for what is not a count of pages, the unit. Names are nothing but these characters in every kernel.
 */
const LINE = /^([A-Za-z][\w()]{0,63}):\s+(\d+)( kB)?$/gmu;

/** Of /proc/meminfo, as `node_memory_<Name>_bytes`. */
export const meminfo: Collector = {
  name: 'meminfo',
  collect(out, host) {
    const seen = new Set<string>();
    for (const [, name = '', number, unit] of host.proc('meminfo').matchAll(LINE)) {
      // Active(anon) is Active_anon
      const word = name.includes('(') ? name.replace('(', '_').replaceAll(/[()]/gu, '') : name;
      const field = unit === undefined ? word : `${word}_bytes`;
      if (seen.has(field)) continue;
      seen.add(field);
      out.single(
        `node_memory_${field}`,
        'gauge',
        `Memory information field ${field}.`,
        Number(number) * (unit === undefined ? 1 : 1_024),
      );
    }
    if (seen.size === 0) throw new Error('/proc/meminfo says nothing');
  },
};
