/** The agent's settings: every environment variable it reads. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { choice, flag, integer, list, port, secret, text, urls } from '../settings/fields.ts';
import type { Settings } from '../settings/environment.ts';
import { AliasName } from '../transport/protocol/cluster-names.ts';
import { decodeEnrollmentBlob, recoveryKeyNode } from '../transport/protocol/enrollment.ts';
import type { AgentPorts, Registration } from '../transport/protocol/agent-description.ts';
import { OUTPUT_PARTS_MAX, OUTPUT_PART_BYTES_MAX } from '../transport/protocol/limits.ts';
import { defaultDataDirectory } from './default-directory.ts';
import { hostRule } from './access/egress/host-rules.ts';
import { RULES_MAX } from './access/egress/policy.ts';
import type { EgressRules } from './access/egress/policy.ts';
import { portRange } from './access/egress/port-ranges.ts';
import { LOG_LEVELS } from '../transport/net/log.ts';

/** Largest COMMAND_OUTPUT_MAX_BYTES: what the parts of one output can carry. Source: transport/protocol/limits.ts. */
const OUTPUT_BYTES_MAX = OUTPUT_PARTS_MAX * OUTPUT_PART_BYTES_MAX;

/**
 * How names of the cluster become names of this machine: a resolver of our own, or the hosts file where nothing leads
 * to a resolver; the hosts file; nothing.
 */
export const NAME_MODES = ['resolver', 'hosts', 'off'] as const;
export type NameMode = (typeof NAME_MODES)[number];

/** Default ports. Source: docs/settings.md. */
const DEFAULT_PORTS: AgentPorts = {
  http_port: 44_000,
  ssh_port: 40_022,
  host_metrics_port: 49_100,
  wireguard_metrics_port: 49_586,
  http_proxy_port: 43_128,
  socks5_proxy_port: 41_080,
};

/** A port on which this agent listens. Admins are told which one it got. */
const servedPort = (fallback: number, what: string) =>
  port()
    .default(fallback)
    .meta({ description: `Port of ${what}; 0 takes a free one.` });

/** Addresses on which a server may listen at once. */
const HOSTS_MAX = 8;

const addresses = () =>
  list()
    .refine((hosts) => hosts.length <= HOSTS_MAX && hosts.every((host) => isIP(host) !== 0 && !host.includes('%')))
    .default(['127.0.0.1'])
    .meta({ expected: `at most ${HOSTS_MAX} comma-separated addresses of this machine` });

const hostRules = () =>
  list()
    .refine((entries) => entries.length <= RULES_MAX && entries.every((entry) => hostRule(entry) !== null))
    .default([])
    .meta({
      defaultText: 'none',
      expected: `at most ${RULES_MAX} comma-separated names, *.names, addresses or ranges such as 10.0.0.0/8`,
    });

