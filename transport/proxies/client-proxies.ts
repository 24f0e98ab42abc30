/** The proxies of an admin, by which people reach nodes and what is behind them. */
import { systemClock } from '../net/clock.ts';
import { createAddressLimiter } from '../net/window-limiter.ts';
import { createAdmission } from './admission.ts';
import type { ProxyPorts } from './ports.ts';
import type { Log } from '../net/log.ts';
import type { Unwind } from '../net/unwind.ts';
import { portsOf, startProxies, type Proxies } from './proxies.ts';

/** Wrong passwords are counted over this, in ms, and of so many addresses at once. */
const FAILURES_WINDOW_MS = 60_000;
const FAILURES_ADDRESSES_MAX = 10_000;

/** The settings for them, under their names. */
export interface ClientProxySettings {
  readonly ADMIN_PROXY_ENABLED: boolean;
  readonly ADMIN_PROXY_HOST: string;
  readonly ADMIN_HTTP_PROXY_PORT: number;
  readonly ADMIN_SOCKS5_PROXY_PORT: number;
  readonly ADMIN_PROXY_IDLE_MS: number;
  readonly ADMIN_PROXY_LIFE_MS: number;
  readonly PROXY_AUTH_ENABLED: boolean;
  readonly AUTH_FAILURES_PER_MINUTE_MAX: number;
  /** Each opens them, also former ones while they are rotated. */
  readonly PROXY_KEY: string;
  readonly MASTER_KEY: string;
  readonly PROXY_KEY_OLD?: string | undefined;
  readonly MASTER_KEY_OLD?: string | undefined;
}

/** What they need. */
export interface ClientProxyPorts {
  /** Where clients are taken, and what became of that by mode and outcome. */
  readonly reach: {
    readonly dial: ProxyPorts['dial'];
    readonly counters: { readonly forward: Counts; readonly chain: Counts };
  };
  readonly log: Log;
  /** Gets what is to be ended. */
  readonly ends: Pick<Unwind, 'add'>;
}

type Counts = Readonly<Record<string, number>>;

/** The proxies, which listen once they are opened. */
export interface ClientProxies {
  /** False: they are switched off. */
  readonly isEnabled: boolean;
  /** Null: they are switched off, or do not listen yet. */
  running(): Proxies | null;
  /** Where both listen; null: nowhere. */
  ports(): ReturnType<typeof portsOf>;
  /** For metrics. */
  readings(): { readonly proxies: ClientProxyReadings | null };
  /** Listens, where they are switched on. Rejects with a line for the operator when one of them cannot. */
  open(): Promise<void>;
}

/** What they did so far. */
export interface ClientProxyReadings {
  readonly http: Proxies['http']['counters'];
  readonly socks5: Proxies['socks5']['counters'];
  readonly bytes: ReturnType<Proxies['bytes']>;
  readonly open: number;
  readonly closed: Counts;
  readonly reach: { readonly forward: Counts; readonly chain: Counts };
}

/** Made. Nothing listens yet. */
export function createClientProxies(
  settings: ClientProxySettings,
  { reach, log, ends }: ClientProxyPorts,
): ClientProxies {
  let running: Proxies | null = null;
  return {
    isEnabled: settings.ADMIN_PROXY_ENABLED,
    running: () => running,
    ports: () => portsOf(running),
    readings: () => ({ proxies: running === null ? null : readingsOf(running, reach.counters) }),
    async open() {
      if (!settings.ADMIN_PROXY_ENABLED) return;
      const admit = createAdmission({
        passwords: [settings.PROXY_KEY, settings.MASTER_KEY, settings.PROXY_KEY_OLD, settings.MASTER_KEY_OLD].filter(
          (key) => key !== undefined,
        ),
        isEnforced: settings.PROXY_AUTH_ENABLED,
        username: null,
        failures: createAddressLimiter(
          {
            perWindowMax: settings.AUTH_FAILURES_PER_MINUTE_MAX,
            windowMs: FAILURES_WINDOW_MS,
            keysMax: FAILURES_ADDRESSES_MAX,
          },
          systemClock,
        ),
      });
      const proxies = await listen(settings, { admit, dial: reach.dial }, log);
      running = proxies;
      ends.add('the proxies', () => proxies.close()); // what is under way is drained
    },
  };
}

async function listen(settings: ClientProxySettings, ports: ProxyPorts, log: Log): Promise<Proxies> {
  const hosts = [settings.ADMIN_PROXY_HOST];
  const proxies = await startProxies({
    log,
    ports,
    http: { hosts, port: settings.ADMIN_HTTP_PROXY_PORT, setting: 'ADMIN_HTTP_PROXY_PORT' },
    socks5: { hosts, port: settings.ADMIN_SOCKS5_PROXY_PORT, setting: 'ADMIN_SOCKS5_PROXY_PORT' },
    limits: { idleMsMax: settings.ADMIN_PROXY_IDLE_MS, lifeMsMax: settings.ADMIN_PROXY_LIFE_MS },
  });
  const problem = proxies.http.problem() ?? proxies.socks5.problem();
  if (problem === null) return proxies;
  await proxies.close(0);
  throw new Error(problem);
}

function readingsOf(proxies: Proxies, reach: ClientProxyReadings['reach']): ClientProxyReadings {
  const { http, socks5, tunnels } = proxies;
  return {
    http: http.counters,
    socks5: socks5.counters,
    bytes: proxies.bytes(),
    open: tunnels.open,
    closed: tunnels.ends,
    reach,
  };
}
