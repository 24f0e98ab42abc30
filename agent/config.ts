/** The agent's settings: every environment variable it reads. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { choice, flag, integer, list, port, secret, text, urls } from '../settings/fields.ts';
import type { Settings } from '../settings/environment.ts';
import { AliasName } from '../transport/protocol/cluster-names.ts';
import { decodeEnrollmentBlob, recoveryKeyNode } from '../transport/protocol/enrollment.ts';
import type { AgentPorts, Registration } from '../transport/protocol/agent-description.ts';
import { LABELS_MAX, labelsOf, NO_LABELS } from '../transport/protocol/labels.ts';
import {
  METERED_PING_MS,
  METERED_REPORT_MS,
  OUTPUT_PARTS_MAX,
  OUTPUT_PART_BYTES_MAX,
} from '../transport/protocol/limits.ts';
import { defaultDataDirectory } from './default-directory.ts';
import { hostRule } from './access/egress/host-rules.ts';
import { RULES_MAX } from './access/egress/policy.ts';
import type { EgressRules } from './access/egress/policy.ts';
import { portRange } from './access/egress/port-ranges.ts';
import { LOG_LEVELS } from '../transport/net/log.ts';
import { NO_PROXY_MAX, proxyOf } from './outbound/proxy-choice.ts';
import { DEFAULT_PORTS, type PortSetting } from './served-ports.ts';
import { UPDATE_SETTINGS } from './update/settings.ts';

/** Largest COMMAND_OUTPUT_MAX_BYTES: what the parts of one output can carry. Source: transport/protocol/limits.ts. */
const OUTPUT_BYTES_MAX = OUTPUT_PARTS_MAX * OUTPUT_PART_BYTES_MAX;

/**
 * How names of the cluster become names of this machine: a resolver of our own, or the hosts file where nothing leads
 * to a resolver; the hosts file; nothing.
 */
export const NAME_MODES = ['resolver', 'hosts', 'off'] as const;
export type NameMode = (typeof NAME_MODES)[number];

/** A port on which this agent listens; unset is not set to the default. Admins are told which one it got. */
const servedPort = (setting: PortSetting, what: string) =>
  port()
    .optional()
    .meta({
      defaultText: `${DEFAULT_PORTS[setting]}, or a free one`,
      description: `Port of ${what}; 0 takes a free one. One that is set and taken is a problem of this machine.`,
    });

/** Addresses on which a server may listen at once. */
const HOSTS_MAX = 8;

const addresses = () =>
  list()
    .refine((hosts) => hosts.length <= HOSTS_MAX && hosts.every((host) => isIP(host) !== 0 && !host.includes('%')))
    .default(['127.0.0.1'])
    .meta({ expected: `at most ${HOSTS_MAX} comma-separated addresses of this machine` });

