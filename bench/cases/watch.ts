/**
 * `watch`: from a change of a node's health to the last subscriber of nodes.watch, and a storm in which the whole fleet
 * changes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startBenchServer, withClient, type BenchServer, type DatabasePlace } from '../fleet/database.ts';
import { insertNodes, nodeId } from '../fleet/nodes.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { UNDAMPED } from '../product/admin.ts';
import { startProduct, type Product } from '../product/contestant.ts';
import { compare, type Target } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;
const REPEATS = 100;
const STORMS = 5;

/** Between two changes, in ms: above the feed's interval, so that each change is one message of its own. */
const PAUSE_MS = 60;

/**
 * Subscribers of one cluster and the p50 target, in s; then those of all nodes and the storm's. Source:
 * docs/performance.md.
 */
const AUDIENCES = [
  [100, 0.01],
  [1_000, 0.03],
] as const;
const STORM_SUBSCRIBERS = 100;
const STORM_SECONDS_MAX = 1.5;

/** A side whose nodes can be made to change and whose subscribers tell when they know. */
interface Feed {
  readonly name: string;
  /** Changes the health of nodes from … to - 1; answers when that began, Unix time in ms. */
  flip(from: number, to: number): Promise<number>;
  subscribe(subscribers: number, input: object): Promise<Worker>;
  end(): Promise<void>;
}

/** Both sides in turns: single changes before 100 and 1,000 subscribers, then storms. */
export async function watch(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  const feeds: Feed[] = [];
  try {
    feeds.push(await floorFeed(postgres, nodes));
    if (!options.floorOnly) feeds.push(productFeed(await startProduct(postgres, nodes, { env: UNDAMPED })));
    for (const [subscribers, p50Max] of AUDIENCES) {
      const target: Target = ({ series }) => quantile(series, 0.5) <= p50Max;
      await measure(
        options,
        feeds,
        { name: 'watch', subscribers, input: { cluster_name: 'bench-0' }, repeats: options.repeats ?? REPEATS, target },
        oneChange,
      );
    }
    const target: Target = ({ series }) => quantile(series, 0.5) <= STORM_SECONDS_MAX;
    await measure(
      options,
      feeds,
      { name: 'storm', subscribers: STORM_SUBSCRIBERS, input: {}, repeats: STORMS, target },
      (feed, worker) => storm(feed, worker, nodes),
    );
  } finally {
    for (const feed of feeds) await feed.end();
    await postgres.stop();
  }
}

interface Plan {
  readonly name: string;
  readonly subscribers: number;
  readonly input: object;
  readonly repeats: number;
  readonly target: Target;
}

async function measure(
  options: CaseOptions,
  feeds: readonly Feed[],
  plan: Plan,
  run: (feed: Feed, worker: Worker, round: number) => Promise<number>,
): Promise<void> {
  const workers = new Map<Feed, Worker>();
  try {
    for (const feed of feeds) workers.set(feed, await feed.subscribe(plan.subscribers, plan.input));
    await delay(1_000); // the subscribers' arrival is over
    const sides = feeds.map((feed): Side => {
      let round = 0;
      return {
        name: feed.name,
        run: async () => {
          const worker = workers.get(feed);
          if (!worker) throw new Error('no subscribers');
          round += 1;
          const seconds = await run(feed, worker, round);
          await delay(PAUSE_MS);
          return { seconds, readings: {} };
        },
      };
    });
    const result = await interleave(sides, plan.repeats, 2);
    for (const finding of compare(plan.name, { subscribers: plan.subscribers }, result, plan.target))
      options.report.add(finding);
  } finally {
    for (const worker of workers.values()) await worker.end();
  }
}

async function oneChange(feed: Feed, worker: Worker, round: number): Promise<number> {
  const index = round % 100;
  await worker.ask('expect', nodeId(index));
  const began = await feed.flip(index, index + 1);
  return ((await worker.ask<number>('arrived')) - began) / 1_000;
}

async function storm(feed: Feed, worker: Worker, nodes: number): Promise<number> {
  await worker.ask('forget');
  const began = await feed.flip(0, nodes);
  return ((await worker.ask<number>('consistent', nodes)) - began) / 1_000;
}

async function floorFeed(postgres: BenchServer, nodes: number): Promise<Feed> {
  const database: DatabasePlace = await postgres.create('floor');
  await withClient(database, (client) => insertNodes(client, nodes));
  const server = await startWorker(new URL('../floor/broadcast.ts', import.meta.url));
  const port = await server.ask<number>('start', database);
  return {
    name: 'floor',
    flip: (from, to) => server.ask('flip', { from, to }),
    subscribe: (subscribers) => subscribed(`ws://127.0.0.1:${port}/`, '', {}, subscribers),
    end: () => server.end(),
  };
}

function productFeed(product: Product): Feed {
  return {
    name: 'product',
    flip: (from, to) => product.agents.worker.ask('flip', { from, to }),
    subscribe: (subscribers, input) =>
      subscribed(`ws://127.0.0.1:${product.admin.port}/api/trpc`, product.place.masterKey, input, subscribers),
    end: () => product.end(),
  };
}

async function subscribed(url: string, key: string, input: object, subscribers: number): Promise<Worker> {
  const worker = await startWorker(new URL('../fleet/watchers.ts', import.meta.url));
  await worker.ask('watch', { url, key, input, subscribers });
  return worker;
}
