/** The admin's settings: every environment variable it knows, and what unset ones fall back to. */
import { hostname } from 'node:os';
import type { BrokerSettings } from '../transport/events/brokers/settings.ts';
import {
  AUTHENTICATION_SETTINGS,
  formerKeyProblems,
  formerKeys,
  madeKeyProblem,
  masterKeyProblem,
  opennessProblems,
  type MadeKey,
} from './authentication.ts';
import { chooseBroker } from './broker-choice.ts';
import { clusterProblems, CLUSTER_SETTINGS } from './clusters.ts';
import { CONSOLE_SETTINGS } from './console.ts';
import { debugDashboardProblems, DEBUG_DASHBOARD_SETTINGS } from './debug-dashboard.ts';
import { readSettings, type Settings } from './environment.ts';
import { EVENT_BROKER_SETTINGS } from './event-broker.ts';
import { EVENT_SETTINGS } from './events.ts';
import { adminNameProblems, FLEET_SETTINGS } from './fleet.ts';
import { labelOf } from './names.ts';
import { REACH_SETTINGS } from './reach.ts';
import { certificateFilesProblems, EMBEDDED_RELAY_SETTINGS } from './relay.ts';
import { RELEASE_SETTINGS } from './releases.ts';
import { SERVER_SETTINGS, serverProblems } from './server.ts';
import { isWeakEncryptionKey, STORAGE_SETTINGS, storageProblems } from './storage.ts';
import { TRACING_SETTINGS, tracingVariables } from './tracing.ts';
import { netmakerProblems, VPN_SETTINGS, vpnProblems } from './vpn.ts';

/** The settings by theme, in the order in which they are shown. */
export const ADMIN_SETTING_THEMES = {
  'Keys and enforcement': AUTHENTICATION_SETTINGS,
  'API server': SERVER_SETTINGS,
  'This admin': FLEET_SETTINGS,
  'Clusters and names': CLUSTER_SETTINGS,
  VPN: VPN_SETTINGS,
  Relay: EMBEDDED_RELAY_SETTINGS,
  'Database and keeping': STORAGE_SETTINGS,
  'Proxies and SSH': REACH_SETTINGS,
  Releases: RELEASE_SETTINGS,
  Console: CONSOLE_SETTINGS,
  'Debug dashboard': DEBUG_DASHBOARD_SETTINGS,
  'Webhooks and events': EVENT_SETTINGS,
  'Event broker': EVENT_BROKER_SETTINGS,
  Traces: TRACING_SETTINGS,
} as const;

/** Every setting of the admin: environment variable → schema. */
export const ADMIN_SETTINGS = {
  ...AUTHENTICATION_SETTINGS,
  ...SERVER_SETTINGS,
  ...FLEET_SETTINGS,
  ...CLUSTER_SETTINGS,
  ...VPN_SETTINGS,
  ...EMBEDDED_RELAY_SETTINGS,
  ...STORAGE_SETTINGS,
  ...REACH_SETTINGS,
  ...RELEASE_SETTINGS,
  ...CONSOLE_SETTINGS,
  ...DEBUG_DASHBOARD_SETTINGS,
  ...EVENT_SETTINGS,
  ...EVENT_BROKER_SETTINGS,
  ...TRACING_SETTINGS,
};

type Read = Settings<typeof ADMIN_SETTINGS>;

/** Settings whose fallback is another setting or the machine, and which are therefore always there in the end. */
type Resolved =
  | 'MASTER_KEY'
  | 'API_KEY'
  | 'METRICS_KEY'
  | 'PROXY_KEY'
  | 'MCP_KEY'
  | 'API_AUTH_ENABLED'
  | 'METRICS_AUTH_ENABLED'
  | 'PROXY_AUTH_ENABLED'
  | 'MCP_AUTH_ENABLED'
  | 'ADMIN_NAME'
  | 'ADMIN_URLS'
  | 'CORE_DERP_MAP_URLS';

/**
 * The admin's settings under their environment names, every fallback applied. Left undefined where unset: DATABASE_URL
 * (embedded), ENCRYPTION_KEY (only when embedded: made in DATA_DIR), DEFAULT_CLUSTER_NAME, METRICS_BASE_URL,
 * ADMIN_OWN_URL, ADMIN_PEER_URL.
 * `broker` is what the EVENT_BROKER settings come to; null: none. `tracing` are all OTEL_* variables as they were
 * given.
 * ADMIN_URLS is empty only when unset and ADMIN_API_PORT is 0: then the port that was got decides.
 */
export type AdminConfig = Read & { readonly [Name in Resolved]: NonNullable<Read[Name]> } & {
  /** The file of the MASTER_KEY that was made; null: one was given. */
  readonly masterKeyFile: string | null;
  /** Whether others guess ENCRYPTION_KEY. One that was made here they do not. */
  readonly isEncryptionKeyWeak: boolean;
  readonly broker: BrokerSettings | null;
  readonly tracing: ReturnType<typeof tracingVariables>;
};

