/** How a database is connected to, wherever it is: on one host, or on the one of several that takes writes. */
import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import type { PoolConfig } from 'pg';
import { readDatabaseUrl } from '../../settings/database-url.ts';
import type { Log } from '../../transport/net/log.ts';
import { DatabaseClient } from './database-client.ts';
import { ReadWriteHost } from './read-write-host.ts';

/** Where the database is. `host` may be the directory of a Unix socket. */
export type Connection =
  | {
      readonly host: string;
      readonly port?: number;
      readonly user: string;
      readonly database: string;
      readonly password?: string;
    }
  | { readonly url: string };

/** A database, found. */
export interface PlacedDatabase {
  /** For every connection to it, without any limit of time. */
  readonly options: PoolConfig;
  readonly name: string;
}

/** Parameters by which a URL says how TLS is used. */
const TLS_PARAMETERS = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'uselibpqcompat'];

/**
 * The options for this database. Where its URL names several hosts, each connection goes to the one that takes writes
 * when it is dialled. Throws for a URL that is none: settings refuse it before.
 */
export function placeDatabase(connection: Connection, log: Log): PlacedDatabase {
  if (!('url' in connection)) return { options: { ...connection, Client: DatabaseClient }, name: connection.database };
  const read = readDatabaseUrl(connection.url);
  if (read === null) throw new Error('DATABASE_URL is none');
  if (read.places.length === 1)
    return { options: { connectionString: connection.url, Client: DatabaseClient }, name: read.database };
  const names = read.places.map(({ host }) => host);
  const hosts = new ReadWriteHost(read.places, ({ url }) => ofAnyHost(url, names), log);
  const options = ofAnyHost(read.places[0]?.url ?? '', names);
  return { options: { ...options, stream: () => hosts.socket(), Client: DatabaseClient }, name: read.database };
}

/** Over TLS the certificate may be that of any of the hosts: each of them is the database. */
function ofAnyHost(first: string, hosts: readonly string[]): PoolConfig {
  const { ssl } = new DatabaseClient({ connectionString: first }) as unknown as {
    readonly ssl: boolean | ConnectionOptions;
  };
  if (ssl === false) return { connectionString: first };
  const url = new URL(first);
  for (const parameter of TLS_PARAMETERS) url.searchParams.delete(parameter);
  const isOneOfThem: typeof checkServerIdentity = (_host, certificate) => {
    const problems = hosts.map((host) => checkServerIdentity(host, certificate));
    return problems.includes(undefined) ? undefined : problems[0];
  };
  return {
    connectionString: url.href,
    ssl: { checkServerIdentity: isOneOfThem, ...(ssl === true ? {} : ssl) },
  };
}
