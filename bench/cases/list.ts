/**
 * `list`: REST pages of 100 out of 100,000 nodes and 1,000,000 executions: the first, the middle and the deepest one;
 * and the executions of one node.
 */
import { startBenchServer, withClient } from '../fleet/database.ts';
import { insertHistory } from '../fleet/history.ts';
import { insertNodes, nodeId } from '../fleet/nodes.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { startWorker, type Worker } from '../method/worker.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { createHttpClient, type HttpClient } from '../product/http-client.ts';
import { compare, type Target } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 100_000;
const EXECUTIONS = 1_000_000;
const PAGE_SIZE = 100;
const REQUESTS = 300;

/** Whose executions are listed by themselves. */
const NODE = nodeId(0);

/** Targets on the tail of a page. Source: docs/performance.md. */
const P99_SECONDS_MAX = 0.05;
const DEEPEST_SECONDS_MAX = 0.2;

/** Both sides read the same database, one request at a time, in turns. */
export async function list(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  let admin: AdminProcess | undefined;
  let floor: Worker | undefined;
  try {
    const database = await postgres.create('product');
    options.report.note(`inserting ${nodes} nodes and ${EXECUTIONS} executions …`);
    await withClient(database, async (client) => {
      await insertNodes(client, nodes);
      await insertHistory(client, EXECUTIONS, nodes);
    });
    floor = await startWorker(new URL('../floor/list-server.ts', import.meta.url));
    const bare = createHttpClient(await floor.ask<number>('start', database), '');
    if (!options.floorOnly) admin = await startAdmin(await newAdminPlace(database));

    for (const { name, which, page, filter = '', rows = PAGE_SIZE } of pagesOf(nodes)) {
      const path = `/api/v1/${name}?page_size=${PAGE_SIZE}&page=${page}${filter}`;
      if (filter === '') await floor.ask('prepare', { name, page });
      const sides: Side[] = [timed('floor', bare, filter === '' ? `/${name}/${page}` : `/node/${NODE}`, rows)];
      if (admin) sides.push(timed('product', admin.http, path, rows));
      const result = await interleave(sides, options.repeats ?? REQUESTS, 30);
      const target: Target = ({ series }) =>
        quantile(series, 0.99) <= (which === 'deepest' ? DEEPEST_SECONDS_MAX : P99_SECONDS_MAX);
      for (const finding of compare('list', { list: name, page: which }, result, target)) options.report.add(finding);
    }
  } finally {
    await admin?.stop();
    await floor?.end();
    await postgres.stop();
  }
}

/** A page that is asked for. */
interface Page {
  readonly name: string;
  readonly which: string;
  readonly page: number;
  readonly filter?: string;
  /** What it holds; PAGE_SIZE unless given. */
  readonly rows?: number;
}

function pagesOf(nodes: number): Page[] {
  const counts = { nodes, command_executions: EXECUTIONS };
  const pages = Object.entries(counts).flatMap(([name, rows]): Page[] => {
    const last = Math.ceil(rows / PAGE_SIZE);
    return [
      { name, which: 'first', page: 1 },
      { name, which: 'middle', page: Math.ceil(last / 2) },
      { name, which: 'deepest', page: last },
    ];
  });
  const ofNode = Math.min(PAGE_SIZE, EXECUTIONS / nodes);
  return [
    ...pages,
    { name: 'command_executions', which: 'of one node', page: 1, filter: `&node_id__in=${NODE}`, rows: ofNode },
  ];
}

/** One request, whose answer must hold so many rows. */
function timed(name: string, http: HttpClient, path: string, wanted: number): Side {
  return {
    name,
    run: async () => {
      const began = performance.now();
      const answer = await http.request('GET', path);
      const seconds = (performance.now() - began) / 1_000;
      const rows = answer.status === 200 ? (JSON.parse(answer.body) as { data: unknown[] }).data.length : 0;
      if (rows !== wanted)
        throw new Error(`${path}: status ${answer.status}, ${rows} rows: ${answer.body.slice(0, 200)}`);
      return { seconds, readings: { body_kib: answer.body.length / 1_024 } };
    },
  };
}
