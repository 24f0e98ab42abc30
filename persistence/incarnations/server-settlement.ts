/**
 * A server that was started again may show commits that only it has: those that waited for its synchronous standby when
 * it died. Nobody was told of them, and a promotion takes them back. What is read on it counts once one commit of ours
 * was acknowledged there, as that one lies behind them in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientBase, PoolConfig } from 'pg';
import { NothingWritten } from '../../actors/ports.ts';
import { DatabaseClient } from '../connections/database-client.ts';

/**
 * How long a connection waits for that commit before its caller is told that the database is away, in ms: the commit of
 * a server whose standby follows takes a few.
 */
export const SETTLED_MS_MAX = 2_000;

/** Changes with each start of the server. */
const STARTED_AT = 'select pg_postmaster_start_time()::text as at';

/** A commit that leaves nothing but a record in the log, which a synchronous standby has to have. */
const BARRIER = `select pg_logical_emit_message(true, 'edge-fleet-control', 'settled')`;

/**
 * That nothing was asked yet. With the code of a server that still starts, as MikroORM leaves of an error what it
 * holds.
 */
class NotSettled extends NothingWritten {
  readonly code = '57P03'; // cannot_connect_now. Source: PostgreSQL, appendix A
}

interface Barrier {
  readonly startedAt: string | undefined;
  readonly client: Client;
  readonly passed: Promise<void>;
}

/** Of one database, for all connections of a process. No start of its server is known at first. */
export class ServerSettlement {
  readonly #options: PoolConfig;
  #settled: string | undefined;
  #barrier: Barrier | null = null;

  /**
   * `options`: of a connection without limits of time, but for its dial. The commit is waited for as long as it takes,
   * on one connection.
   */
  constructor(options: PoolConfig) {
    this.#options = options;
  }

  /**
   * Resolves once what is read on this new connection is durable: at once on a server that is known. Rejects with
   * DatabaseUnavailable after SETTLED_MS_MAX, or when the server is lost; the connection is lost then. A pool would say
   * goodbye to the server, and tell nobody before that has answered.
   */
  async admit(connection: Client): Promise<void> {
    try {
      await this.#durable(connection);
    } catch (error) {
      connection.connection.stream.destroy();
      throw error;
    }
  }

  async #durable(connection: ClientBase): Promise<void> {
    const startedAt = await startOf(connection);
    if (startedAt === this.#settled) return;
    const { passed } = this.#barrierOf(startedAt);
    const overdue = new AbortController();
    const late = delay(SETTLED_MS_MAX, true, { signal: overdue.signal }).catch(() => false);
    const isLate = await Promise.race([passed.then(() => false), late]).finally(() => overdue.abort());
    if (isLate) throw new NotSettled('The database was started again, and its standby does not follow yet.');
  }

  /** Nobody waits any more. */
  close(): void {
    this.#barrier?.client.connection.stream.destroy(); // a goodbye would wait behind the commit
  }

  /** One for each start of the server, however many connections wait for it. */
  #barrierOf(startedAt: string | undefined): Barrier {
    const begun = this.#barrier;
    if (begun !== null && begun.startedAt === startedAt) return begun;
    this.close();
    const client = new DatabaseClient(this.#options);
    const barrier = { startedAt, client, passed: this.#pass(startedAt, client) };
    this.#barrier = barrier;
    const over = (): void => {
      if (this.#barrier === barrier) this.#barrier = null;
    };
    barrier.passed.then(over, over);
    return barrier;
  }

  async #pass(startedAt: string | undefined, client: Client): Promise<void> {
    client.on('error', () => {}); // told by what was asked
    try {
      await client.connect();
      if ((await startOf(client, SETTLED_MS_MAX)) !== startedAt)
        throw new NotSettled('The database was started again meanwhile.');
      await client.query(BARRIER);
      this.#settled = startedAt;
    } finally {
      void client.end().catch(() => {}); // lost already: what was asked has told of it
    }
  }
}

/** Rejects after `msMax`; 0: after the limit of this connection. */
async function startOf(connection: ClientBase, msMax = 0): Promise<string | undefined> {
  const asked = { text: STARTED_AT, query_timeout: msMax }; // of which the types of pg 8 do not tell
  const { rows } = await connection.query<{ at: string }>(asked);
  return rows[0]?.at;
}
