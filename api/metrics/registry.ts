/**
 * The registry of prom-client: our own families, filled from readings when they are written, and what it tells of the
 * process itself.
 */
import { stat, readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Registry, type Metric } from 'prom-client';
import { Exposed } from './exposed-histogram.ts';
import { FAMILIES } from './families.ts';
import { type Family, type Readings } from './family.ts';

/** Content type of what is written. Source: Prometheus, exposition formats. */
export const EXPOSITION_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * What prom-client would also tell, and what takes it 30 ms with 10,000 sockets, in one go (measured): one line for
 * each socket is counted, to say what `edge_admin_sessions` says.
 */
const TOO_DEAR = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'process_open_fds',
];

/** Histograms that are written in one go: some 500 lines, 2 ms. */
const HISTOGRAMS_AT_ONCE_MAX = 32;

/** The event loop is held so long before others get their turn, in ms; what is written in one go may add to it. */
const HELD_MS_MAX = 3;

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
  registerOpenFiles(registry);
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  const own = FAMILIES.map((family) => register(registry, family));

  return {
    async text(readings) {
      const texts: string[] = [];
      let sinceMs = performance.now();
      for (const write of [
        ...own,
        ...names.map(
          (name) =>
            function* (): Written {
              yield registry.getSingleMetricAsString(name);
            },
        ),
      ]) {
        for (const text of write(readings)) {
          texts.push(await text);
          if (performance.now() - sinceMs < HELD_MS_MAX) continue;
          await setImmediate();
          sinceMs = performance.now();
        }
      }
      return `${texts.join('\n')}\n`;
    },
    async ofProcess() {
      const found: Record<string, number> = {};
      for (const name of names) {
        const { values } = await (registry.getSingleMetric(name) as Metric).get();
        const [only] = values;
        if (only !== undefined && Object.keys(only.labels).length === 0 && Number.isFinite(only.value))
          found[name] = only.value;
      }
      return found;
    },
  };
}

/** Pieces of a text, made one by one. */
type Written = Generator<Promise<string>, void, void>;

/** The returned function writes what these readings have of a family; nothing, when they have nothing. */
function register(registry: Registry, family: Family): (readings: Readings) => Written {
  const { name, help, labels } = family;
  const text = (): Promise<string> => registry.getSingleMetricAsString(name);
  if (family.type === 'histogram') {
    const exposed = new Exposed(name, help);
    registry.registerMetric(exposed as unknown as Metric); // it has all that a registry asks for
    return function* (readings) {
      const samples = family.read(readings);
      for (let from = 0; from < samples.length; from += HISTOGRAMS_AT_ONCE_MAX) {
        exposed.fill(samples.slice(from, from + HISTOGRAMS_AT_ONCE_MAX));
        yield from === 0 ? text() : text().then(withoutHead);
      }
    };
  }
  const config = { name, help, labelNames: [...labels], registers: [registry] };
  const metric = family.type === 'gauge' ? new Gauge(config) : new Counter(config);
  return function* (readings) {
    const samples = family.read(readings);
    if (samples.length === 0) return;
    metric.reset();
    for (const { labels: of, value } of samples) metric.inc(of, value);
    yield text();
  };
}

/** Without the two lines that a family begins with. */
function withoutHead(text: string): string {
  return text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1);
}

/** Under prom-client's name, without its list of every file. Linux only. */
function registerOpenFiles(registry: Registry): void {
  if (process.platform !== 'linux') return;
  const gauge: Gauge = new Gauge({
    name: 'process_open_fds',
    help: 'Number of open file descriptors.',
    registers: [registry],
    async collect() {
      const files = await openFiles().catch(() => null);
      if (files === null) gauge.remove();
      else gauge.set(files);
    },
  });
}

/** Since Linux 6.2 the directory says how many there are; before, it is read, on another thread. */
async function openFiles(): Promise<number> {
  const { size } = await stat('/proc/self/fd');
  return size > 0 ? size : (await readdir('/proc/self/fd')).length - 1; // less the one by which it is read
}
