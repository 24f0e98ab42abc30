/**
 * `scale`: a database of tens of millions of events, or of executions: what is read, stored and thrown away there, by
 * the product's own statements and within their limits. Events lie in partitions, and in one table as before there were
 * any.
 */
import { randomUUID } from 'node:crypto';
import type { ListQuery } from '../../actors/filters.ts';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import { insertEvents } from '../../persistence/committer/event-rows.ts';
import { migrateTo, openDatabase, type Database } from '../../persistence/connections/database.ts';
import { inTransaction } from '../../persistence/connections/transaction.ts';
import { dropOldest } from '../../persistence/event-partitions/upkeep.ts';
import { readOverview } from '../../persistence/overview.ts';
import { createReads } from '../../persistence/reads/reads.ts';
import { expireDue } from '../../persistence/sweeps/ended.ts';
import { findForgotten, FORGOTTEN_AFTER_MS } from '../../persistence/sweeps/forgotten.ts';
import { pruneEvents, pruneExecutions } from '../../persistence/sweeps/pruned.ts';
import { before, DATABASE_NOW } from '../../persistence/sweeps/timestamps.ts';
import { SWEEP_ROWS_MAX } from '../../persistence/sweeps/sweeps.ts';
import { createVault } from '../../persistence/vault.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { startBenchServer, withClient, type BenchServer, type DatabasePlace } from '../fleet/database.ts';
import { insertHistory } from '../fleet/history.ts';
import { insertNodes, nodeId } from '../fleet/nodes.ts';
import { insertPastEvents } from '../fleet/past-events.ts';
import { quantile } from '../method/statistics.ts';
import type { CaseOptions } from './options.ts';
import { scaleAgents } from './scale-agents.ts';

const ROWS = 50_000_000;
const NODES = 10_000;
const PAGE_SIZE = 100;
const REPEATS = 30;

/** The last schema in which events lay in one table. */
const ONE_TABLE = 'Migration20261129130000_admin_problems';

/** Rows that lie a day beyond what is kept are thrown away until so many batches are done. */
const BATCHES = 20;

const DAY_MS = 86_400_000;
const KEPT_MS = 7 * DAY_MS;

/** Events that a batch of the committer stores. */
const STORED_EVENTS = 2_000;

const SILENT = {
  debug() {},
  info() {},
  warn() {},
  error: (fields: object, message: string) => console.error(message, fields),
};

/** What is done there, how often; and what it answers as rows, where that says something. */
interface Act {
  readonly name: string;
  readonly repeats: number;
  readonly run: () => Promise<number>;
}

/** Parts: `events`, `one-table`, `executions`, `agents`; all where none is named. */
export async function scale(options: CaseOptions): Promise<void> {
  const rows = options.rows ?? ROWS;
  const wanted = (part: string): boolean => options.names.length === 0 || options.names.includes(part);
  for (const [part, fill, acts] of [
    ['events', filledEvents, eventActs],
    ['one-table', filledOneTable, eventActs],
    ['executions', filledExecutions, executionActs],
  ] as const) {
    if (!wanted(part)) continue;
    const postgres = await startBenchServer();
    try {
      options.report.note(`${part}: inserting ${rows} rows …`);
      const place = await fill(postgres, rows);
      await measure(options, part, rows, place, acts);
    } finally {
      await postgres.stop();
    }
  }
  if (wanted('agents')) await scaleAgents(options);
}

async function measure(
  { report }: CaseOptions,
  part: string,
  rows: number,
  place: DatabasePlace,
  actsOf: (database: Database) => readonly Act[],
): Promise<void> {
  const bytes = await withClient(place, async (client) => {
    const { rows: read } = await client.query<{ bytes: string }>(
      'select pg_database_size(current_database())::text as bytes',
    );
    return Number(read[0]?.bytes);
  });
  const database = await openDatabase({ connection: place, poolMax: 10, log: SILENT });
  try {
    for (const { name, repeats, run } of actsOf(database)) {
      const series: number[] = [];
      let answered = 0;
      let problem: string | null = null;
      for (let times = 0; times < repeats && problem === null; times += 1) {
        const began = performance.now();
        try {
          answered += await run();
          series.push((performance.now() - began) / 1_000);
        } catch (error) {
          problem = (error as Error).message;
        }
      }
      const seconds = quantile(series, 0.5);
      report.add({
        case: 'scale',
        side: part,
        rows,
        gib: bytes / 2 ** 30,
        act: name,
        seconds,
        p99: quantile(series, 0.99),
        times: series.length,
        answered,
        rows_a_second: answered / series.reduce((sum, one) => sum + one, 0),
        ratio: null,
        problem,
        verdict: problem === null ? 'met' : 'missed',
      });
    }
  } finally {
    await database.close();
  }
}

async function filledEvents(postgres: BenchServer, rows: number): Promise<DatabasePlace> {
  const place = await postgres.create('partitions');
  await withClient(place, (client) => insertPastEvents(client, rows));
  return place;
}

