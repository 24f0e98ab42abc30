/** Metrics of this machine, under the names of node_exporter. */
import { loadavg } from 'node:os';
import { Exposition } from '../../transport/exposition/exposition.ts';

/** The metrics of the host as text. */
export function hostMetrics(): string {
  const [load1 = null, load5 = null, load15 = null] = loadavg();
  return new Exposition()
    .single('node_load1', 'gauge', '1m load average.', load1)
    .single('node_load5', 'gauge', '5m load average.', load5)
    .single('node_load15', 'gauge', '15m load average.', load15)
    .toString();
}
