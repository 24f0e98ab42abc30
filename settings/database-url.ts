/** Where the database is, as `DATABASE_URL` says it: one host, or several as libpq writes them. */

/** Most hosts of one database. */
export const DATABASE_HOSTS_MAX = 16;

/** One server. `host` may be the directory of a Unix socket. */
export interface DatabasePlace {
  readonly host: string;
  readonly port: number;
  /** The whole URL with this place alone. */
  readonly url: string;
}

type Named = Omit<DatabasePlace, 'url'>;

/** What a URL says. */
export interface DatabaseUrl {
  /** In the order in which they are tried; at least one. */
  readonly places: readonly DatabasePlace[];
  readonly database: string;
}

/** Where a server listens unless it is said. */
const PORT = 5432;

/** Scheme, who (up to the last @), where, which database, and what else. Source: libpq, connection URIs. */
const FORM = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#]*))?$/iu;

/** What an admin may want of the server that it talks to: it writes. */
const SESSION_ATTRIBUTES = new Set(['read-write', 'primary']);

/**
 * Reads it: `postgresql://user:password@one:5432,two:5433/database?target_session_attrs=read-write`, or the hosts and
 * ports as the parameters `host` and `port`. One port stands for all hosts. Null: it is no such URL, cannot be decoded,
 * names more than DATABASE_HOSTS_MAX hosts, or wants a server that takes no writes.
 */
export function readDatabaseUrl(url: string): DatabaseUrl | null {
  const [, scheme, who = '', where = '', path = '/', search = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined) return null;
  const said = new URLSearchParams(search);
  if (!SESSION_ATTRIBUTES.has(said.get('target_session_attrs') ?? 'read-write')) return null;
  const found = placesOf(where, said.get('host'), said.get('port'));
  if (found === null || found.length === 0 || found.length > DATABASE_HOSTS_MAX) return null;
  const places = found.map((place) => ({
    ...place,
    url: found.length === 1 ? url : `${scheme}${who}${writtenHost(place)}${path}${restOf(said, place)}`,
  }));
  if (!places.every((place) => URL.canParse(place.url))) return null;
  const database = decoded(path.slice(1));
  // Of a password that somebody typed as it is, pg takes a percent sign that encodes nothing for itself.
  const login = decoded(who.replaceAll(/%(?![\da-f]{2})/giu, '%25'));
  return database === null || login === null ? null : { places, database };
}

/** Null: a percent sign in it encodes nothing. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Null: something of it is no host or no port. */
function placesOf(where: string, hosts: string | null, ports: string | null): readonly Named[] | null {
  const named = where.split(',').map(hostAndPort);
  const written = hosts === null ? named : hosts.split(',').map((host) => ({ host, port: null }));
  const portsGiven = ports === null ? written.map((one) => one?.port ?? null) : ports.split(',').map(portOf);
  if (portsGiven.length !== 1 && portsGiven.length !== written.length) return null;
  const places = written.map((one, index) => {
    const port = portsGiven.length === 1 ? portsGiven[0] : portsGiven[index];
    return one === null || port === undefined || Number.isNaN(port) ? null : { host: one.host, port: port ?? PORT };
  });
  const whole = places.filter((place) => place !== null);
  const mayBeLocal = whole.length === 1; // an empty host is the machine itself, as it always was
  return whole.length === places.length && whole.every(({ host }) => host !== '' || mayBeLocal) ? whole : null;
}

function hostAndPort(text: string): { readonly host: string; readonly port: number | null } | null {
  const [, address, name, port] = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::(\d*))?$/u.exec(text) ?? [];
  const host = decoded(address ?? name ?? '');
  if (host === null || (address === undefined && name === undefined)) return null;
  return { host, port: port === undefined ? null : portOf(port) };
}

/** NaN: it is none. Null: nothing is said. */
function portOf(text: string): number | null {
  if (text === '') return null;
  const port = /^\d{1,5}$/u.test(text) ? Number(text) : Number.NaN;
  return port >= 1 && port <= 65_535 ? port : Number.NaN;
}

function writtenHost({ host, port }: Named): string {
  if (host.startsWith('/')) return 'localhost'; // said as a parameter
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The parameters but for the hosts. The directory of a socket can be said as one only. */
function restOf(said: URLSearchParams, { host, port }: Named): string {
  const rest = new URLSearchParams(said);
  for (const name of ['host', 'port', 'target_session_attrs']) rest.delete(name);
  if (host.startsWith('/')) {
    rest.set('host', host);
    rest.set('port', String(port));
  }
  const text = rest.toString();
  return text === '' ? '' : `?${text}`;
}