async function filledOneTable(postgres: BenchServer, rows: number): Promise<DatabasePlace> {
  const place = await postgres.create('postgres-of-none'); // its place alone is wanted
  const one = { ...place, database: 'one_table' };
  await withClient(place, (client) => client.query('create database one_table'));
  await migrateTo(one, ONE_TABLE, SILENT);
  await withClient(one, (client) => insertPastEvents(client, rows));
  return one;
}

async function filledExecutions(postgres: BenchServer, rows: number): Promise<DatabasePlace> {
  const place = await postgres.create('executions');
  await withClient(place, async (client) => {
    await insertNodes(client, NODES);
    await client.query('set statement_timeout = 0; set synchronous_commit = off');
    await insertHistory(client, rows, NODES);
  });
  return place;
}

function readsOf({ pool }: Database) {
  const ranges = { v4Ranges: ['100.64.0.0/10'], v4Prefix: 24 };
  return createReads({ pool, vault: createVault(Buffer.alloc(32, 7)), domain: 'bench.test', ranges });
}

function eventActs(database: Database): readonly Act[] {
  const { pool } = database;
  const reads = readsOf(database);
  const old = before(DATABASE_NOW, KEPT_MS);
  const feed = async (cursor: string): Promise<number> => (await reads.eventsAfter(cursor, 1_000)).events.length;
  const ofNode = async (isOldestFirst: boolean): Promise<number> => {
    const query = { types: null, page: 1, pageSize: PAGE_SIZE, isOldestFirst, countedMax: 1_000 };
    const read = await reads.nodeEvents({ ...query, node: nodeId(7) as NodeId });
    return read.ok ? read.value.rows.length : 0;
  };
  return [
    { name: 'store 2,000', repeats: REPEATS, run: () => store(database) },
    { name: 'feed from the oldest', repeats: REPEATS, run: () => feed('1-0') },
    { name: 'feed from the latest', repeats: REPEATS, run: async () => feed(await latest(database)) },
    { name: 'events of a node', repeats: REPEATS, run: () => ofNode(false) },
    { name: 'its first ones', repeats: REPEATS, run: () => ofNode(true) },
    { name: 'overview', repeats: REPEATS, run: async () => Number((await readOverview(pool)) !== null) },
    { name: 'drop a partition', repeats: BATCHES, run: async () => Number(await dropOldest(pool, old)) },
    {
      name: 'delete a batch',
      repeats: BATCHES,
      run: () => pruneEvents(pool, DATABASE_NOW, before(DATABASE_NOW, KEPT_MS - DAY_MS), SWEEP_ROWS_MAX),
    },
  ];
}

async function store({ writes }: Database): Promise<number> {
  const atMs = Date.now();
  const data = { previous_status: 'healthy', status: 'unhealthy' };
  const events = Array.from({ length: STORED_EVENTS }, () => ({
    type: 'edge.node.status_changed',
    subject: randomUUID(),
    atMs,
    data,
  })) as unknown as readonly DomainEvent[];
  await inTransaction(writes, 'storing events', (client) => insertEvents(client, events));
  return events.length;
}

/** A cursor a thousand events before the end. */
async function latest({ pool }: Database): Promise<string> {
  const { rows } = await pool.query<{ cursor: string }>(
    `select txid::text || '-' || seq as cursor from event order by txid desc, seq desc offset 1000 limit 1`,
  );
  return rows[0]?.cursor ?? '';
}

function executionActs(database: Database): readonly Act[] {
  const { pool } = database;
  const reads = readsOf(database);
  const list = (query: Partial<ListQuery>) => async (): Promise<number> => {
    const page = await reads.list('command_executions', {
      filters: [],
      sort: [],
      page: 1,
      pageSize: PAGE_SIZE,
      ...query,
    });
    return page.rows.length;
  };
  const nobody = randomUUID();
  return [
    { name: 'first page', repeats: REPEATS, run: list({}) },
    { name: 'middle page', repeats: REPEATS, run: list({ page: 1_000 }) },
    {
      name: 'of a node',
      repeats: REPEATS,
      run: list({ filters: [{ field: 'node_id', op: 'in', value: [nodeId(7)] }] }),
    },
    { name: 'overview', repeats: REPEATS, run: async () => Number((await readOverview(pool)) !== null) },
    {
      name: 'look for expired ones',
      repeats: REPEATS,
      run: async () =>
        (await expireDue(pool, DATABASE_NOW, { adminId: nobody, hasPeers: () => false }, SWEEP_ROWS_MAX)).executions
          .length,
    },
    {
      name: 'look for forgotten ones',
      repeats: REPEATS,
      run: async () => (await findForgotten(pool, nobody, FORGOTTEN_AFTER_MS, SWEEP_ROWS_MAX)).pending.length,
    },
    {
      name: 'delete a batch',
      repeats: BATCHES,
      run: async () => (await pruneExecutions(pool, DATABASE_NOW, before(DATABASE_NOW, 0), SWEEP_ROWS_MAX)).count,
    },
  ];
}
