/** The HTTP and the SOCKS5 proxy of one program: started, counted and ended together. */
import type { Joins } from '../streams/join.ts';
import type { ProxyCounters } from './counters.ts';
import type { ProxyLimits } from './limits.ts';
import type { ProxyLog, ProxyPorts } from './ports.ts';

/** Where a server listens. */
export interface Listening {
  /** Addresses, in order. */
  readonly hosts: readonly string[];
  /** 0: the system picks one for the first address, the others take the same. */
  readonly port: number;
  /** The setting that holds the port, for the message when it is taken. */
  readonly setting: string;
}

/** What is started. */
export interface ProxiesOptions {
  readonly ports: ProxyPorts;
  readonly log: ProxyLog;
  readonly http: Listening;
  readonly socks5: Listening;
  readonly limits?: Partial<ProxyLimits>;
}

/** One of the servers. */
export interface ProxyServer {
  /** The port that it listens on; null: it does not. */
  readonly port: number | null;
  readonly counters: ProxyCounters;
  /** Null when it works, else one sentence that names the port and the setting. */
  problem(): string | null;
}

/** Both. */
export interface Proxies {
  readonly http: ProxyServer;
  readonly socks5: ProxyServer;
  /** The tunnels of both: how many are open, how they ended, and bytes. */
  readonly joins: Pick<Joins, 'open' | 'ends' | 'bytes'>;
  /** Stops taking connections, lets open tunnels and requests go on for at most `drainMsMax` (DRAIN_MS_MAX), then cuts them. */
  close(drainMsMax?: number): Promise<void>;
}
