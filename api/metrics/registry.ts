/** The registry of prom-client: our own families, filled from readings when they are written, and what it tells of the process itself. */
import { stat, readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Registry, type Metric } from 'prom-client';
import { Exposed } from './exposed-histogram.ts';
import { FAMILIES, type Family, type Readings } from './families.ts';

/** Content type of what is written. Source: Prometheus, exposition formats. */
export const EXPOSITION_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** What prom-client would also tell, and what takes it 30 ms with 10,000 sockets, in one go (measured): one line for each socket is counted, to say what `edge_admin_sessions` says. */
const TOO_DEAR = [
  'nodejs_active_handles', 'nodejs_active_handles_total', 'nodejs_active_requests', 'nodejs_active_requests_total', 'nodejs_active_resources', 'nodejs_active_resources_total', 'process_open_fds',
];

/** Time for which the event loop is held at most before others get their turn, in ms; one family is written in one go. */
const HELD_MS_MAX = 4;

/** Metrics as text and as numbers. */
export interface MetricRegistry {
  /** The exposition of these readings. Families without a sample are left out. */
  text(readings: Readings): Promise<string>;
  /** What prom-client tells of the process: metrics without labels by their name. */
  ofProcess(): Promise<Readonly<Record<string, number>>>;
}

/** A registry of its own; the event loop is watched from now on. */
export function createRegistry(): MetricRegistry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of TOO_DEAR) registry.removeSingleMetric(name);
  offerOpenFiles(registry);
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  const own = FAMILIES.map((family) => ({ family, fill: register(registry, family) }));

  return {
    async text(readings) {
      const texts: string[] = [];
      let sinceMs = performance.now();
      const write = async (name: string): Promise<void> => {
        texts.push(await registry.getSingleMetricAsString(name));
        if (performance.now() - sinceMs < HELD_MS_MAX) return;
        await setImmediate();
        sinceMs = performance.now();
      };
      for (const { family, fill } of own) if (fill(readings)) await write(family.name);
      for (const name of names) await write(name);
      return `${texts.join('\n')}\n`;
    },
    async ofProcess() {
      const found: Record<string, number> = {};
      for (const name of names) {
        const { values } = await (registry.getSingleMetric(name) as Metric).get();
        const [only] = values;
        if (only !== undefined && Object.keys(only.labels).length === 0 && Number.isFinite(only.value)) found[name] = only.value;
      }
      return found;
    },
  };
}

/** The returned function sets the metric to what these readings have; false: nothing. */
function register(registry: Registry, family: Family): (readings: Readings) => boolean {
  const { name, help, labels } = family;
  if (family.type === 'histogram') {
    const exposed = new Exposed(name, help);
    registry.registerMetric(exposed as unknown as Metric); // all that it is asked for
    return (readings) => exposed.fill(family.read(readings));
  }
  const config = { name, help, labelNames: [...labels], registers: [registry] };
  const metric = family.type === 'gauge' ? new Gauge(config) : new Counter(config);
  return (readings) => {
    const samples = family.read(readings);
    metric.reset();
    for (const { labels: of, value } of samples) metric.inc(of, value);
    return samples.length > 0;
  };
}

/** Under prom-client's name, without its list of every file. Linux only. */
function offerOpenFiles(registry: Registry): void {
  if (process.platform !== 'linux') return;
  const gauge: Gauge = new Gauge({
    name: 'process_open_fds', help: 'Number of open file descriptors.', registers: [registry],
    collect: async () => gauge.set(await openFiles()),
  });
}

/** Since Linux 6.2 the directory says how many there are; before, it is read, on another thread. */
async function openFiles(): Promise<number> {
  const { size } = await stat('/proc/self/fd');
  return size > 0 ? size : (await readdir('/proc/self/fd')).length - 1; // less the one by which it is read
}
