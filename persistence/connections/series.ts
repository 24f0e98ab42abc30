/**
 * Statements of one transaction that are sent as one series: nothing of it is waited for until its end, so that begin,
 * writes and commit are one round trip. Once one fails the server passes over all that follow, the commit included.
 * Nothing is sent before the end: while a server waits for the rest of a series it counts no session as idle, and holds
 * what was locked, however long whoever sends it stands still. So a series fits into the buffers of a connection.
 * Source: PostgreSQL, protocol flow, extended query and pipelining; `pg` 8.23, a `Submittable`.
 */
import { Query, type Connection, type PoolClient, type QueryConfig, type QueryResult, type QueryResultRow } from 'pg';
import { QUERY_MS_MAX } from './database.ts';

/**
 * What ends a series whatever is said meanwhile, in ms: above what the timeouts of its statements come to.
 */
const SERIES_MS_MAX = 60_000;

/** What `pg` 8 says of a statement that was not answered in time. */
const UNANSWERED = 'Query read timeout';

/** A server that is done before it answered all. Taken for a connection that is lost: what was stored is in doubt. */
const MISSING = 'Connection terminated: the database passed over a statement of a series';

/** What `pg` 8 has in a query and a connection, and its types do not tell. */
interface QueryInside {
  readonly name?: string;
  readonly text: string;
  prepare(connection: Connection): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
}
interface ConnectionInside extends Connection {
  /** Texts of statements that were sent to be parsed, by their names. */
  readonly submittedNamedStatements: Record<string, string>;
  execute(config: { readonly portal: string }): void;
}

/** One of them: a query behind which the transaction goes on. Its answer is asked for at once. */
class Part extends Query {
  // eslint-disable-next-line no-underscore-dangle -- what pg calls when it has sent the values
  _getRows(connection: ConnectionInside): void {
    connection.execute({ portal: '' });
    connection.flush();
  }
}

/** A series on one connection, open until `end`. Whoever began it ends it, also when something of it failed. */
export class Series {
  /** Asked by `pg`, which tells of a timeout of its own. */
  readonly query_timeout = SERIES_MS_MAX;
  callback: ((error?: unknown) => void) | undefined;
  readonly #parts: QueryInside[] = [];
  readonly #over = Promise.withResolvers<void>();
  #connection: ConnectionInside | null = null;
  #answered = 0;
  #fault: { readonly error: unknown } | null = null;
  #silence: NodeJS.Timeout | null = null;

  constructor(client: PoolClient) {
    this.#over.promise.catch(() => undefined); // told to whoever asks for it
    client.query(this);
  }

  /** The same connection, for whoever sends statements. */
  get client(): Pick<PoolClient, 'query'> {
    return { query: this.#query as PoolClient['query'] };
  }

  /**
   * Sends all of it. Resolves when it was done, rejects with the first error: what was begun is to be taken back then.
   */
  end(): Promise<void> {
    if (this.#fault === null) this.#silence = setTimeout(() => this.#giveUp(new Error(UNANSWERED)), QUERY_MS_MAX);
    this.#connection?.sync();
    this.#connection?.stream.uncork();
    return this.#over.promise;
  }

  readonly #query = <R extends QueryResultRow>(
    asked: QueryConfig | string,
    values?: unknown[],
  ): Promise<QueryResult<R>> => {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult<R>>();
    promise.catch(() => undefined); // `end` tells of it, to whoever did not wait
    if (this.#fault !== null) {
      reject(this.#fault.error);
      return promise;
    }
    const config = typeof asked === 'string' ? { text: asked, values } : { ...asked }; // pg writes into it
    const part = new Part(config, (error, result) => {
      if (error instanceof Error) {
        reject(error);
        if (this.#fault === null) this.#giveUp(error); // its values could not be sent
      } else resolve(result);
    }) as unknown as QueryInside;
    this.#parts.push(part);
    if (this.#connection !== null) part.prepare(this.#connection);
    return promise;
  };

  /** From here on these are for `pg`, which calls them as the server answers. */
  submit(connection: Connection): void {
    this.#connection = connection as ConnectionInside;
    connection.stream.cork();
  }

  /** Of the one that is answered next, so that `pg` remembers what was parsed. */
  get name(): string | undefined {
    return this.#current?.name;
  }

  get text(): string | undefined {
    return this.#current?.text;
  }

  handleRowDescription(message: unknown): void {
    this.#current?.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#current?.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    const part = this.#current;
    this.#answered += 1;
    this.#silence?.refresh();
    part?.handleCommandComplete(message, connection);
    part?.handleReadyForQuery(connection);
  }

  handleReadyForQuery(): void {
    if (this.#fault === null && this.#answered < this.#parts.length) return this.#giveUp(new Error(MISSING));
    this.#finish();
    this.#over.resolve();
  }

  handleError(error: unknown, connection: Connection): void {
    if (this.#fault !== null) return;
    this.#fault = { error };
    this.#finish();
    const unanswered = this.#parts.slice(this.#answered);
    const { submittedNamedStatements } = connection as ConnectionInside;
    for (const { name } of unanswered) if (name !== undefined) delete submittedNamedStatements[name]; // were not parsed
    for (const part of unanswered) part.handleError(error, connection);
    this.#over.reject(error);
  }

  get #current(): QueryInside | undefined {
    return this.#parts[this.#answered];
  }

  #finish(): void {
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.callback?.(); // ends the timeout of pg
  }

  /** Where the series stands is not known, or nothing was answered: the connection is of no use to anybody. */
  #giveUp(error: Error): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.handleError(error, connection);
    connection.stream.destroy();
  }
}
