/** Options of the NATS client from the operator's settings. */
import { isIP } from 'node:net';
import {
  jwtAuthenticator,
  nkeyAuthenticator,
  type NodeConnectionOptions,
  type TlsOptions,
} from '@nats-io/transport-node';
import type { NatsSettings } from './settings.ts';

/** Where a server listens unless its URL says so. Source: NATS documentation, client connections. */
const PORT_DEFAULT = 4222;

/**
 * A server that does not answer two pings of this interval, in ms, is gone: half a minute, as a publish finds it out
 * sooner.
 */
const PING_INTERVAL_MS = 10_000;

/** One server of the settings. */
export interface NatsServer {
  readonly host: string;
  readonly port: number;
  /** Whether only an encrypted connection will do. Without it, one is encrypted where the server asks for it. */
  readonly needsTls: boolean;
}

/** The servers in the order of the settings. */
export function natsServers(settings: NatsSettings): NatsServer[] {
  return settings.urls.map((text) => {
    const url = new URL(text);
    return {
      host: url.hostname.replace(/^\[|\]$/gu, ''),
      port: Number(url.port || PORT_DEFAULT),
      needsTls: url.protocol === 'tls:',
    };
  });
}

/**
 * Options to connect to one server, once: the client neither reconnects nor follows a cluster's gossip, since the
 * channel opens a new connection.
 */
export function natsOptions(settings: NatsSettings, server: NatsServer, connectMs: number): NodeConnectionOptions {
  // else Node verifies an address as "localhost"
  const verified = isIP(server.host) > 0 ? { host: server.host } : { servername: server.host };
  return {
    servers: [`${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`],
    name: 'edge-fleet-control',
    timeout: connectMs,
    reconnect: false,
    ignoreClusterUpdates: true,
    resolve: false, // Node tries all addresses of a name side by side
    pingInterval: PING_INTERVAL_MS,
    noAsyncTraces: true, // a stack for each publish would cost more than the publish
    ...(server.needsTls && { tls: verified as TlsOptions }), // the client hands all of it to node:tls
    ...credentials(settings.auth),
  };
}

/** The settings that a refused sign-in makes suspicious. */
export function natsCredentialNames(auth: NatsSettings['auth']): string {
  if (auth === null)
    return 'a client without credentials: set EVENT_BROKER_NATS_TOKEN, or _USERNAME and _PASSWORD, or _NKEY_SEED';
  if ('token' in auth) return 'EVENT_BROKER_NATS_TOKEN';
  if ('username' in auth) return 'EVENT_BROKER_NATS_USERNAME with EVENT_BROKER_NATS_PASSWORD';
  return auth.jwt === null ? 'EVENT_BROKER_NATS_NKEY_SEED' : 'EVENT_BROKER_NATS_JWT with EVENT_BROKER_NATS_NKEY_SEED';
}

function credentials(auth: NatsSettings['auth']): NodeConnectionOptions {
  if (auth === null) return {};
  if ('token' in auth) return { token: auth.token };
  if ('username' in auth) return { user: auth.username, pass: auth.password };
  const seed = new TextEncoder().encode(auth.nkeySeed);
  return { authenticator: auth.jwt === null ? nkeyAuthenticator(seed) : jwtAuthenticator(auth.jwt, seed) };
}
