/**
 * Connections of MikroORM, and of Kysely beneath it: one that is lost or silent goes back to its pool. Either keeps it
 * otherwise, for ever: callers wait in vain for a connection, and so does whoever closes the pool.
 */
import type { Client, Pool, PoolClient, PoolConfig } from 'pg';
import { isUnanswered } from './availability.ts';

type Ask = (...asked: unknown[]) => unknown;

/** How Kysely begins a transaction. */
const BEGIN = /^(?:begin|start transaction)\b/u;

/** `driverOptions` of a MikroORM that is connected so. Every MikroORM is to have them. */
export function ormConnections(options: PoolConfig): object {
  return {
    ...options,
    onPoolCreated: (pool: Pool) => {
      pool.on('connect', readyForOrm);
      giveBackUnused(pool);
    },
  };
}

/**
 * A connection that was dialled while the pool was closed is given back at once: Kysely has forgotten its pool by then,
 * fails over that, and keeps the connection, for which whoever closes the pool waits. An admin that was told to stop
 * right after its start took 25 s and ended with status 1.
 */
function giveBackUnused(pool: Pool): void {
  const connect = pool.connect.bind(pool) as (told?: (...answer: unknown[]) => void) => Promise<PoolClient>;
  const connectUnlessEnding = async (): Promise<PoolClient> => {
    const client = await connect();
    if (!pool.ending) return client;
    client.release(true);
    throw new Error('Cannot use a pool after calling end on the pool'); // as pg-pool says it
  };
  pool.connect = ((told?: (...answer: unknown[]) => void) =>
    told === undefined ? connectUnlessEnding() : connect(told)) as Pool['connect'];
}

function readyForOrm(client: PoolClient): void {
  endWhenSilent(client);
  giveBackUnbegun(client);
  forgiveRollback(client);
}

/**
 * Closes a connection that does not answer in time: whatever asks on it next would wait behind that answer, and
 * MikroORM gives it back to its pool as if it were well. One that a firewall forgot, or whose server was lost without a
 * word, kept an admin from its leases until the system gave the connection up, after a quarter of an hour. A statement
 * that is slow is ended by the server before (STATEMENT_MS_MAX).
 */
function endWhenSilent(client: PoolClient): void {
  onFailure(client, (error) => {
    // It is given up: how its end goes says nothing to anybody.
    if (isUnanswered(error)) void end(client);
  });
}

/** Where a transaction does not begin, Kysely leaves its connection to nobody: it is given back here, and closed. */
function giveBackUnbegun(client: PoolClient): void {
  onFailure(client, (_error, text) => {
    if (BEGIN.test(text)) client.release(true);
  });
}

/**
 * A rollback on a connection that is lost is done: the server does it by itself. Where it is refused, Kysely never
 * gives the connection back to its pool, and an admin whose transactions the database ended while it was suspended
 * could not check in any more.
 */
function forgiveRollback(client: PoolClient): void {
  const ask = client.query.bind(client) as Ask;
  const forgiving: Ask = (...asked) => {
    const answer = ask(...asked);
    if (asked[0] !== 'rollback' || !(answer instanceof Promise)) return answer;
    return answer.catch(async () => {
      await end(client);
      return { command: 'ROLLBACK', rowCount: null, rows: [], fields: [], oid: 0 };
    });
  };
  client.query = forgiving as PoolClient['query'];
}

/** Tells of each statement that fails, before whoever asked for it hears of that. */
function onFailure(client: PoolClient, tell: (error: unknown, text: string) => void): void {
  const ask = client.query.bind(client) as Ask;
  const watched: Ask = (...asked) => {
    const answer = ask(...asked);
    if (answer instanceof Promise) answer.catch((error: unknown) => tell(error, String(asked[0])));
    return answer;
  };
  client.query = watched as PoolClient['query'];
}

/** Lost already, as a rule: that it cannot be told goodbye changes nothing. */
async function end(client: PoolClient): Promise<void> {
  await (client as PoolClient & Pick<Client, 'end'>).end().catch(() => undefined);
}
