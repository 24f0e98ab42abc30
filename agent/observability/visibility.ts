/** How this machine is seen, put together: the agent's API and the two exporters, each on its port. */
import {
  AGENT_DIAGNOSTICS_PATH,
  AGENT_HISTORY_PATH,
  AGENT_METRICS_PATH,
  AGENT_SSH_SESSIONS_PATH,
  EXPORTER_PATH,
} from '../../transport/protocol/agent-api.ts';
import type { Diagnosis } from '../../transport/protocol/diagnosis.ts';
import type { SshSessions } from '../../transport/protocol/ssh-sessions.ts';
import type { AgentPorts } from '../../transport/protocol/agent-description.ts';
import { EXPOSITION_TYPE } from '../../transport/net/exposition/exposition.ts';
import { apiKeyOf } from './api-key.ts';
import { withLoopback } from '../config.ts';
import type { AgentConfig } from '../config.ts';
import type { PickedPorts } from '../free-ports.ts';
import type { OwnPlace } from '../listening.ts';
import type { OwnServers } from '../own-servers.ts';
import type { Service } from './health.ts';
import { startMeasuring } from './history/measuring.ts';
import { createHostMetrics } from './metrics/host.ts';
import { ownMetrics } from './metrics/agent.ts';
import type { OwnMetricsSources } from './metrics/agent.ts';
import { MACHINE_WIREGUARD, wireguardMetrics, type WireguardSources } from './metrics/wireguard.ts';
import type { Log } from '../../transport/net/log.ts';
import { startWebServer } from './web-server.ts';
import type { WebRoute, WebServer } from './web-server.ts';

/** What it is made of. */
export interface VisibilityOptions {
  readonly config: AgentConfig;
  readonly picked: PickedPorts;
  /** Is told where they listen. */
  readonly own: OwnServers;
  /** The node's API token: the key of the agent's API is made from it. */
  readonly token: string;
  readonly sources: OwnMetricsSources;
  /** Names of peers of WireGuard and the ways to them; null: this machine is in no VPN. */
  readonly vpn: Pick<WireguardSources, 'peers'> | null;
  /** Makes a report on this machine. */
  readonly diagnose: () => Promise<Diagnosis>;
  /** Who is logged in by SSH now. */
  readonly sshSessions: () => SshSessions;
  readonly log: Log;
}

/** The running servers. */
export interface Visibility {
  readonly services: readonly Service[];
  /** The ports that were got. */
  readonly ports: Partial<AgentPorts>;
  /** Where `edge-agent doctor` finds the API; null: nowhere. */
  readonly apiPlace: OwnPlace | null;
  close(): void;
}

/** Starts the servers. Never rejects: one that does not listen says so once, in the log and in its service. */
export async function startVisibility(options: VisibilityOptions): Promise<Visibility> {
  const { config, own, sources, vpn, diagnose, sshSessions } = options;
  const start = serverStarter(options);
  const measuring = startMeasuring();
  const [api, host, wireguard] = await Promise.all([
    start('api', 'AGENT_API_PORT', {
      [AGENT_METRICS_PATH]: metrics(config.AGENT_METRICS_AUTH_ENABLED, () => ownMetrics(sources)),
      [AGENT_DIAGNOSTICS_PATH]: json(diagnose),
      [AGENT_HISTORY_PATH]: json(() => measuring.told()),
      [AGENT_SSH_SESSIONS_PATH]: json(sshSessions),
    }),
    start('host_metrics', 'AGENT_HOST_METRICS_PORT', {
      [EXPORTER_PATH]: metrics(false, createHostMetrics({ version: sources.version })),
    }),
    start('wireguard_metrics', 'AGENT_WIREGUARD_METRICS_PORT', {
      [EXPORTER_PATH]: metrics(false, () => wireguardMetrics({ ...MACHINE_WIREGUARD, ...vpn })),
    }),
  ]);
  own.tell('api', api.port ?? config.AGENT_API_PORT, api.place);
  own.tell('host_metrics', host.port ?? config.AGENT_HOST_METRICS_PORT, host.place);
  own.tell('wireguard_metrics', wireguard.port ?? config.AGENT_WIREGUARD_METRICS_PORT, wireguard.place);
  return {
    services: [api.service, host.service, wireguard.service],
    ports: {
      ...(api.port !== null && { http_port: api.port }),
      ...(host.port !== null && { host_metrics_port: host.port }),
      ...(wireguard.port !== null && { wireguard_metrics_port: wireguard.port }),
    },
    apiPlace: api.place,
    close() {
      measuring.close();
      for (const server of [api, host, wireguard]) server.close();
    },
  };
}

/** A route whose text is made anew for each request. */
function metrics(isProtected: boolean, make: () => string | Promise<string>): WebRoute {
  return { isProtected, answer: async () => ({ type: EXPOSITION_TYPE, body: await make() }) };
}

/** The same for what whoever has the key is told. */
function json(make: () => object | Promise<object>): WebRoute {
  return { isProtected: true, answer: async () => ({ type: 'application/json', body: JSON.stringify(await make()) }) };
}

function serverStarter({ config, picked, token, log }: VisibilityOptions) {
  const key = apiKeyOf(token);
  const hosts = withLoopback(config.AGENT_METRICS_HOST);
  return (
    name: string,
    setting: 'AGENT_API_PORT' | 'AGENT_HOST_METRICS_PORT' | 'AGENT_WIREGUARD_METRICS_PORT',
    routes: Readonly<Record<string, WebRoute>>,
  ): Promise<WebServer> =>
    startWebServer({ name, hosts, port: config[setting], orAnother: picked.has(setting), setting, key, log, routes });
}
