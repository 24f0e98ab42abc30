/**
 * A server that was started again may show commits that only it has: those that waited for its synchronous standby when
 * it died. Nobody was told of them, and a promotion takes them back. What is read on it counts once one commit of ours
 * was acknowledged there, as that one lies behind them in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientBase, PoolConfig } from 'pg';
import { NothingWritten } from '../../actors/ports.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import { DatabaseClient } from '../connections/database-client.ts';

/**
 * How long a connection waits for that commit before its caller is told that the database is away, in ms: the commit of
 * a server whose standby follows takes a few.
 */
export const SETTLED_MS_MAX = 2_000;

/**
 * A commit that takes longer is given up for another one, in ms, where its server does not have it: it was sent into a
 * connection that is gone. The system tries for some 15 minutes to get it through, and does not ask meanwhile whether
 * the connection is there (KEEP_ALIVE_MS). Any later commit proves as much.
 */
export const BARRIER_MS_MAX = 20_000;

/** Changes with each start of the server. */
const STARTED_AT = 'select pg_postmaster_start_time()::text as at, pg_backend_pid()::text as pid';

/**
 * Whether a server has work to do for this connection, or waits for its standby, which goes on without the client: one
 * commit more for each of them would use up its connections while the standby is away.
 */
const IS_AT_WORK = (pid: string): string =>
  `select from pg_stat_activity where pid = ${pid} and wait_event is distinct from 'ClientRead'`;

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
  /** By the monotonic clock. */
  readonly sinceMs: number;
  /** Of its connection at the server; null: not known yet, for SETTLED_MS_MAX after the dial at most. */
  pid: string | null;
  passed: Promise<void>;
}

/** What a server says of its start, and of the connection. */
interface Start {
  readonly at?: string;
  readonly pid?: string;
}

/** Of one database, for all connections of a process. No start of its server is known at first. */
export class ServerSettlement {
  readonly #options: PoolConfig;
  readonly #nowMs: () => number;
  #settled: string | undefined;
  #barrier: Barrier | null = null;

  /**
   * `options`: of a connection without limits of time, but for its dial. The commit is waited for as long as it takes,
   * on one connection, and on another one after BARRIER_MS_MAX where that one is gone. `nowMs`: a monotonic clock.
   */
  constructor(options: PoolConfig, nowMs: () => number = monotonicMs) {
    this.#options = options;
    this.#nowMs = nowMs;
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
    const { at: startedAt } = await startOf(connection);
    if (startedAt === this.#settled) return;
    const passed = this.#endLost(connection).then(() => this.#barrierOf(startedAt).passed);
    const overdue = new AbortController();
    const late = delay(SETTLED_MS_MAX, true, { signal: overdue.signal }).catch(() => false);
    const isLate = await Promise.race([passed.then(() => false), late]).finally(() => overdue.abort());
    if (isLate) throw new NotSettled('The database was started again, and its standby does not follow yet.');
  }

  /** Nobody waits any more. */
  close(): void {
    this.#barrier?.client.connection.stream.destroy(); // a goodbye would wait behind the commit
  }

  /** Gives up a barrier that its server does not have, as far as this other connection tells. */
  async #endLost(connection: ClientBase): Promise<void> {
    const barrier = this.#barrier;
    if (barrier === null || barrier.pid === null || this.#nowMs() - barrier.sinceMs < BARRIER_MS_MAX) return;
    const { rows } = await connection.query(IS_AT_WORK(barrier.pid));
    if (rows.length > 0 || this.#barrier !== barrier) return;
    this.close();
    this.#barrier = null;
  }

  /** One for each start of the server, however many connections wait for it. */
  #barrierOf(startedAt: string | undefined): Barrier {
    const begun = this.#barrier;
    if (begun !== null && begun.startedAt === startedAt) return begun;
    this.close();
    const client = new DatabaseClient(this.#options);
    const barrier: Barrier = { startedAt, client, sinceMs: this.#nowMs(), pid: null, passed: Promise.resolve() };
    barrier.passed = this.#pass(barrier);
    this.#barrier = barrier;
    const over = (): void => {
      if (this.#barrier === barrier) this.#barrier = null;
    };
    barrier.passed.then(over, over);
    return barrier;
  }

  async #pass(barrier: Barrier): Promise<void> {
    const { startedAt, client } = barrier;
    client.on('error', () => {}); // told by what was asked
    try {
      await client.connect();
      const { at, pid = null } = await startOf(client, SETTLED_MS_MAX);
      if (at !== startedAt) throw new NotSettled('The database was started again meanwhile.');
      barrier.pid = pid;
      await client.query(BARRIER);
      this.#settled = startedAt;
    } finally {
      void client.end().catch(() => {}); // lost already: what was asked has told of it
    }
  }
}

/** Rejects after `msMax`; 0: after the limit of this connection. */
async function startOf(connection: ClientBase, msMax = 0): Promise<Start> {
  const asked = { text: STARTED_AT, query_timeout: msMax }; // of which the types of pg 8 do not tell
  const { rows } = await connection.query<Start>(asked);
  return rows[0] ?? {};
}
