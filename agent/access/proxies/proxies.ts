/** This machine's own proxies: for clients near it, who reach through them what the agent may reach. */
import type { AgentPorts } from '../../../transport/protocol/agent-description.ts';
import { monotonicMs } from '../../../transport/net/clock.ts';
import { createAdmission, PLAIN_USERNAME } from '../../../transport/proxies/admission.ts';
import { startProxies, type Proxies } from '../../../transport/proxies/proxies.ts';
import type { AgentConfig } from '../../config.ts';
import type { Egress } from '../egress/egress.ts';
import type { Listening } from '../egress/policy.ts';
import { createAddressLimiter } from '../../../transport/net/window-limiter.ts';
import type { PickedPorts } from '../../free-ports.ts';
import type { Service } from '../../observability/health.ts';
import { OPEN_PROXIES_HINT, openProxiesProblem } from './open-proxies.ts';
import type { Log } from '../../../transport/net/log.ts';

/** Wrong passwords that one address may show in a minute before it is told to wait. As at the admin, by default. */
const WRONG_PER_MINUTE_MAX = 30;
const MINUTE_MS = 60_000;

/** Addresses whose wrong passwords are remembered at once. */
const ADDRESSES_MAX = 1_024;

/** What the proxies are made of. */
export interface AgentProxiesOptions {
  readonly config: AgentConfig;
  readonly picked?: PickedPorts;
  /** The `proxy_password` of this node, as the admin gave it at enrolment. */
  readonly password: string;
  readonly egress: Egress;
  readonly log: Log;
}

/** Running proxies, or what is left of them. */
export interface AgentProxies {
  /** The ports that they got, for the registration. One that does not listen is missing. */
  readonly ports: Partial<AgentPorts>;
  /** For the health report. None when the proxies are off. */
  readonly services: readonly Service[];
  /** Where they listen, for egress: it sends nobody back here. */
  readonly listening: readonly Listening[];
  /** Tunnels, bytes and counters, for metrics. */
  readonly servers: Pick<Proxies, 'http' | 'socks5' | 'tunnels' | 'bytes'>;
  /** Lets open tunnels go on for at most `drainMsMax`, then cuts them. */
  close(drainMsMax?: number): Promise<void>;
}

/**
 * Starts them, as far as the settings want it and the ports are free. Never rejects: what is wrong is logged once and
 * stays in `services`.
 */
export async function startAgentProxies({
  config,
  picked,
  password,
  egress,
  log,
}: AgentProxiesOptions): Promise<AgentProxies> {
  const hosts = config.AGENT_PROXY_ENABLED ? config.AGENT_PROXY_HOST : [];
  const openness = openProxiesProblem(config);
  if (openness !== null) log.warn({}, `${openness} ${OPEN_PROXIES_HINT}`);
  const proxies = await startProxies({
    ports: {
      admit: createAdmission({
        passwords: [password],
        isEnforced: config.AGENT_PROXY_AUTH_ENABLED,
        username: PLAIN_USERNAME,
        failures: createAddressLimiter(
          { perWindowMax: WRONG_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX },
          { nowMs: monotonicMs },
        ),
      }),
      dial: ({ host, port }, signal) => egress.dial({ host, port }, 'proxy', signal),
    },
    log,
    http: {
      hosts,
      port: config.AGENT_HTTP_PROXY_PORT,
      orAnother: picked?.has('AGENT_HTTP_PROXY_PORT'),
      setting: 'AGENT_HTTP_PROXY_PORT',
    },
    socks5: {
      hosts,
      port: config.AGENT_SOCKS5_PROXY_PORT,
      orAnother: picked?.has('AGENT_SOCKS5_PROXY_PORT'),
      setting: 'AGENT_SOCKS5_PROXY_PORT',
    },
  });
  const ports = { http_proxy_port: proxies.http.port, socks5_proxy_port: proxies.socks5.port };
  const got = Object.entries(ports).flatMap(([name, port]) => (port === null ? [] : [[name, port] as const]));
  // without the addresses: one may be of the VPN (R3)
  if (got.length > 0) log.info(Object.fromEntries(got), 'The proxies of this machine listen');
  return {
    ports: Object.fromEntries(got),
    services:
      hosts.length === 0
        ? []
        : [
            { name: 'http_proxy', problem: () => proxies.http.problem() },
            { name: 'socks5_proxy', problem: () => proxies.socks5.problem() },
          ],
    listening: got.flatMap(([, port]) => hosts.map((address) => ({ address, port }))),
    servers: proxies,
    close: (drainMsMax) => proxies.close(drainMsMax),
  };
}