/** Name → schema, for `readSettings`. */
export const AGENT_SETTINGS = {
  ENROLLMENT_KEY: secret()
    .refine((key) => decodeEnrollmentBlob(key) !== null)
    .optional()
    .meta({
      secret: true,
      expected: 'an enrollment key as an admin made it',
      description:
        'Key with which this machine joins a cluster. Needed until it is enrolled; kept set, the machine joins again under its id where the database of the admins was set back to before it joined.',
    }),
  RECOVERY_KEY: secret()
    .refine((key) => recoveryKeyNode(key) !== null)
    .optional()
    .meta({
      secret: true,
      expected: 'a recovery key as an admin made it',
      description:
        'One-use key that gives a machine which lost its data its old node back, together with ENROLLMENT_KEY. One that fits no node stops the agent.',
    }),
  ADMIN_URLS: urls().optional().meta({
    defaultText: 'from the key',
    description: 'Admins to use, in order, instead of those that the key and the admins name.',
  }),
  AGENT_DATA_DIR: text({ pattern: /^\//, expected: 'an absolute path' }).default(defaultDataDirectory).meta({
    expected: 'an absolute path',
    defaultText: '/var/lib/edge-agent as root, else ~/.local/share/edge-agent',
    description: 'Identity, journal and output of running commands. For this agent alone.',
  }),
  AGENT_ID_TYPE: choice(['persistent', 'random']).default('persistent').meta({
    expected: 'one of persistent, random',
    description: 'persistent keeps the identity in AGENT_DATA_DIR; random enrols under a new one at every start.',
  }),
  AGENT_ALIASES: list()
    .refine((names) => names.length <= 8 && names.every((name) => AliasName.safeParse(name).success))
    .optional()
    .meta({
      expected: 'at most 8 comma-separated names of lower-case letters, digits and hyphens',
      description: 'Aliases to take at enrolment.',
    }),
  AGENT_SELF_UPDATE_ENABLED: flag()
    .default(false)
    .meta({ expected: 'true or false', description: 'Whether this machine takes part in managed self-updates.' }),
  COMMAND_EXECUTION_CONCURRENCY: integer({ min: 1, max: 1_000 })
    .default(10)
    .meta({ expected: 'a whole number from 1 to 1000', description: 'Commands that run at the same time.' }),
  COMMAND_OUTPUT_MAX_BYTES: integer({ min: 1_024, max: OUTPUT_BYTES_MAX })
    .default(1_048_576)
    .meta({
      expected: `a whole number from 1024 to ${OUTPUT_BYTES_MAX}`,
      description: 'Output kept of one command; of a longer one the first and last halves.',
    }),
  AGENT_API_PORT: servedPort(DEFAULT_PORTS.http_port, "the agent's API"),
  AGENT_SSH_PORT: servedPort(DEFAULT_PORTS.ssh_port, 'the SSH server'),
  AGENT_HOST_METRICS_PORT: servedPort(DEFAULT_PORTS.host_metrics_port, 'host metrics'),
  AGENT_WIREGUARD_METRICS_PORT: servedPort(DEFAULT_PORTS.wireguard_metrics_port, 'WireGuard metrics'),
  AGENT_METRICS_HOST: addresses().meta({
    description:
      "Addresses on which the agent's API and the exporters of metrics listen, besides loopback, by which admins reach them.",
  }),
  AGENT_METRICS_AUTH_ENABLED: flag().default(true).meta({
    expected: 'true or false',
    description: "Whether the agent's own metrics, on its API port, demand a bearer key.",
  }),
  AGENT_SSH_ENABLED: flag()
    .default(true)
    .meta({ expected: 'true or false', description: 'Whether users whom the admin lets in can log in by SSH.' }),
  AGENT_SSH_HOST: addresses().meta({
    description: 'Addresses on which the SSH server listens, besides loopback, by which admins reach it.',
  }),
  AGENT_SSH_UNKNOWN_USERS: choice(['refuse', 'agent']).default('refuse').meta({
    expected: 'one of refuse, agent',
    description:
      "What becomes of SSH users who are no account of this machine, where the agent runs as root: they are refused, or get the agent's own account, which is root. Elsewhere everybody is the agent's user.",
  }),
  AGENT_PROXY_ENABLED: flag().default(true).meta({
    expected: 'true or false',
    description: 'Whether this machine has an HTTP and a SOCKS5 proxy of its own.',
  }),
  AGENT_PROXY_HOST: addresses().meta({ description: 'Addresses on which they listen.' }),
  AGENT_PROXY_AUTH_ENABLED: flag().default(true).meta({
    expected: 'true or false',
    description:
      'Whether they demand the user name _ and the proxy password of this node; else any credentials will do, and none.',
  }),
  AGENT_HTTP_PROXY_PORT: servedPort(DEFAULT_PORTS.http_proxy_port, 'the HTTP proxy'),
  AGENT_SOCKS5_PROXY_PORT: servedPort(DEFAULT_PORTS.socks5_proxy_port, 'the SOCKS5 proxy'),
  VPN_ENABLED: flag().default(true).meta({
    expected: 'true or false',
    description:
      'Whether this machine joins the WireGuard network of its cluster. Needs root, or CAP_NET_ADMIN, and WireGuard in the kernel or wireguard-go; without them everything else works.',
  }),
  VPN_PORT: port().default(0).meta({
    defaultText: 'one that is picked once',
    description: 'UDP port of WireGuard. Machines behind one NAT need different ones.',
  }),
  PROXY_BLOCKED_PORTS: list()
    .refine(isPortList)
    .default(['25'])
    .meta({
      expected: `none, or at most ${RULES_MAX} comma-separated ports or ranges such as 6000-6063`,
      description: 'Ports to which nobody gets through this machine. Those of the agent itself stay open to admins.',
    }),
  PROXY_CUSTOM_BLOCKED_HOSTS: hostRules().meta({
    description: 'Hosts to which nobody gets through this machine. They come before those that are allowed.',
  }),
  PROXY_CUSTOM_ALLOWED_HOSTS: hostRules().meta({
    description:
      'Hosts that are reached through this machine though they are closed otherwise, as its own loopback is. Metadata services are opened by their exact address only.',
  }),
  VPN_DNS: choice(NAME_MODES)
    .default('resolver')
    .meta({
      expected: `one of ${NAME_MODES.join(', ')}`,
      description:
        'How programs of this machine find the names of its cluster: by a resolver for that domain where systemd-resolved leads to it, else by the hosts file; by the hosts file; or not at all.',
    }),
  VPN_DNS_RESOLV_CONF: flag().default(false).meta({
    expected: 'true or false',
    description:
      'Whether that resolver may be put first into resolv.conf where there is no systemd-resolved. Programs that ask the first server alone then find no names but those of the cluster.',
  }),
  LOG_LEVEL: choice(LOG_LEVELS)
    .default('info')
    .meta({ expected: `one of ${LOG_LEVELS.join(', ')}`, description: 'The least severe lines that are logged.' }),
} as const satisfies Record<string, z.ZodType>;

