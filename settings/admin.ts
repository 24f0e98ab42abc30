/** The admin's settings: every environment variable it knows, and what unset ones fall back to. */
import { hostname } from 'node:os';
import { z } from 'zod';
import { AUTHENTICATION_SETTINGS, opennessProblems } from './authentication.ts';
import { readSettings, type Settings } from './environment.ts';
import { chooseBroker, EVENT_BROKER_SETTINGS } from './event-broker.ts';
import { choice, durationMs, flag, integer, list, port, secret, text, url, urls } from './fields.ts';
import { netmakerProblems } from './netmaker.ts';
import { isWeakKey } from './weak-keys.ts';
import { certificateFilesProblems, EMBEDDED_RELAY_SETTINGS } from './relay.ts';
import { TRACING_SETTINGS, tracingVariables } from './tracing.ts';
import { SSH_RECORDING_MODES } from '../transport/protocol/ssh.ts';
import { WIREGUARD_PEERS_MAX } from '../transport/protocol/wireguard.ts';
import type { BrokerSettings } from '../transport/events/brokers/settings.ts';

/** Default port of the admin's API. Source: docs/settings.md. */
const ADMIN_API_PORT = 44_000;

/** Most further names of an admin. */
const HOSTS_MAX = 32;

/** Default ports of the proxies. Source: docs/settings.md. */
const ADMIN_HTTP_PROXY_PORT = 43_128;
const ADMIN_SOCKS5_PROXY_PORT = 41_080;

/** Default UDP port of the gateway: the one that WireGuard's own tools take. */
const ADMIN_WIREGUARD_PORT = 51_820;

/** Default first port of the observer of the VPN: next to the proxies' own, and registered for nothing. */
const ADMIN_OBSERVER_PORT = 43_478;

/** A label of a host name (RFC 1123), lower-case. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/u;

/** Names of a domain (RFC 1123), lower-case, at most 253 characters in all. */
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/u;

const label = (charactersMax: number) =>
  text({
    max: charactersMax,
    pattern: LABEL,
    expected: `at most ${charactersMax} lower-case letters, digits and hyphens, with a letter or digit at both ends`,
  });

