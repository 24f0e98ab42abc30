/** The HTTP and the SOCKS5 proxy of one program: started, counted and ended together. */
import { once } from 'node:events';
import type { Server } from 'node:net';
import { IDLE_MS_MAX, joinClock, Joins, LIFE_MS_MAX } from '../net/streams/join.ts';
import { listenAt } from '../net/streams/listen.ts';
import type { ProxyCounters } from './counters.ts';
import { HttpProxy } from './http-proxy.ts';
import {
  CONNECT_MS_MAX,
  CONNECTIONS_MAX,
  DRAIN_MS_MAX,
  HANDSHAKE_MS_MAX,
  IDLE_GIVES_WAY_MS,
  KEEP_ALIVE_MS_MAX,
  type ProxyLimits,
} from './limits.ts';
import type { ProxyPorts } from './ports.ts';
import type { Log } from '../net/log.ts';
import type { ProxyFront } from './serving.ts';
import { createSocks5Proxy } from './socks5.ts';

/** Where a server listens. */
export interface Listening {
  /** Addresses, in order. None: it is off. */
  readonly hosts: readonly string[];
  /** 0: the system picks one for the first address, the others take the same. */
  readonly port: number;
  /** Nobody chose the port: where it is taken by now, another one will do. */
  readonly orAnother?: boolean;
  /** The setting that holds the port, for the message when it is taken. */
  readonly setting: string;
}

/** What is started. */
export interface ProxiesOptions {
  readonly ports: ProxyPorts;
  readonly log: Log;
  readonly http: Listening;
  readonly socks5: Listening;
  readonly limits?: Partial<ProxyLimits>;
}

/** One of the servers. */
export interface ProxyServer {
  /** The port that it listens on; null: it does not. */
  readonly port: number | null;
  readonly counters: ProxyCounters;
  /** Connections now. */
  readonly connections: number;
  /** Whether it listens now, on all of its addresses. */
  isListening(): boolean;
  /** Null when it works, else one sentence that names the port and the setting. */
  problem(): string | null;
}

/** Both. */
export interface Proxies {
  readonly http: ProxyServer;
  readonly socks5: ProxyServer;
  /** Tunnels of both: how many are open, and how they ended. */
  readonly tunnels: Pick<Joins, 'open' | 'ends'>;
  /** Bytes to targets (up) and back, of tunnels and of bodies of forwarded requests, so far. */
  bytes(): { readonly up: number; readonly down: number };
  /**
   * Stops taking connections, lets tunnels and requests go on for at most `drainMsMax` (DRAIN_MS_MAX), then cuts them.
   * Resolves when none is left.
   */
  close(drainMsMax?: number): Promise<void>;
}

/** The ports of both; null unless both listen. */
export function portsOf(proxies: Proxies | null): { readonly http: number; readonly socks5: number } | null {
  const [http, socks5] = [proxies?.http.port ?? null, proxies?.socks5.port ?? null];
  return http === null || socks5 === null ? null : { http, socks5 };
}

const LIMITS: ProxyLimits = {
  handshakeMsMax: HANDSHAKE_MS_MAX,
  connectMsMax: CONNECT_MS_MAX,
  idleMsMax: IDLE_MS_MAX,
  lifeMsMax: LIFE_MS_MAX,
  connectionsMax: CONNECTIONS_MAX,
  idleGivesWayMs: IDLE_GIVES_WAY_MS,
  keepAliveMsMax: KEEP_ALIVE_MS_MAX,
};

/**
 * Starts both. Never rejects: a server that cannot listen says why by `problem()`, once in the log, and the other one
 * works.
 */
export async function startProxies({ ports, log, http, socks5, limits: given = {} }: ProxiesOptions): Promise<Proxies> {
  const limits = { ...LIMITS, ...given };
  const joins = new Joins(limits);
  const serving = { ports, log, limits, joins };
  const httpFront = new HttpProxy(serving, http.hosts.length);
  const socksFront = createSocks5Proxy(serving, socks5.hosts.length);
  const fronts: readonly ProxyFront[] = [httpFront, socksFront];
  const started = await Promise.all([
    listenAll('HTTP proxy', httpFront, http, log),
    listenAll('SOCKS5 proxy', socksFront, socks5, log),
  ]);
  let closing: Promise<void> | null = null;

  async function close(drainMsMax: number): Promise<void> {
    const closed = Promise.all(fronts.flatMap(({ servers }) => servers).map(ended));
    for (const { clients } of fronts) clients.cutWaiting();
    const late = Promise.withResolvers<void>();
    const cancel = joinClock.after(drainMsMax, late.resolve);
    await Promise.race([closed, late.promise]);
    cancel();
    await joins.drain(0);
    for (const { clients } of fronts) clients.cutAll();
    await closed;
  }

  return {
    http: started[0],
    socks5: started[1],
    tunnels: joins,
    bytes() {
      const { up, down } = joins.bytes();
      return { up: up + httpFront.passed.up, down: down + httpFront.passed.down };
    },
    close: (drainMsMax = DRAIN_MS_MAX) => (closing ??= close(drainMsMax)),
  };
}

/** Listens on all addresses, or on none: half a server would look like a whole one. */
async function listenAll(
  name: string,
  { servers, counters, clients }: ProxyFront,
  { hosts, port: wanted, orAnother = false, setting }: Listening,
  log: Log,
): Promise<ProxyServer> {
  let port = wanted;
  let problem: string | null = null;
  for (const [index, server] of servers.entries()) {
    const host = hosts[index] ?? '';
    const listened = await listenAt(server, { host, port, orAnother: orAnother && index === 0 });
    if (!listened.ok) {
      problem = `The ${name} does not listen on port ${port}: ${listened.reason}. Its port is set by ${setting}.`;
      log.debug({ host, port, error: listened.code }, 'a proxy could not listen');
      break;
    }
    server.on('error', (later) => log.warn({ error: later }, 'a proxy could not take a connection'));
    ({ port } = listened);
  }
  if (problem !== null) {
    await Promise.all(servers.map(ended));
    log.warn({ port: wanted, setting }, problem);
  }
  const isListening = problem === null && servers.length > 0;
  return {
    port: isListening ? port : null,
    counters,
    get connections() {
      return clients.open;
    },
    isListening: () => isListening && servers.every(({ listening }) => listening),
    problem: () => problem,
  };
}

/** Stops listening, and resolves when the last connection is over. */
async function ended(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  await closed;
}
