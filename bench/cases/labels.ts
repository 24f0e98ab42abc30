/**
 * `labels`: the first page of nodes that a selector means, with their count, out of 100,000 nodes with ten labels each.
 * The floor is the first page of all nodes, without a selector and without a count.
 */
import { startBenchServer, withClient } from '../fleet/database.ts';
import { insertLabels } from '../fleet/labels.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { createHttpClient, type HttpClient } from '../product/http-client.ts';
import { compare, type Target } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 100_000;
const PAGE_SIZE = 100;
const REQUESTS = 300;

/** Target on the tail. Source: docs/performance.md. */
const P99_SECONDS_MAX = 0.05;

/** By what they mean, and the same asked naively of the database: how many there must be. */
const SELECTORS: Readonly<Record<string, readonly [selector: string, sql: string]>> = {
  'a third': ['env=prod', `labels ->> 'env' = 'prod'`],
  'two thirds': ['env!=prod', `labels ->> 'env' is distinct from 'prod'`],
  'two fifths': ['zone in (a,b)', `labels ->> 'zone' in ('a', 'b')`],
  'nearly all': ['!gpu', `labels ->> 'gpu' is null`],
  'a twentieth': ['gpu', `labels ->> 'gpu' is not null`],
  one: ['asset=asset-77', `labels ->> 'asset' = 'asset-77'`],
  nobody: ['env=nothing', 'false'],
  'four requirements': [
    'env=prod,tier!=db,zone in (a,b),!gpu',
    `labels ->> 'env' = 'prod' and labels ->> 'tier' <> 'db' and labels ->> 'zone' in ('a', 'b') and labels ->> 'gpu' is null`,
  ],
};

/** Both sides read the same database, one request at a time, in turns. */
export async function labels(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  let admin: AdminProcess | undefined;
  let floor: Worker | undefined;
  try {
    const database = await postgres.create('product');
    options.report.note(`inserting ${nodes} nodes with ten labels each …`);
    const counts = await withClient(database, async (client) => {
      await insertNodes(client, nodes);
      await insertLabels(client);
      const found: Record<string, number> = {};
      for (const [name, [, sql]] of Object.entries(SELECTORS)) {
        const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from node_labels where ${sql}`);
        found[name] = rows[0]?.n ?? 0;
      }
      return found;
    });
    floor = await startWorker(new URL('../floor/list-server.ts', import.meta.url));
    const bare = createHttpClient(await floor.ask<number>('start', database), '');
    await floor.ask('prepare', { name: 'nodes', page: 1 });
    if (!options.floorOnly) admin = await startAdmin(await newAdminPlace(database));

    for (const [name, [selector]] of Object.entries(SELECTORS)) {
      const sides: Side[] = [timed('floor', bare, '/nodes/1', null)];
      const path = `/api/v1/nodes?page_size=${PAGE_SIZE}&labels=${encodeURIComponent(selector)}`;
      if (admin) sides.push(timed('product', admin.http, path, counts[name] ?? 0));
      const result = await interleave(sides, options.repeats ?? REQUESTS, 30);
      const target: Target = ({ series }) => quantile(series, 0.99) <= P99_SECONDS_MAX;
      for (const finding of compare('labels', { selector, means: name }, result, target)) options.report.add(finding);
    }
  } finally {
    await admin?.stop();
    await floor?.end();
    await postgres.stop();
  }
}

/** One request. With a count: its answer must say that so many match, and hold as many as fit a page. */
function timed(name: string, http: HttpClient, path: string, count: number | null): Side {
  return {
    name,
    run: async () => {
      const began = performance.now();
      const answer = await http.request('GET', path);
      const seconds = (performance.now() - began) / 1_000;
      const body = JSON.parse(answer.body) as {
        readonly data?: readonly unknown[];
        readonly meta?: { readonly pagination: { readonly total_count: number } };
      };
      const rows = body.data?.length ?? -1;
      const isRight =
        count === null
          ? rows === PAGE_SIZE
          : body.meta?.pagination.total_count === count && rows === Math.min(count, PAGE_SIZE);
      if (!isRight) throw new Error(`${path}: status ${answer.status}, ${rows} rows: ${answer.body.slice(0, 200)}`);
      return { seconds, readings: { body_kib: answer.body.length / 1_024 } };
    },
  };
}
