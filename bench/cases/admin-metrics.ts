/**
 * `admin-metrics`: what a scrape of the admin's own metrics costs it with a whole fleet connected, and their rendering
 * beside one by hand.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FAMILIES } from '../../api/metrics/families.ts';
import { type Readings } from '../../api/metrics/family.ts';
import { createRegistry } from '../../api/metrics/registry.ts';
import { startBenchServer } from '../fleet/database.ts';
import { renderByHand } from '../floor/exposition.ts';
import { busyReadings } from '../fleet/readings.ts';
import { awaitCalm } from '../method/machine.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs } from '../method/usage.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;
const SCRAPES = 60;

/**
 * Between two scrapes, in ms: the event loop's lag is told for the time since the one before, and what the fleet costs
 * without scrapes is subtracted.
 */
const PAUSE_MS = 250;

/** Rest after the fleet has connected, in ms. */
const REST_MS = 5_000;

/**
 * Targets, in s: a scrape, the longest that the event loop is held (both in docs/performance.md), and the rendering of
 * the largest exposition.
 */
const SCRAPE_SECONDS_MAX = 0.25;
const HELD_SECONDS_MAX = 0.01;
const RENDERING_SECONDS_MAX = 0.04;

/** The timer by which prom-client measures the lag, in s: what it shows at rest. */
const LAG_RESOLUTION_S = 0.01;

/** Both parts, or those that are named. */
export async function adminMetrics(options: CaseOptions): Promise<void> {
  const has = (part: string): boolean => options.names.length === 0 || options.names.includes(part);
  if (has('rendering')) await rendering(options);
  if (has('scrape') && !options.floorOnly) await scrapes(options);
}

/**
 * In this process: the largest exposition that an admin can have, every operation called on every surface with every
 * outcome.
 */
async function rendering({ report, repeats = 200 }: CaseOptions): Promise<void> {
  const readings = busyReadings();
  const registry = createRegistry();
  const sides: Side[] = [
    side('floor', async () => renderByHand(FAMILIES, readings)),
    side('product', () => registry.text(readings)),
  ];
  for (const finding of compare(
    'rendering',
    {},
    await interleave(sides, repeats, 20),
    ({ series }) => quantile(series, 0.5) <= RENDERING_SECONDS_MAX,
  ))
    report.add(finding);
  report.add(await held(registry, readings));
}

function side(name: string, render: () => Promise<string>): Side {
  return {
    name,
    run: async () => {
      const began = performance.now();
      const text = await render();
      return {
        seconds: (performance.now() - began) / 1_000,
        readings: {
          text_kib: text.length / 1_024,
          samples: text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
        },
      };
    },
  };
}

/** The longest time for which nothing else got its turn, by a chain of immediates beside the rendering. */
async function held(
  registry: ReturnType<typeof createRegistry>,
  readings: Readings,
): Promise<Parameters<CaseOptions['report']['add']>[0]> {
  const calm = await awaitCalm();
  const longest: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    let last = performance.now();
    let worst = 0;
    let over = false;
    const beat = (): void => {
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
      if (!over) setImmediate(beat);
    };
    setImmediate(beat);
    await registry.text(readings);
    beat();
    over = true;
    longest.push(worst / 1_000);
    await delay(5);
  }
  return {
    case: 'held',
    side: 'product',
    seconds: quantile(longest, 0.5),
    p99: quantile(longest, 0.99),
    ratio: null,
    idle_before: calm.idlePercent,
    verdict: verdict(calm.quiet, quantile(longest, 0.5) <= HELD_SECONDS_MAX),
  };
}

async function scrapes(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  try {
    const product = await startProduct(postgres, nodes);
    try {
      await delay(REST_MS);
      const result = await interleave([scraping(product)], options.repeats ?? SCRAPES, 3);
      for (const finding of compare(
        'scrape',
        { nodes },
        result,
        ({ series }) => quantile(series, 0.99) <= SCRAPE_SECONDS_MAX,
      ))
        options.report.add(finding);
    } finally {
      await product.end();
    }
  } finally {
    await postgres.stop();
  }
}

function scraping({ admin }: Product): Side {
  return {
    name: 'product',
    run: async () => {
      const [restCpu, restBegan] = [cpuMs(admin.pid), performance.now()];
      await delay(PAUSE_MS);
      const [cpu, began] = [cpuMs(admin.pid), performance.now()];
      const restShare = (cpu - restCpu) / (began - restBegan);
      const answer = await admin.http.request('GET', '/api/v1/admins/me/metrics/raw');
      const seconds = (performance.now() - began) / 1_000;
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body.slice(0, 200)}`);
      const lag = Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/mu.exec(answer.body)?.[1]);
      return {
        seconds,
        readings: {
          cpu_ms: cpuMs(admin.pid) - cpu - restShare * seconds * 1_000,
          rest_cpu_percent: restShare * 100,
          loop_held_ms: Math.max(0, lag - LAG_RESOLUTION_S) * 1_000,
          text_kib: answer.body.length / 1_024,
        },
      };
    },
  };
}
