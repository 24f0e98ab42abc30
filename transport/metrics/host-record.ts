/** The metrics of a machine as a record, read under node_exporter's names. */
import type { HostMetrics, SpaceMetrics } from '../../actors/resources/node-metrics.ts';
import type { Samples } from '../net/exposition/samples.ts';
import { count, countOf, gigabytes, humanDuration, numberOf, rounded } from './quantities.ts';

/** The metrics that it is made of. */
export const HOST_FAMILIES: ReadonlySet<string> = new Set([
  'node_cpu_seconds_total',
  'node_load1',
  'node_load5',
  'node_load15',
  'node_memory_MemTotal_bytes',
  'node_memory_MemAvailable_bytes',
  'node_filesystem_size_bytes',
  'node_filesystem_avail_bytes',
  'node_time_seconds',
  'node_boot_time_seconds',
]);

const ROOT = { mountpoint: '/' } as const;

/** The record. */
export function hostMetrics(samples: Samples): HostMetrics {
  const cores = new Set(samples.get('node_cpu_seconds_total')?.map(({ labels }) => labels.get('cpu')));
  return {
    cpu: {
      cores: cores.size === 0 ? null : cores.size,
      load_1m: numberOf(samples, 'node_load1'),
      load_5m: numberOf(samples, 'node_load5'),
      load_15m: numberOf(samples, 'node_load15'),
    },
    memory: space(countOf(samples, 'node_memory_MemTotal_bytes'), countOf(samples, 'node_memory_MemAvailable_bytes')),
    disk: space(
      countOf(samples, 'node_filesystem_size_bytes', ROOT),
      countOf(samples, 'node_filesystem_avail_bytes', ROOT),
    ),
    uptime: uptime(numberOf(samples, 'node_time_seconds'), numberOf(samples, 'node_boot_time_seconds')),
  };
}

/** By the machine's own clock: ours may differ. */
function uptime(nowSeconds: number | null, bootSeconds: number | null): HostMetrics['uptime'] {
  const seconds = nowSeconds === null || bootSeconds === null ? null : count(Math.floor(nowSeconds - bootSeconds));
  return { seconds, human: humanDuration(seconds) };
}

/** More available than there is tells nothing of what is used. */
function space(total: number | null, available: number | null): SpaceMetrics {
  const used = total === null || available === null || available > total ? null : total - available;
  return {
    total_bytes: total,
    available_bytes: available,
    used_bytes: used,
    total_gb: gigabytes(total),
    available_gb: gigabytes(available),
    used_gb: gigabytes(used),
    usage_percent: used === null || total === null || total === 0 ? null : rounded((used / total) * 100),
  };
}