/** The settings, read. */
export type AgentConfig = Settings<typeof AGENT_SETTINGS>;

/**
 * What the agent says of itself to admins. `served`: the ports that its servers got, where 0 or another one was asked
 * for.
 */
export function registrationOf(config: AgentConfig, version: string, served: Partial<AgentPorts> = {}): Registration {
  return {
    version,
    id_type: config.AGENT_ID_TYPE,
    self_update_enabled: config.AGENT_SELF_UPDATE_ENABLED,
    // A free port is not known before it is listened on; until then the usual one is told.
    ports: Object.fromEntries(
      Object.entries(wantedPorts(config)).map(([name, wanted]) => [
        name,
        served[name as keyof AgentPorts] ?? (wanted || DEFAULT_PORTS[name as keyof AgentPorts]),
      ]),
    ) as AgentPorts,
  };
}

/** What the settings say of streams that leave this machine. */
export function egressRulesOf(config: AgentConfig): EgressRules {
  return {
    blockedPorts: config.PROXY_BLOCKED_PORTS,
    blockedHosts: config.PROXY_CUSTOM_BLOCKED_HOSTS,
    allowedHosts: config.PROXY_CUSTOM_ALLOWED_HOSTS,
    servedPorts: Object.values(wantedPorts(config)),
  };
}

/** Where a server listens that admins must reach: always on loopback too, as that is where they come from. */
export function withLoopback(hosts: readonly string[]): readonly string[] {
  return hosts.some((host) => REACHED_BY_ADMINS.has(host)) ? hosts : [...hosts, LOOPBACK];
}

const LOOPBACK = '127.0.0.1';

/** Addresses that hold one which the admin's forward mode dials. Source: agent/access/egress/dialler.ts. */
const REACHED_BY_ADMINS: ReadonlySet<string> = new Set([LOOPBACK, '::1', '0.0.0.0', '::']);

function wantedPorts(config: AgentConfig): AgentPorts {
  return {
    http_port: config.AGENT_API_PORT,
    ssh_port: config.AGENT_SSH_PORT,
    host_metrics_port: config.AGENT_HOST_METRICS_PORT,
    wireguard_metrics_port: config.AGENT_WIREGUARD_METRICS_PORT,
    http_proxy_port: config.AGENT_HTTP_PROXY_PORT,
    socks5_proxy_port: config.AGENT_SOCKS5_PROXY_PORT,
  };
}

/** `none` blocks no port, as an empty setting is an unset one. */
function isPortList(entries: readonly string[]): boolean {
  return (
    (entries.length <= RULES_MAX && entries.every((entry) => portRange(entry) !== null)) || entries.join() === 'none'
  );
}