/** Either the settings, or every problem, one line each. */
export type AdminConfigResult =
  | { readonly ok: true; readonly config: AdminConfig }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * The admin's settings out of its environment. `hostName` is what names fall back to. `makeKey` is asked for the
 * MASTER_KEY of a DATA_DIR where none is set, once nothing else is wrong; without it one has to be set. It may throw.
 */
export function readAdminConfig(
  env: Readonly<Record<string, string | undefined>>,
  hostName: string = hostname(),
  makeKey: ((dataDir: string) => MadeKey) | null = null,
): AdminConfigResult {
  const read = readSettings(ADMIN_SETTINGS, env);
  if (!read.ok) return read;

  const chosen = chooseBroker(read.settings);
  const problems = [
    ...[masterKeyProblem(read.settings, makeKey !== null)].filter((problem) => problem !== null),
    ...contradictions(read.settings),
    ...adminNameProblems(nameOf(read.settings, hostName)),
    ...netmakerProblems(env, read.settings.EDGE_VPN_API_URL),
    ...(chosen.ok ? [] : chosen.problems),
  ];
  if (problems.length > 0 || !chosen.ok) return { ok: false, problems };

  const made = read.settings.MASTER_KEY === undefined ? (makeKey?.(read.settings.DATA_DIR) ?? null) : null;
  const problem = made === null ? null : madeKeyProblem(made);
  if (problem !== null) return { ok: false, problems: [problem] };
  return {
    ok: true,
    config: {
      ...withFallbacks(read.settings, read.settings.MASTER_KEY ?? made?.key ?? '', hostName),
      masterKeyFile: made?.file ?? null,
      isEncryptionKeyWeak:
        read.settings.ENCRYPTION_KEY !== undefined && isWeakEncryptionKey(read.settings.ENCRYPTION_KEY),
      broker: chosen.broker,
      tracing: tracingVariables(env, read.settings),
    },
  };
}

function withFallbacks(
  read: Read,
  masterKey: string,
  hostName: string,
): Omit<AdminConfig, 'masterKeyFile' | 'isEncryptionKeyWeak' | 'broker' | 'tracing'> {
  return {
    ...read,
    MASTER_KEY: masterKey,
    API_KEY: read.API_KEY ?? masterKey,
    METRICS_KEY: read.METRICS_KEY ?? masterKey,
    PROXY_KEY: read.PROXY_KEY ?? masterKey,
    MCP_KEY: read.MCP_KEY ?? masterKey,
    API_AUTH_ENABLED: read.API_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    METRICS_AUTH_ENABLED: read.METRICS_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    PROXY_AUTH_ENABLED: read.PROXY_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    MCP_AUTH_ENABLED: read.MCP_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    ADMIN_NAME: nameOf(read, hostName),
    ADMIN_URLS: read.ADMIN_URLS ?? (read.ADMIN_API_PORT === 0 ? [] : [ownUrl(read, hostName)]),
    CORE_DERP_MAP_URLS: read.CORE_DERP_MAP_URLS ?? [],
  };
}

function ownUrl({ ADMIN_TLS_CERT_FILE, ADMIN_API_PORT }: Read, hostName: string): string {
  return `${ADMIN_TLS_CERT_FILE === undefined ? 'http' : 'https'}://${hostName}:${ADMIN_API_PORT}`;
}

function nameOf({ ADMIN_NAME }: Read, hostName: string): string {
  return ADMIN_NAME ?? labelOf(hostName);
}

/** What callers must show, for the API. Shape: api/principals.ts, GateSettings. */
export function gateSettings(config: AdminConfig) {
  return {
    masterKey: config.MASTER_KEY,
    apiKey: config.API_KEY,
    metricsKey: config.METRICS_KEY,
    mcpKey: config.MCP_KEY,
    proxyKey: config.PROXY_KEY,
    formerKeys: formerKeys(config),
    apiAuthEnabled: config.API_AUTH_ENABLED,
    metricsAuthEnabled: config.METRICS_AUTH_ENABLED,
    mcpAuthEnabled: config.MCP_AUTH_ENABLED,
    failuresPerMinuteMax: config.AUTH_FAILURES_PER_MINUTE_MAX,
  };
}

/** What this admin is called besides ADMIN_URLS. Shape: api/origins.ts, OwnNames. */
export function ownNames({ ADMIN_ALLOWED_HOSTS, ADMIN_OWN_URL, METRICS_BASE_URL }: AdminConfig) {
  return { hosts: ADMIN_ALLOWED_HOSTS ?? [], urls: [ADMIN_OWN_URL, METRICS_BASE_URL].flatMap((url) => url ?? []) };
}

/** What no setting alone shows to be wrong. */
function contradictions(read: Read): readonly string[] {
  return [
    ...opennessProblems(read),
    ...formerKeyProblems(read),
    ...certificateFilesProblems('EMBEDDED_RELAY', read.EMBEDDED_RELAY_TLS_CERT_FILE, read.EMBEDDED_RELAY_TLS_KEY_FILE),
    ...serverProblems(read, Date.now()),
    ...storageProblems(read),
    ...clusterProblems(read),
    ...vpnProblems(read),
    ...debugDashboardProblems(read),
  ];
}