const proxyUrl = () =>
  secret()
    .refine((text) => proxyOf(text) !== null)
    .optional()
    .meta({
      secret: true,
      expected: 'a URL such as http://proxy.example:3128, with USER:PASSWORD@ before the host where the proxy asks',
    });

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
        'One-use key that gives a machine which lost its data its old node back, together with ENROLLMENT_KEY. One that fits no node stops an agent that is not enrolled.',
    }),
  ADMIN_URLS: urls().optional().meta({
    defaultText: 'from the key',
    description: 'Admins to use, in order, instead of those that the key and the admins name.',
  }),
  HTTPS_PROXY: proxyUrl().meta({
    description:
      'HTTP proxy through which admins with https URLs are reached, by CONNECT: sessions, tunnels, enrolment and uploads. Also as https_proxy. What this machine reaches for others, and its VPN, do not go there.',
  }),
  HTTP_PROXY: proxyUrl().meta({
    description: 'The same for admins with http URLs, also by CONNECT. Also as http_proxy.',
  }),
  NO_PROXY: list()
    .refine((entries) => entries.length <= NO_PROXY_MAX)
    .optional()
    .meta({
      defaultText: 'none',
      expected: `at most ${NO_PROXY_MAX} comma-separated names, which also mean what is below them, addresses, ranges, or *`,
      description: 'Admins that are reached without a proxy, besides this machine itself. Also as no_proxy.',
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
  AGENT_LABELS: text({ max: 32_768 })
    .transform((value, context) => {
      const labels = labelsOf(value);
      if (labels === null) context.addIssue({ code: 'custom', message: 'no labels' });
      return labels ?? NO_LABELS;
    })
    .optional()
    .meta({
      defaultText: 'none',
      expected: `at most ${LABELS_MAX} comma-separated labels such as env=prod,zone=a, in the syntax of Kubernetes`,
      description:
        'Labels of this machine when it enrols for the first time. Those of its enrollment key come before them; later they are changed by operators.',
    }),
  ...UPDATE_SETTINGS,
  AGENT_METERED: flag().default(false).meta({
    expected: 'true or false',
    description:
      'For links that are paid by the byte: an idle agent takes less than 2 MB a day, and its admin notices after up to 2 minutes, instead of 20 seconds, that it is gone.',
  }),
  COMMAND_EXECUTION_CONCURRENCY: integer({ min: 1, max: 1_000 })
    .default(10)
    .meta({ expected: 'a whole number from 1 to 1000', description: 'Commands that run at the same time.' }),
  COMMAND_OUTPUT_MAX_BYTES: integer({ min: 1_024, max: OUTPUT_BYTES_MAX })
    .default(1_048_576)
    .meta({
      expected: `a whole number from 1024 to ${OUTPUT_BYTES_MAX}`,
      description: 'Output kept of one command; of a longer one the first and last halves.',
    }),
  AGENT_API_PORT: servedPort('AGENT_API_PORT', "the agent's API"),
  AGENT_SSH_PORT: servedPort('AGENT_SSH_PORT', 'the SSH server'),
  AGENT_HOST_METRICS_PORT: servedPort('AGENT_HOST_METRICS_PORT', 'host metrics'),
  AGENT_WIREGUARD_METRICS_PORT: servedPort('AGENT_WIREGUARD_METRICS_PORT', 'WireGuard metrics'),
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
  AGENT_HTTP_PROXY_PORT: servedPort('AGENT_HTTP_PROXY_PORT', 'the HTTP proxy'),
  AGENT_SOCKS5_PROXY_PORT: servedPort('AGENT_SOCKS5_PROXY_PORT', 'the SOCKS5 proxy'),
  VPN_ENABLED: flag().optional().meta({
    expected: 'true or false',
    defaultText: 'true, or false with AGENT_METERED',
    description:
      'Whether this machine joins the WireGuard network of its cluster. Switched off, the interface goes with the next start. Needs root, or CAP_NET_ADMIN, and WireGuard in the kernel or wireguard-go; without them everything else works.',
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
  VPN_PATH_MTU_DISCOVERY: flag().default(true).meta({
    expected: 'true or false',
    description:
      'Whether packets to other machines of the cluster may be longer than 1,280 bytes: up to 1,440 where the direct path was seen to take them, and 8,960 over a relay.',
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

/** The settings as they were given: a port that nobody chose is undefined. */
export type GivenConfig = Settings<typeof AGENT_SETTINGS>;

/** The same with every port decided. Source: agent/free-ports.ts. */
export type AgentConfig = Omit<GivenConfig, PortSetting> & Readonly<Record<PortSetting, number>>;

/**
 * What the agent says of itself to admins. `served`: the ports that its servers got, where 0 or another one was asked
 * for.
 */
export function registrationOf(config: AgentConfig, version: string, served: Partial<AgentPorts> = {}): Registration {
  return {
    version,
    id_type: config.AGENT_ID_TYPE,
    self_update_enabled: config.AGENT_SELF_UPDATE_ENABLED,
    ...(config.AGENT_METERED && { rhythm: { ping_ms: METERED_PING_MS, report_ms: METERED_REPORT_MS } }),
    // what is not listened on is told as it was wanted
    ports: { ...wantedPorts(config), ...served },
  };
}

/** Whether this machine joins the VPN: each peer costs a metered link some 0.5 MB a day, so there it has to be said. */
export function isVpnWanted({
  VPN_ENABLED: isWanted,
  AGENT_METERED: isMetered,
}: Pick<GivenConfig, 'VPN_ENABLED' | 'AGENT_METERED'>): boolean {
  return isWanted ?? !isMetered;
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
export const withLoopback = (hosts: readonly string[]): readonly string[] =>
  hosts.some((host) => REACHED_BY_ADMINS.has(host)) ? hosts : [...hosts, LOOPBACK];

const LOOPBACK = '127.0.0.1';

/** Addresses that hold one which the admin's forward mode dials. Source: agent/access/egress/dialler.ts. */
const REACHED_BY_ADMINS: ReadonlySet<string> = new Set([LOOPBACK, '::1', '0.0.0.0', '::']);

function wantedPorts(config: Pick<AgentConfig, PortSetting>): AgentPorts {
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
