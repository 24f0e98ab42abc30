/**
 * Statements of one transaction that are sent without waiting for each other's answers: a batch of eight is one round
 * trip then. Source: PostgreSQL, protocol flow, pipelining; `pg` 8.23, `pipeline`.
 */
import type { PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { QUERY_MS_MAX } from '../connections/database.ts';
import type { Client } from './statement.ts';

/**
 * A connection whose statements are answered in order, each with its own time after the one before it. Once one failed,
 * all others fail with the same: what the server says to those is only that the transaction is over.
 */
export class Pipelined {
  readonly #client: Client;
  #unanswered = 0;
  #fault: unknown = null;

  constructor(client: Client) {
    this.#client = client;
  }

  /** The same connection, for whoever sends statements. */
  get client(): Client {
    return { query: this.#query as PoolClient['query'] };
  }

  readonly #query = async <R extends QueryResultRow>(
    asked: QueryConfig | string,
    values?: unknown[],
  ): Promise<QueryResult<R>> => {
    this.#unanswered += 1;
    try {
      // one that waits behind others waits no time of its own
      const config = {
        ...(typeof asked === 'string' ? { text: asked, values } : asked),
        query_timeout: this.#timeoutMs,
      };
      return await this.#client.query<R>(config);
    } catch (error) {
      this.#fault ??= error;
      throw this.#fault;
    } finally {
      this.#unanswered -= 1;
    }
  };

  get #timeoutMs(): number {
    return QUERY_MS_MAX * this.#unanswered;
  }
}
