/**
 * Indexes of tables of any length. Where a table has rows they are made while others write, which a migration cannot
 * do, as it is one transaction; and beside the admin's work, which is slower without them and not wrong.
 */
import type { Client, Pool } from 'pg';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';

interface ConcurrentIndex {
  readonly name: string;
  readonly table: string;
  /** In SQL. */
  readonly columns: string;
  /** Of which rows, in SQL. */
  readonly where?: string;
}

/** By which logins to a node are found. Who reads them asks whether it is there: `event` is the longest table. */
export const LOGINS_INDEX = 'event_login_of_node';

const INDEXES: readonly ConcurrentIndex[] = [
  // Executions of one node, the latest first.
  { name: 'command_execution_of_node', table: 'command_execution', columns: '"node_id", "id"' },
  // Executions that are to be cancelled and are not over: few of those that wait for nodes which stay away.
  {
    name: 'command_execution_to_cancel',
    table: 'command_execution',
    columns: '"node_id"',
    where: '"finished_at" is null and "cancel_requested_at" is not null',
  },
  // Executions that failed, the latest first: few of those that ended.
  {
    name: 'command_execution_failed',
    table: 'command_execution',
    columns: '"completed_at", "id"',
    where: '"completed_at" is not null and "exit_code" >= 1',
  },
  // Deliveries that were given up. When is in no index: each try would have to keep it, though it changes no other.
  {
    name: 'webhook_delivery_dropped',
    table: 'webhook_delivery',
    columns: '"id"',
    where: `"status" = 'dropped'`,
  },
  // Logins to one node, the latest first. Apart from what else happens to it: somebody may guess passwords for days.
  {
    name: LOGINS_INDEX,
    table: 'event',
    columns: '"subject", "txid", "seq"',
    where: `"type" = 'edge.ssh_username.verified'`,
  },
  // Deliveries of one webhook that were given up, those made last first. No column that a try changes, as above.
  {
    name: 'webhook_delivery_dropped_of_webhook',
    table: 'webhook_delivery',
    columns: '"webhook_id", "id"',
    where: `"status" = 'dropped'`,
  },
  // Commands of a time: whoever looks for a word in scripts reads no older ones.
  { name: 'command_of_time', table: 'command', columns: '"inserted_at"' },
];

/** Longest wait for transactions that began before, such as a backup, in ms. */
const WAIT_MS_MAX = 30_000;

/** What could not be made is tried again after this, in ms. */
const AGAIN_MS = 600_000;

/** Advisory lock of whoever makes them: the first eight bytes of `sha256('edge-fleet-control indexes')`. */
const INDEXES_LOCK = '-7097705591522533768';

/** Makes those of tables that nobody has written to, which takes no time. For whoever holds the lock of the schema. */
export async function indexEmptyTables(client: Client): Promise<void> {
  for (const index of INDEXES) {
    if ((await stateOf(client, index)) !== 'missing') continue;
    const { rowCount } = await client.query(`select from "${index.table}" limit 1`);
    if (rowCount === 0) await client.query(`create index ${definitionOf(index)}`);
  }
}

/** What the making of indexes needs. */
export interface IndexBuildPorts {
  readonly pool: Pick<Pool, 'query'>;
  /** A connection without limits of time, not connected yet. */
  readonly connect: () => Client;
  readonly clock: Clock;
  readonly log: Log;
  /** WAIT_MS_MAX unless a test waits less. */
  readonly waitMsMax?: number;
}

/** Makes what is missing, at one admin at a time, and again later where that fails. Nothing is begun at first. */
export class IndexBuilds {
  readonly #ports: IndexBuildPorts;
  #client: Client | null = null;
  #attempt: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;
  #isStopped = false;

  constructor(ports: IndexBuildPorts) {
    this.#ports = ports;
  }

  /** Returns at once. */
  start(): void {
    this.#attempt = this.#tryUntilDone();
  }

  /** What is being made is given up, and made anew by the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#client?.end();
    await this.#attempt;
  }

  /** Resolves when what is under way is done, or was given up. */
  settled(): Promise<void> {
    return this.#attempt;
  }

