/** Open executions as nodes hold them. Executions of one command share its record. */
import type { Pool } from 'pg';
import type { OpenExecution } from '../../actors/records.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { ms } from '../reads/record-rows.ts';
import { rowsOf, sql, type Sql } from '../reads/sql.ts';
import { openCommands } from './commands.ts';

/** What `openExecutionsOf` wants of `command_execution e`. */
const COLUMNS = sql`e.id, e.command_id, e.node_id, e.cluster_name, e.target_all, e.status, e.sent_at, e.cancel_requested_at, e.inserted_at, e.updated_at`;

/** For how long it may still start. */
const LEFT = sql`floor(extract(epoch from e.expired_at - clock_timestamp()) * 1000)::float8 as left_ms`;

interface OpenRow {
  readonly id: ExecutionId;
  readonly command_id: CommandId;
  readonly node_id: NodeId;
  readonly cluster_name: string;
  readonly target_all: boolean;
  readonly status: OpenExecution['status'];
  readonly sent_at: Date | null;
  readonly cancel_requested_at: Date | null;
  readonly inserted_at: Date;
  readonly updated_at: Date;
  /** Where LEFT was asked for; null: it does not expire. */
  readonly left_ms?: number | null;
}

/** The first open executions of each node, at most `limit` a node, in creation order. */
export function firstOpen(pool: Pool, nodes: readonly NodeId[], limit: number): Promise<readonly OpenExecution[]> {
  return openExecutionsOf(
    pool,
    sql`
    select ${COLUMNS} from unnest(${nodes}::uuid[]) as wanted (id)
    cross join lateral (select * from command_execution x where x.node_id = wanted.id and x.finished_at is null order by x.id limit ${limit}::int) e`,
  );
}

/** The next open executions that a node wants: in creation order, at most `limit`, without those that it holds. */
export interface NextExecutions {
  readonly node: NodeId;
  readonly limit: number;
  readonly except: readonly string[];
}

/** So many of a node are looked for at first: most have one. Those that have as many are asked again, for all. */
const NEXT_AT_FIRST = 8;

/** Ids that one of these statements is given, and rows that it may find. */
const NEXT_ROWS_MAX = 10_000;

/** For each question its executions. Questions share statements, so that a fan-out is read by a few. */
export async function nextOpen(
  pool: Pool,
  questions: readonly NextExecutions[],
): Promise<readonly (readonly OpenExecution[])[]> {
  const few = await nextOf(pool, questions, NEXT_AT_FIRST);
  const cut = questions.filter((one) => one.limit > NEXT_AT_FIRST && few.get(one)?.length === NEXT_AT_FIRST);
  const whole = await nextOf(pool, cut, Infinity);
  return questions.map((one) => whole.get(one) ?? few.get(one) ?? []);
}

/** The same, no more than `most` of each. */
async function nextOf(
  pool: Pool,
  questions: readonly NextExecutions[],
  most: number,
): Promise<ReadonlyMap<NextExecutions, readonly OpenExecution[]>> {
  const answers = new Map<NextExecutions, readonly OpenExecution[]>();
  const limitOf = ({ limit }: NextExecutions): number => Math.min(limit, most);
  for (const part of partsOf(questions, (one) => limitOf(one) + one.except.length, NEXT_ROWS_MAX)) {
    const held = part.map(({ except }) => `{${except.join(',')}}`);
    const found = await openExecutionsOf(
      pool,
      sql`
      select ${COLUMNS} from unnest(${part.map(({ node }) => node)}::uuid[], ${part.map(limitOf)}::int[], ${held}::text[]) as wanted (id, most, held)
      cross join lateral (select * from command_execution x where x.node_id = wanted.id and x.finished_at is null and x.id <> all(wanted.held::uuid[])
        order by x.id limit wanted.most) e`,
    );
    const byNode = Map.groupBy(found, ({ node }) => node);
    for (const one of part) answers.set(one, among(byNode.get(one.node) ?? [], one).slice(0, limitOf(one)));
  }
  return answers;
}

