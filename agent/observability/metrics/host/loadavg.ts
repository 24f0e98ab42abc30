/** Load averages. */
import type { Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/** Of /proc/loadavg. */
export const loadavg: Collector = {
  name: 'loadavg',
  collect(out, host) {
    const [load1, load5, load15] = host.proc('loadavg').split(' ');
    out
      .single('node_load1', 'gauge', '1m load average.', numberOrNull(load1))
      .single('node_load5', 'gauge', '5m load average.', numberOrNull(load5))
      .single('node_load15', 'gauge', '15m load average.', numberOrNull(load15));
  },
};
