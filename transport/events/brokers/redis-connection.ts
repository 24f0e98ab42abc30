/** One connection to one Redis server or sentinel: made once, signed in, and gone when it breaks. */
import { Redis, type RedisOptions } from 'ioredis';
import type { Log } from '../../net/log.ts';
import { within } from './deadline.ts';
import { reasonOf } from './reason.ts';
import { takeAnswersOnly } from './redis-answers.ts';
import type { RedisSettings } from './settings.ts';

/** Where a server listens unless its URL says so. Source: Redis documentation, and for sentinels Redis Sentinel. */
const PORT_DEFAULT = 6379;
const SENTINEL_PORT_DEFAULT = 26_379;

/** First probe of an idle connection, in ms: a publish finds out sooner. */
const KEEP_ALIVE_MS = 10_000;

/** What the client says of a connection that is gone, whoever ended it, to the commands of it. */
const CLOSED = 'Connection is closed.';
const CUT = /Connection is closed|connection close$|isn't writeable/u;

/** Of each client: what comes behind it follows from it. */
const firstErrors = new WeakMap<Redis, unknown>();

/** A server and how to sign in there. */
export interface RedisServer {
  readonly host: string;
  readonly port: number;
  readonly isEncrypted: boolean;
  readonly username: string | null;
  readonly password: string | null;
  /** The settings that a refused sign-in makes suspicious. */
  readonly credentialNames: string;
}

/** The servers of the settings in their order; in sentinel mode these are the sentinels. */
export function redisServers(settings: RedisSettings): RedisServer[] {
  const isEncrypted = settings.ssl || settings.urls.some((url) => url.startsWith('rediss:'));
  const { mode } = settings;
  const login =
    mode.type === 'sentinel'
      ? { username: null, password: mode.sentinelPassword, credentialNames: 'EVENT_BROKER_REDIS_SENTINEL_PASSWORD' }
      : masterLogin(settings);
  return settings.urls.map((text) => {
    const url = new URL(text);
    return {
      host: url.hostname.replace(/^\[|\]$/gu, ''),
      port: Number(url.port || (mode.type === 'sentinel' ? SENTINEL_PORT_DEFAULT : PORT_DEFAULT)),
      isEncrypted,
      ...login,
    };
  });
}

/** How to sign in where events go. */
export function masterLogin({
  username,
  password,
}: RedisSettings): Pick<RedisServer, 'username' | 'password' | 'credentialNames'> {
  return {
    username,
    password,
    credentialNames:
      username === null
        ? 'EVENT_BROKER_REDIS_PASSWORD'
        : 'EVENT_BROKER_REDIS_USERNAME with EVENT_BROKER_REDIS_PASSWORD',
  };
}

/**
 * Options of the client: it neither reconnects, repeats nor queues, since the channel opens a new connection. Signing
 * in is ours, as its way prints warnings.
 */
export function redisOptions({ host, port, isEncrypted }: RedisServer, connectMs: number): RedisOptions {
  return {
    host,
    port,
    ...(isEncrypted && { tls: {} }),
    lazyConnect: true,
    connectTimeout: connectMs,
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    enableOfflineQueue: false,
    enableReadyCheck: false, // it needs INFO, which a user who may only publish has not
    disableClientInfo: true,
    protocol: 2,
  };
}

/**
 * Connects and signs in within `msMax`. Rejects with an Error for an operator, which has no cause: those of the client
 * hold the commands, and so the password.
 */
export async function connectRedis(server: RedisServer, msMax: number, log: Log): Promise<Redis> {
  const client = new Redis(redisOptions(server, msMax));
  client.on('error', (error) => {
    if (!firstErrors.has(client)) firstErrors.set(client, error);
  });
  client.once('connect', () => takeAnswersOnly(client));
  const problem = await within(
    msMax,
    signedIn(client, server, log),
    () => new Error(`it does not answer within ${Math.round(msMax)} ms`),
  ).then(
    () => null,
    (error: unknown) => redisReason(firstErrors.get(client) ?? error, server),
  );
  if (problem === null) return client;
  client.disconnect();
  throw new Error(`Redis at ${nameOf(server)} cannot be used: ${problem}.`);
}

async function signedIn(client: Redis, server: RedisServer, log: Log): Promise<void> {
  await client.connect();
  if (server.username !== null) await client.auth(server.username, server.password ?? '');
  else if (server.password !== null) {
    await client.auth(server.password).catch((error: unknown) => {
      if (!String(error).includes('without any password configured')) throw error;
      log.warn({ server: nameOf(server) }, 'Redis wants no password, although one is set.');
    });
  }
  await permitted(client.client('SETNAME', 'edge-fleet-control'));
  await permitted(client.ping());
}

/** The answer, or null where this user may not ask, or nobody may: who may only publish is as welcome. */
export async function permitted<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error: unknown) => {
    if (error instanceof Error && /^(?:NOPERM|ERR unknown command)/u.test(error.message)) return null;
    throw error;
  });
}

/** Host and port. */
export function nameOf({ host, port }: Pick<RedisServer, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Why the connection of a client is gone, as a part of a sentence; or, of an error of a command, why that failed. To
 * commands the client says only that there is no connection.
 */
export function goneReason(client: Redis, server: RedisServer, error: unknown = new Error(CLOSED)): string {
  const isCut = error instanceof Error && CUT.test(error.message);
  return redisReason(isCut ? (firstErrors.get(client) ?? error) : error, server);
}

/** Why, as a part of a sentence. Redis begins its errors with a word that stays the same. */
export function redisReason(error: unknown, { credentialNames, password }: RedisServer): string {
  const message = error instanceof Error ? error.message : String(error);
  switch (/^[A-Z]*/u.exec(message)?.[0] ?? '') {
    case 'WRONGPASS':
      return `it refuses ${credentialNames}`;
    case 'NOAUTH':
      return `it wants a password: ${credentialNames} is ${password === null ? 'not set' : 'not enough'}`;
    case 'NOPERM':
      return `this user may not do that (${reasonOf(message)})`;
    case 'LOADING':
      return 'it is still loading its data';
    case 'MASTERDOWN':
    case 'CLUSTERDOWN':
      return 'its cluster is down';
    default:
  }
  if (/RESP type|Protocol error/u.test(message)) return 'what listens there is no Redis server';
  return CUT.test(message) ? 'it closed the connection' : reasonOf(error);
}