  async #tryUntilDone(): Promise<void> {
    const isDone = await this.#tryOnce();
    if (!isDone && !this.#isStopped) this.#cancel = this.#ports.clock.after(AGAIN_MS, () => this.start());
  }

  /** Whether nothing is left to do. Never rejects. */
  async #tryOnce(): Promise<boolean> {
    const { pool, connect, log } = this.#ports;
    try {
      const missing = await missingIn(pool);
      if (missing.length === 0 || this.#isStopped) return true;
      this.#client = connect();
      await this.#client.connect();
      return await this.#make(this.#client, missing);
    } catch (error) {
      if (!this.#isStopped) log.warn({ error: (error as Error).message }, NOT_MADE);
      return false;
    } finally {
      await this.#client?.end();
      this.#client = null;
    }
  }

  async #make(client: Client, missing: readonly ConcurrentIndex[]): Promise<boolean> {
    const { log, waitMsMax = WAIT_MS_MAX } = this.#ports;
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      INDEXES_LOCK,
    ]);
    if (rows[0]?.locked !== true) return false; // another admin makes them
    await client.query(`set statement_timeout = 0; set lock_timeout = ${waitMsMax}`);
    for (const index of missing) {
      const { name } = index;
      const beganMs = performance.now();
      await makeIndex(client, index);
      log.info({ index: name, duration_ms: Math.round(performance.now() - beganMs) }, 'made an index');
    }
    return true;
  }
}

function definitionOf({ name, table, columns, where }: ConcurrentIndex): string {
  return `"${name}" on "${table}" (${columns})${where === undefined ? '' : ` where ${where}`}`;
}

/** Of a table in partitions it is made in each of them, as it cannot be made at once while others write. */
async function makeIndex(client: Client, index: ConcurrentIndex): Promise<void> {
  const { rows: partitions } = await client.query<{ name: string; has: boolean }>(
    `select c.relname as name,
       exists (select from pg_inherits x join pg_index of_it on of_it.indexrelid = x.inhrelid where x.inhparent = to_regclass($2) and of_it.indrelid = c.oid) as has
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass($1)`,
    [index.table, index.name],
  );
  if (partitions.length === 0) return makeConcurrently(client, index);
  const { columns, where } = index;
  await client.query(`create index if not exists ${definitionOf(index).replace(' on ', ' on only ')}`);
  for (const { name: table } of partitions.filter(({ has }) => !has)) {
    const name = `${table}_${index.name}`;
    await makeConcurrently(client, { name, table, columns, ...(where !== undefined && { where }) });
    await client.query(`alter index "${index.name}" attach partition "${name}"`);
  }
}

/** One that was begun and not ended costs each write, and serves nobody. */
async function makeConcurrently(client: Client, index: ConcurrentIndex): Promise<void> {
  const { name } = index;
  await client.query(`drop index concurrently if exists "${name}"`);
  await client
    .query(`create index concurrently ${definitionOf(index)}`)
    .catch((error: Error) => dropped(client, name, error));
}

const NOT_MADE = 'an index could not be made: what needs it is slow until it is, and it is tried again';

/** Takes away what was left of it, where that can be had now; then rejects with what it failed for, and with that. */
async function dropped(client: Client, name: string, error: Error): Promise<never> {
  await client.query(`drop index concurrently if exists "${name}"`).catch((left: Error) => {
    throw new Error(`${error.message}; what is left of it costs each write, and stays: ${left.message}`);
  });
  throw error;
}

async function missingIn(pool: Pick<Pool, 'query'>): Promise<readonly ConcurrentIndex[]> {
  const missing: ConcurrentIndex[] = [];
  for (const index of INDEXES) if ((await stateOf(pool, index)) !== 'valid') missing.push(index);
  return missing;
}

async function stateOf(
  client: Pick<Pool, 'query'>,
  { name }: ConcurrentIndex,
): Promise<'missing' | 'valid' | 'invalid'> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  );
  return rows[0] === undefined ? 'missing' : rows[0].valid ? 'valid' : 'invalid';
}