const server = {
  ADMIN_API_HOST: text({ max: 253 }).default('0.0.0.0').describe('Address to listen on.'),
  ADMIN_API_PORT: port().default(ADMIN_API_PORT).describe('Port to listen on; 0 takes a free one.'),
  ADMIN_URLS: urls().optional().meta({
    defaultText: 'http://HOST_NAME:PORT',
    description:
      'URLs of this admin and its peers, in order, that agents may use. They must be reachable from the machines.',
  }),
  ADMIN_OWN_URL: url().optional().meta({
    defaultText: 'the first of ADMIN_URLS',
    description:
      'URL of this admin itself, to which agents are sent whose cluster it owns. To be set at each of several admins that have the same ADMIN_URLS.',
  }),
  ADMIN_ALLOWED_HOSTS: list()
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine((names) => names.length <= HOSTS_MAX && names.every((name) => name.length <= 253 && DOMAIN.test(name)))
    .meta({ expected: `a comma-separated list of at most ${HOSTS_MAX} host names` })
    .optional()
    .meta({
      defaultText: 'none',
      description:
        'Host names of this admin besides those of its URLs, such as that of a service in front of it: where no key is asked for it answers to no others, and web pages of these may call it.',
    }),
  API_DOCS_ENABLED: flag().default(true).describe('Whether the documentation routes are served.'),
  MAX_BODY_BYTES: integer({ min: 1_024, max: 16_777_216 })
    .default(1_048_576)
    .describe('Largest request body, in bytes; above it 413.'),
  METRICS_SCRAPE_TIMEOUT_MS: durationMs({ min: 100, max: 60_000 })
    .default(5_000)
    .describe('How long a node may take to answer with its metrics, in ms.'),
  METRICS_BASE_URL: url()
    .optional()
    .meta({ defaultText: 'the first of ADMIN_URLS', description: 'URL under which Prometheus reaches this admin.' }),
  LOG_LEVEL: choice(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severity that is logged.'),
};

const identity = {
  ADMIN_NAME: label(63)
    .optional()
    .meta({ defaultText: 'the host name', description: 'Name of this admin, its own among its peers.' }),
  ADMIN_CLUSTER_NAME: label(63)
    .default('default')
    .describe(
      'Name of the group of admins that share one database: the same for all of them. An admin of another name does not start while they run.',
    ),
  ADMIN_MAX_WIREGUARD_PEERS: integer({ min: 1, max: WIREGUARD_PEERS_MAX })
    .default(20_000)
    .describe('Peers that this admin may have, admins and nodes together.'),
  CORE_NAME: text({ max: 128 }).default('default').describe('Name of this service in the events it publishes.'),
  CORE_DERP_MAP_URLS: urls()
    .optional()
    .meta({ defaultText: 'none', description: 'URLs of one complete relay map, in order; the first usable one wins.' }),
  ADMIN_FORGET_AFTER_MS: durationMs({ min: 5_000, max: 2_592_000_000 })
    .default(3_600_000)
    .describe('An admin that has not checked in for so long is removed from the list.'),
  NODE_UNREACHABLE_AFTER_MS: durationMs({ min: 1_000, max: 3_600_000 })
    .default(30_000)
    .describe('Silence after which a node is unreachable.'),
  RANDOM_NODE_FORGET_AFTER_MS: durationMs({ min: 0, max: 31_536_000_000 })
    .default(0)
    .describe(
      'A node of AGENT_ID_TYPE=random that has been unreachable and not seen for so long is deleted, with its open executions dropped; 0 keeps all of them.',
    ),
  NODE_STATUS_DAMPING_MS: durationMs({ min: 0, max: 300_000 })
    .default(30_000)
    .describe(
      'A node whose status changes often is told as better once it has been so for this long; 0 tells it at once.',
    ),
};

const clusters = {
  EDGE_VPN_DEFAULT_DOMAIN: text({
    max: 150,
    pattern: DOMAIN,
    expected: 'a lower-case domain name of at most 150 characters',
  })
    .default('edge.internal')
    .describe('Domain of all node host names.'),
  CLUSTER_AUTO_GENERATED_V4_RANGES: list()
    .refine((ranges) => ranges.every((range) => z.cidrv4().safeParse(range).success))
    .meta({ expected: 'a comma-separated list of IPv4 ranges, such as 100.64.0.0/10' })
    .default(['100.64.0.0/10'])
    .describe('Ranges from which subnets are taken for clusters created without one.'),
  CLUSTER_V4_SUBNET_PREFIX: integer({ min: 8, max: 30 }).default(24).describe('Prefix length of such a subnet.'),
  DEFAULT_CLUSTER_NAME: label(24)
    .refine((name) => name !== 'default')
    .meta({
      expected:
        'a cluster name (at most 24 lower-case letters, digits and hyphens, with a letter or digit at both ends) other than default',
    })
    .optional()
    .meta({ defaultText: 'none', description: 'Cluster that the name default stands for.' }),
  PUBLIC_ENROLLMENT_KEY_ENABLED: flag()
    .default(false)
    .describe(
      'Whether anyone may create a one-use enrolment key for DEFAULT_CLUSTER_NAME, without a key of their own.',
    ),
};

const storage = {
  DATABASE_URL: secret()
    .refine((value) => URL.canParse(value) && ['postgres:', 'postgresql:'].includes(new URL(value).protocol))
    .meta({ expected: 'a URL like postgresql://user:password@host:5432/database' })
    .optional()
    .meta({ defaultText: 'an embedded PostgreSQL', description: 'PostgreSQL to use.' }),
  DATABASE_POOL_MAX: integer({ min: 2, max: 200 })
    .default(12)
    .describe('Most connections to the database. From 8, four of them are for writes and leases alone.'),
  DATABASE_WAIT_MS: durationMs({ min: 0, max: 86_400_000 })
    .default(60_000)
    .describe('How long a start waits for a database that is away or still starting.'),
  DATA_DIR: text().default('.data').describe('Directory of the embedded PostgreSQL and the generated key.'),
  ENCRYPTION_KEY: secret()
    .transform(keyBytes)
    .pipe(z.instanceof(Uint8Array))
    .meta({ expected: '32 bytes in base64 or hex, as made by: openssl rand -base64 32' })
    .optional()
    .meta({
      defaultText: 'made once, in DATA_DIR',
      description: 'Key under which secrets are stored. Required with DATABASE_URL.',
    }),
  EXECUTION_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('Days for which finished executions are kept.'),
  EVENT_RETENTION_DAYS: integer({ min: 1, max: 3_650 }).default(7).describe('Days for which events are kept.'),
};

const reach = {
  ADMIN_PROXY_ENABLED: flag()
    .default(true)
    .describe('Whether the proxies listen. Without them nobody reaches into nodes through this admin.'),
  ADMIN_PROXY_HOST: text({ max: 253 }).default('0.0.0.0').describe('Address on which the proxies listen.'),
  ADMIN_HTTP_PROXY_PORT: port().default(ADMIN_HTTP_PROXY_PORT).describe('Port of the HTTP proxy; 0 takes a free one.'),
  ADMIN_SOCKS5_PROXY_PORT: port()
    .default(ADMIN_SOCKS5_PROXY_PORT)
    .describe('Port of the SOCKS5 proxy; 0 takes a free one.'),
  ADMIN_PROXY_IDLE_MS: durationMs({ min: 1_000, max: 86_400_000 })
    .default(600_000)
    .describe('A proxied connection over which nothing goes for so long is closed.'),
  ADMIN_PROXY_LIFE_MS: durationMs({ min: 1_000, max: 2_592_000_000 })
    .default(86_400_000)
    .describe('A proxied connection is closed when it is this old.'),
  SSH_RECORDING: choice(SSH_RECORDING_MODES)
    .default('off')
    .describe(
      'Which SSH sessions on nodes are recorded: none, those with a terminal, or all. What is typed without an echo, such as a password, is not in a recording.',
    ),
  SSH_RECORDING_MAX_BYTES: integer({ min: 1_024, max: 67_108_864 })
    .default(4_194_304)
    .describe('Most text of one recording, in bytes before compression; what comes after is left out.'),
  SSH_RECORDING_MAX_MS: durationMs({ min: 1_000, max: 604_800_000 })
    .default(14_400_000)
    .describe('Longest time of one recording; what comes after is left out.'),
  SSH_RECORDING_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('Days for which recordings are kept.'),
};

const events = {
  WEBHOOK_MAX_ATTEMPTS: integer({ min: 1, max: 20 }).default(3).describe('Tries of one delivery before it is dropped.'),
  WEBHOOK_CONCURRENCY: integer({ min: 1, max: 64 }).default(4).describe('Requests in flight to one webhook.'),
  WEBHOOK_TIMEOUT_MS: durationMs({ min: 100, max: 60_000 })
    .default(10_000)
    .describe('Patience with one request to a webhook.'),
  WEBHOOK_RETRY_BASE_MS: durationMs({ min: 1, max: 600_000 })
    .default(2_000)
    .describe('Wait before the second try of a delivery; each further one waits four times as long.'),
  WEBHOOK_ALLOW_PRIVATE_IPS: flag()
    .default(false)
    .describe('Whether webhooks may go to private and loopback addresses. Metadata addresses stay closed.'),
  WEBHOOK_DELIVERY_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(7)
    .describe('Days for which finished deliveries are kept. One can be sent again for as long as its event is kept.'),
  EVENT_DELIVERY_MAX_AGE_SECONDS: integer({ min: 1, max: 31_536_000 })
    .default(3_600)
    .describe('Events older than this are not published to the broker any more, after an outage.'),
};

const vpn = {
  EDGE_VPN_API_URL: url().optional().meta({
    defaultText: 'none: this service coordinates networks itself',
    description:
      'URL of the API of a Netmaker server that coordinates the networks of clusters instead, such as https://api.netmaker.example.com.',
  }),
  EDGE_VPN_MASTER_KEY: secret()
    .optional()
    .meta({ defaultText: 'none', description: 'Master key of that server. Required with EDGE_VPN_API_URL.' }),
  ADMIN_GATEWAY_ENABLED: flag()
    .default(true)
    .describe(
      'Whether this admin joins the VPN of its clusters, where it may make a network interface: nodes are reached through the VPN then, and without it else.',
    ),
  ADMIN_WIREGUARD_PORT: port()
    .default(ADMIN_WIREGUARD_PORT)
    .describe('UDP port of its interface; 0 takes a free one, and so does a port that somebody has.'),
  ADMIN_WIREGUARD_HOST: text({ max: 45 })
    .refine((address) => z.ipv4().safeParse(address).success || z.ipv6().safeParse(address).success)
    .meta({ expected: 'an IPv4 or IPv6 address' })
    .optional()
    .meta({
      defaultText: 'the addresses of this machine',
      description: 'Address under which the machines reach that port.',
    }),
  ADMIN_OBSERVER_ENABLED: flag()
    .default(true)
    .describe(
      'Whether this admin sees from which addresses and ports the WireGuard of its nodes comes (UDP). Without it, nodes behind different NATs reach each other by relays only.',
    ),
  ADMIN_OBSERVER_HOST: text({ max: 253 })
    .default('::')
    .describe('Address on which that is seen; :: is any, of both families.'),
  ADMIN_OBSERVER_PORT: port()
    .refine((value) => value < 65_535)
    .meta({ expected: 'a whole number from 0 to 65534' })
    .default(ADMIN_OBSERVER_PORT)
    .describe(
      'First of the two UDP ports on which that is seen, the second being the next one; 0 takes free ones. Nodes must be able to send to both, at the host of the URL of ADMIN_URLS that they use.',
    ),
};

const debug = {
  ADMIN_DEBUG_DASHBOARD_ENABLED: flag().default(false).describe('Whether /admin/debug shows the inside of this admin.'),
  ADMIN_DEBUG_AUTH_ENABLED: flag()
    .default(true)
    .describe('Whether it demands the user name and password below, by HTTP Basic.'),
  ADMIN_DEBUG_DASHBOARD_USERNAME: text({
    max: 64,
    pattern: /^[^:]+$/u,
    expected: 'at most 64 characters without a colon',
  })
    .default('admin')
    .describe('User name of the dashboard.'),
  ADMIN_DEBUG_DASHBOARD_PASSWORD: secret()
    .refine((password) => password.length >= 12 && password.length <= 128)
    .refine((password) => !isWeakKey(password), {
      params: { expected: 'one that nobody guesses, as made by: openssl rand -hex 16' },
    })
    .meta({ secret: true, expected: '12 to 128 characters' })
    .optional()
    .meta({ defaultText: 'none', description: 'Password of the dashboard.' }),
};

/** The settings by theme, in the order in which they are shown. */
export const ADMIN_SETTING_THEMES = {
  'Keys and enforcement': AUTHENTICATION_SETTINGS,
  'API server': server,
  'This admin': identity,
  'Clusters and names': clusters,
  VPN: vpn,
  Relay: EMBEDDED_RELAY_SETTINGS,
  'Database and keeping': storage,
  'Proxies and SSH': reach,
  'Debug dashboard': debug,
  'Webhooks and events': events,
  'Event broker': EVENT_BROKER_SETTINGS,
  Traces: TRACING_SETTINGS,
} as const;

/** Every setting of the admin: environment variable → schema. */
export const ADMIN_SETTINGS = {
  ...AUTHENTICATION_SETTINGS,
  ...server,
  ...identity,
  ...clusters,
  ...vpn,
  ...EMBEDDED_RELAY_SETTINGS,
  ...storage,
  ...reach,
  ...debug,
  ...events,
  ...EVENT_BROKER_SETTINGS,
  ...TRACING_SETTINGS,
};

type Read = Settings<typeof ADMIN_SETTINGS>;

/** Settings whose fallback is another setting or the machine, and which are therefore always there in the end. */
type Resolved =
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
 * ADMIN_OWN_URL.
 * `broker` is what the EVENT_BROKER settings come to; null: none. `tracing` are all OTEL_* variables as they were
 * given.
 * ADMIN_URLS is empty only when unset and ADMIN_API_PORT is 0: then the port that was got decides.
 */
export type AdminConfig = Read & { readonly [Name in Resolved]: NonNullable<Read[Name]> } & {
  readonly broker: BrokerSettings | null;
  readonly tracing: ReturnType<typeof tracingVariables>;
};

/** Either the settings, or every problem, one line each. */
export type AdminConfigResult =
  | { readonly ok: true; readonly config: AdminConfig }
  | { readonly ok: false; readonly problems: readonly string[] };

/** The admin's settings out of its environment. `hostName` is what names fall back to. */
export function readAdminConfig(
  env: Readonly<Record<string, string | undefined>>,
  hostName: string = hostname(),
): AdminConfigResult {
  const read = readSettings(ADMIN_SETTINGS, env);
  if (!read.ok) return read;

  const chosen = chooseBroker(read.settings);
  const problems = [
    ...contradictions(read.settings),
    ...netmakerProblems(env, read.settings.EDGE_VPN_API_URL),
    ...(chosen.ok ? [] : chosen.problems),
  ];
  return problems.length > 0 || !chosen.ok
    ? { ok: false, problems }
    : {
        ok: true,
        config: {
          ...withFallbacks(read.settings, hostName),
          broker: chosen.broker,
          tracing: tracingVariables(env, read.settings),
        },
      };
}

/** Where the database is and under which key, for commands that do nothing else: no other setting has to be there. */
export function readStorageConfig(
  env: Readonly<Record<string, string | undefined>>,
):
  | { readonly ok: true; readonly config: Settings<typeof storage> }
  | { readonly ok: false; readonly problems: readonly string[] } {
  const read = readSettings(storage, env);
  return read.ok ? { ok: true, config: read.settings } : read;
}

function withFallbacks(read: Read, hostName: string): Omit<AdminConfig, 'broker' | 'tracing'> {
  return {
    ...read,
    API_KEY: read.API_KEY ?? read.MASTER_KEY,
    METRICS_KEY: read.METRICS_KEY ?? read.MASTER_KEY,
    PROXY_KEY: read.PROXY_KEY ?? read.MASTER_KEY,
    MCP_KEY: read.MCP_KEY ?? read.MASTER_KEY,
    API_AUTH_ENABLED: read.API_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    METRICS_AUTH_ENABLED: read.METRICS_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    PROXY_AUTH_ENABLED: read.PROXY_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    MCP_AUTH_ENABLED: read.MCP_AUTH_ENABLED ?? read.ALL_AUTH_ENABLED,
    ADMIN_NAME: read.ADMIN_NAME ?? labelOf(hostName),
    ADMIN_URLS: read.ADMIN_URLS ?? (read.ADMIN_API_PORT === 0 ? [] : [`http://${hostName}:${read.ADMIN_API_PORT}`]),
    CORE_DERP_MAP_URLS: read.CORE_DERP_MAP_URLS ?? [],
  };
}

/** What callers must show, for the API. Shape: api/principals.ts, GateSettings. */
export function gateSettings(config: AdminConfig) {
  return {
    masterKey: config.MASTER_KEY,
    apiKey: config.API_KEY,
    metricsKey: config.METRICS_KEY,
    mcpKey: config.MCP_KEY,
    proxyKey: config.PROXY_KEY,
    apiAuthEnabled: config.API_AUTH_ENABLED,
    metricsAuthEnabled: config.METRICS_AUTH_ENABLED,
    mcpAuthEnabled: config.MCP_AUTH_ENABLED,
    failuresPerMinuteMax: config.AUTH_FAILURES_PER_MINUTE_MAX,
  };
}

/** What this admin is called besides ADMIN_URLS. Shape: api/web-pages.ts, OwnNames. */
export function ownNames({ ADMIN_ALLOWED_HOSTS, ADMIN_OWN_URL, METRICS_BASE_URL }: AdminConfig) {
  return { hosts: ADMIN_ALLOWED_HOSTS ?? [], urls: [ADMIN_OWN_URL, METRICS_BASE_URL].flatMap((url) => url ?? []) };
}

/** What no setting alone shows to be wrong. */
function contradictions(read: Read): string[] {
  const problems: string[] = [
    ...opennessProblems(read),
    ...certificateFilesProblems('EMBEDDED_RELAY', read.EMBEDDED_RELAY_TLS_CERT_FILE, read.EMBEDDED_RELAY_TLS_KEY_FILE),
  ];
  if (read.DATABASE_URL !== undefined && read.ENCRYPTION_KEY === undefined) {
    problems.push(
      'ENCRYPTION_KEY is not set: with DATABASE_URL it should be 32 bytes in base64 or hex, the same for all admins, as made by: openssl rand -base64 32',
    );
  }
  const tooSmall = read.CLUSTER_AUTO_GENERATED_V4_RANGES.find(
    (range) => Number(range.split('/')[1]) > read.CLUSTER_V4_SUBNET_PREFIX,
  );
  if (tooSmall !== undefined) {
    problems.push(
      `CLUSTER_V4_SUBNET_PREFIX is "${read.CLUSTER_V4_SUBNET_PREFIX}": it should be at least the prefix length of every range in CLUSTER_AUTO_GENERATED_V4_RANGES, also of ${tooSmall}`,
    );
  }
  if (read.EDGE_VPN_API_URL !== undefined && read.EDGE_VPN_MASTER_KEY === undefined) {
    problems.push(
      'EDGE_VPN_MASTER_KEY is not set: with EDGE_VPN_API_URL it should be the master key of that Netmaker server',
    );
  }
  if (
    read.ADMIN_DEBUG_DASHBOARD_ENABLED &&
    read.ADMIN_DEBUG_AUTH_ENABLED &&
    read.ADMIN_DEBUG_DASHBOARD_PASSWORD === undefined
  ) {
    problems.push(
      'ADMIN_DEBUG_DASHBOARD_PASSWORD is not set: with ADMIN_DEBUG_DASHBOARD_ENABLED it should be 12 to 128 characters, or ADMIN_DEBUG_AUTH_ENABLED should be false',
    );
  }
  return problems;
}

/** 32 bytes out of base64 (also the URL form, padded or not) or hex; undefined when it is neither. */
function keyBytes(value: string): Uint8Array | undefined {
  const trimmed = value.trim();
  if (/^[0-9a-f]{64}$/iu.test(trimmed)) return Buffer.from(trimmed, 'hex');
  return /^[\w+/-]{43}=?$/u.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
}

/** A host name as the name of an admin: its first label, without what a label may not hold. */
function labelOf(hostName: string): string {
  const first = hostName.toLowerCase().split('.')[0] ?? '';
  return (
    first
      .replaceAll(/[^a-z0-9-]/gu, '-')
      .slice(0, 63)
      .replaceAll(/^-+|-+$/gu, '') || 'admin'
  );
}
