/**
 * All nodes that match some filters, for service discovery: one snapshot, in pages by id, as fast as they are taken.
 */
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Filter } from '../../actors/filters.ts';
import { asUnavailable } from '../connections/availability.ts';
import { all, condition } from './conditions.ts';
import { SHORT_ID_CHARS } from '../../actors/node/display-name.ts';
import { NODES } from './nodes.ts';
import { rowsOf, sql } from './sql.ts';
import type { Discovery } from '../../api/ports.ts';

/** Nodes a statement: some 150 KB, written in 5 ms. */
const PAGE_ROWS = 2_000;

/**
 * Nodes a piece: some 30 KB, so that the driver takes it in as it comes, and V8 as garbage for a minor GC. Ten times as
 * much cost twice the processor time and 100 MB.
 */
const PIECE_ROWS = 400;

/**
 * A client that leaves a page lying for so long loses its list, in ms: then the server ends the transaction. It is
 * longer than that of others, which hold locks.
 */
const PAGE_MS_MAX = 10_000;

/** And one whose list takes this long in all, in ms. */
const LIST_MS_MAX = 60_000;

/** Lists at once: each holds a connection until its client has it all. */
const AT_ONCE_MAX = 2;

/** Lists that wait for their turn, and how long, in ms: below the 5 s in which every call is answered (L3). */
const WAITING_MAX = 64;
const WAITING_MS_MAX = 1_500;

/** Some nodes: how many, the last of them, and their text. */
interface Row {
  readonly count: number;
  readonly last: string;
  readonly text: string;
}

/** How long lists may take, in ms; the constants unless a test has its own. */
export interface DiscoveryLimits {
  readonly pageMsMax?: number;
  readonly listMsMax?: number;
}

/** Complete lists over these connections. A client that is too slow loses its list. */
export function createDiscovery(
  pool: Pool,
  { pageMsMax = PAGE_MS_MAX, listMsMax = LIST_MS_MAX }: DiscoveryLimits = {},
): Discovery {
  const semaphore = createSlots();
  return {
    async *pieces(filters) {
      const leave = await semaphore.enter();
      try {
        const client = await connected(pool);
        let failure: Error | undefined;
        try {
          await rowsOf(client, 'beginning a list of all nodes', sql`begin isolation level repeatable read read only`);
          await rowsOf(
            client,
            'beginning a list of all nodes',
            sql`select set_config('idle_in_transaction_session_timeout', ${String(pageMsMax)}, true)`,
          );
          yield* piecesOf(client, filters, performance.now() + listMsMax);
        } catch (error) {
          failure = error as Error;
          throw error;
        } finally {
          await released(client, failure);
        }
      } finally {
        leave();
      }
    },
  };
}

async function* piecesOf(
  client: PoolClient,
  filters: readonly Filter[],
  endMs: number,
): AsyncGenerator<string, void, void> {
  const where = all(
    filters.map((filter) =>
      condition(NODES.spec.fields[filter.field]?.kind ?? 'text', NODES.fields[filter.field] ?? {}, filter),
    ),
  );
  const read = (id: string): Promise<Row[]> =>
    rowsOf<Row>(
      client,
      'listing all nodes',
      sql`
    select count(*)::int as count, max(id::text collate "C") as last, string_agg(concat(id, E'\\t', to_json(cluster_name), E'\\t', status, E'\\t', to_json(version), E'\\t', name, E'\\t', facts, E'\\t', labels, E'\\n'), '') as text from (
      select n.id, c.name as cluster_name, n.status, n.version,
        to_json(coalesce((select min(a.name) from alias a where a.node_id = n.id), f.facts ->> 'hostname', left(n.id::text, ${SHORT_ID_CHARS}))) as name,
        json_build_array(f.facts -> 'hostname', f.facts -> 'os', f.facts -> 'arch')::text as facts, coalesce(l.labels::text, '{}') as labels, (row_number() over (order by n.id) - 1) / ${PIECE_ROWS}::int as part
      from node n join cluster c on c.id = n.cluster_id left join node_labels l on l.node_id = n.id left join node_facts f on f.node_id = n.id where n.id > ${id}::uuid and ${where} order by n.id limit ${PAGE_ROWS}) as page
    group by part order by part`,
    );
  const pageAfter = (id: string): Promise<Row[]> => {
    const page = read(id);
    page.catch(() => {}); // it is waited for later, or by nobody
    return page;
  };
  let next: Promise<Row[]> | null = pageAfter('00000000-0000-0000-0000-000000000000');
  while (next !== null) {
    if (performance.now() > endMs) throw new DatabaseUnavailable('listing all nodes: it takes its client too long');
    const rows: readonly Row[] = await next;
    const last = rows.at(-1)?.last;
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    next = last === undefined || count < PAGE_ROWS ? null : pageAfter(last); // while the client takes this one
    for (const { text } of rows) yield text;
  }
}

async function connected(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw asUnavailable(error, 'listing all nodes');
  }
}

/** One whose transaction was not ended is not used again. */
async function released(client: PoolClient, failure: Error | undefined): Promise<void> {
  const isEnded =
    failure === undefined &&
    (await client.query('rollback').then(
      () => true,
      () => false,
    )); // nothing was changed: this ends the snapshot
  client.release(!isEnded);
}

/** Turns that are waited for, but not for ever. */
function createSlots(): { enter(): Promise<() => void> } {
  const waiting = new Set<() => void>();
  let taken = 0;
  const leave = (): void => {
    taken -= 1;
    const [next] = waiting;
    next?.();
  };
  return {
    async enter() {
      if (taken >= AT_ONCE_MAX) {
        if (waiting.size >= WAITING_MAX)
          throw new DatabaseUnavailable('listing all nodes: too many lists wait already');
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const timer = setTimeout(() => {
          waiting.delete(go);
          reject(new DatabaseUnavailable('listing all nodes: other lists take too long'));
        }, WAITING_MS_MAX);
        const go = (): void => {
          waiting.delete(go);
          clearTimeout(timer);
          taken += 1; // here, so that nobody comes between
          resolve();
        };
        waiting.add(go);
        await promise;
      } else {
        taken += 1;
      }
      return leave;
    },
  };
}