/** Those that the question wants, each once: another of the same node may have wanted others. */
function among(ofNode: readonly OpenExecution[], { except }: NextExecutions): readonly OpenExecution[] {
  const held: ReadonlySet<string> = new Set(except);
  const wanted = new Map(ofNode.filter(({ id }) => !held.has(id)).map((one) => [one.id, one]));
  return inOrder([...wanted.values()]);
}

/** Executions that a node named. */
export interface NamedExecutions {
  readonly node: NodeId;
  readonly executions: readonly ExecutionId[];
}

/** Executions that are looked up by one statement. */
const NAMED_MAX = 10_000;

/** What was found of them. */
export interface FoundExecutions {
  readonly executions: readonly OpenExecution[];
  /**
   * For how long those that expire may still start, in ms, by the database's clock as the rows were read; shared by all
   * questions.
   */
  readonly leftMs: ReadonlyMap<ExecutionId, number>;
}

/**
 * For each question those of its executions that are open and of its node, in creation order. Questions share
 * statements.
 */
export async function namedOpen(
  pool: Pool,
  questions: readonly NamedExecutions[],
): Promise<readonly FoundExecutions[]> {
  const pairs = questions.flatMap(({ node, executions }) => executions.map((execution) => ({ node, execution })));
  const found = new Map<NodeId, OpenExecution[]>();
  const leftMs = new Map<ExecutionId, number>();
  for (let at = 0; at < pairs.length; at += NAMED_MAX) {
    const part = pairs.slice(at, at + NAMED_MAX);
    const open = await openExecutionsOf(
      pool,
      sql`
      select ${COLUMNS}, ${LEFT} from (select distinct n, id from unnest(${part.map(({ node }) => node)}::uuid[], ${part.map(({ execution }) => execution)}::uuid[]) as v (n, id)) as named
      join command_execution e on e.id = named.id and e.node_id = named.n where e.finished_at is null order by e.id`,
      (row) => {
        if (typeof row.left_ms === 'number') leftMs.set(row.id, Math.max(0, row.left_ms));
      },
    );
    for (const execution of open) {
      const ofNode = found.get(execution.node);
      if (ofNode === undefined) found.set(execution.node, [execution]);
      else ofNode.push(execution);
    }
  }
  return questions.map(({ node, executions }) => {
    const named = new Set(executions);
    return { executions: inOrder((found.get(node) ?? []).filter(({ id }) => named.delete(id))), leftMs };
  });
}

/** In the order in which they were created. */
function inOrder(executions: readonly OpenExecution[]): readonly OpenExecution[] {
  return executions.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** In pieces, in order: each of at least one, and no heavier than `max` otherwise. */
function partsOf<T>(all: readonly T[], weightOf: (one: T) => number, max: number): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let room = -1;
  for (const one of all) {
    room -= weightOf(one);
    if (room >= 0) parts.at(-1)?.push(one);
    else {
      parts.push([one]);
      room = max - weightOf(one);
    }
  }
  return parts;
}

async function openExecutionsOf(
  pool: Pool,
  statement: Sql,
  each?: (row: OpenRow) => void,
): Promise<readonly OpenExecution[]> {
  const rows = await rowsOf<OpenRow>(pool, 'loading open executions', statement);
  const commands = await openCommands(pool, new Map(rows.map((row) => [row.command_id, row.target_all])));
  if (each !== undefined) rows.forEach(each);
  return rows.flatMap((row): readonly OpenExecution[] => {
    const command = commands.get(row.command_id);
    if (command === undefined) return []; // deleted since the first statement
    return [
      {
        id: row.id,
        command,
        node: row.node_id,
        clusterName: row.cluster_name,
        status: row.status,
        sentAtMs: ms(row.sent_at),
        cancelRequestedAtMs: ms(row.cancel_requested_at),
        insertedAtMs: ms(row.inserted_at),
        updatedAtMs: ms(row.updated_at),
      },
    ];
  });
}
