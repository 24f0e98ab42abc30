/** The agent's settings: every environment variable it reads. */
import { z } from 'zod';
import { choice, flag, integer, list, port, secret, text, urls } from '../settings/fields.ts';
import type { Settings } from '../settings/environment.ts';
import { AliasName, decodeEnrollmentBlob, recoveryKeyNode } from '../transport/protocol/enrollment.ts';
import type { Registration } from '../transport/protocol/frames.ts';
import { OUTPUT_PARTS_MAX, OUTPUT_PART_BYTES_MAX } from '../transport/protocol/limits.ts';
import { defaultDataDirectory } from './default-directory.ts';
import { LOG_LEVELS } from './log.ts';

/** Largest COMMAND_OUTPUT_MAX_BYTES: what the parts of one output can carry. Source: transport/protocol/limits.ts. */
const OUTPUT_BYTES_MAX = OUTPUT_PARTS_MAX * OUTPUT_PART_BYTES_MAX;

/** Ports, names and defaults as in the spec ("Default agent ports"). */
const reportedPort = (fallback: number, what: string) => port().refine((value) => value > 0).default(fallback)
  .meta({ expected: 'a whole number from 1 to 65535', description: `Port of ${what}.` });

/** Name → schema, for `readSettings`. */
export const AGENT_SETTINGS = {
  ENROLLMENT_KEY: secret().refine((key) => decodeEnrollmentBlob(key) !== null).optional()
    .meta({ secret: true, expected: 'an enrollment key as an admin made it', description: 'Key with which this machine joins a cluster. Needed until it is enrolled.' }),
  RECOVERY_KEY: secret().refine((key) => recoveryKeyNode(key) !== null).optional()
    .meta({ secret: true, expected: 'a recovery key as an admin made it', description: 'One-use key that gives a machine which lost its data its old node back, together with ENROLLMENT_KEY.' }),
  ADMIN_URLS: urls().optional()
    .meta({ defaultText: 'from the key', description: 'Admins to use, in order, instead of those that the key and the admins name.' }),
  AGENT_DATA_DIR: text({ pattern: /^\//, expected: 'an absolute path' }).default(defaultDataDirectory)
    .meta({ expected: 'an absolute path', defaultText: '/var/lib/edge-agent as root, else ~/.local/share/edge-agent', description: 'Identity, journal and output of running commands. For this agent alone.' }),
  AGENT_ID_TYPE: choice(['persistent', 'random']).default('persistent')
    .meta({ expected: 'one of persistent, random', description: 'persistent keeps the identity in AGENT_DATA_DIR; random enrols under a new one at every start.' }),
  AGENT_ALIASES: list().refine((names) => names.length <= 8 && names.every((name) => AliasName.safeParse(name).success)).optional()
    .meta({ expected: 'at most 8 comma-separated names of lower-case letters, digits and hyphens', description: 'Aliases to take at enrolment.' }),
  AGENT_SELF_UPDATE_ENABLED: flag().default(false)
    .meta({ expected: 'true or false', description: 'Whether this machine takes part in managed self-updates.' }),
  COMMAND_EXECUTION_CONCURRENCY: integer({ min: 1, max: 1_000 }).default(10)
    .meta({ expected: 'a whole number from 1 to 1000', description: 'Commands that run at the same time.' }),
  COMMAND_OUTPUT_MAX_BYTES: integer({ min: 1_024, max: OUTPUT_BYTES_MAX }).default(1_048_576)
    .meta({ expected: `a whole number from 1024 to ${OUTPUT_BYTES_MAX}`, description: 'Output kept of one command; of a longer one the first and last halves.' }),
  AGENT_API_PORT: reportedPort(44_000, "the agent's API"),
  AGENT_SSH_PORT: reportedPort(40_022, 'the SSH server'),
  AGENT_HOST_METRICS_PORT: reportedPort(49_100, 'host metrics'),
  AGENT_WIREGUARD_METRICS_PORT: reportedPort(49_586, 'WireGuard metrics'),
  AGENT_HTTP_PROXY_PORT: reportedPort(43_128, 'the HTTP proxy'),
  AGENT_SOCKS5_PROXY_PORT: reportedPort(41_080, 'the SOCKS5 proxy'),
  LOG_LEVEL: choice(LOG_LEVELS).default('info')
    .meta({ expected: `one of ${LOG_LEVELS.join(', ')}`, description: 'The least severe lines that are logged.' }),
} as const satisfies Record<string, z.ZodType>;

/** The settings, read. */
export type AgentConfig = Settings<typeof AGENT_SETTINGS>;

/** What the agent says of itself to admins. */
export function registrationOf(config: AgentConfig, version: string): Registration {
  return {
    version,
    id_type: config.AGENT_ID_TYPE,
    self_update_enabled: config.AGENT_SELF_UPDATE_ENABLED,
    ports: {
      http_port: config.AGENT_API_PORT,
      ssh_port: config.AGENT_SSH_PORT,
      host_metrics_port: config.AGENT_HOST_METRICS_PORT,
      wireguard_metrics_port: config.AGENT_WIREGUARD_METRICS_PORT,
      http_proxy_port: config.AGENT_HTTP_PROXY_PORT,
      socks5_proxy_port: config.AGENT_SOCKS5_PROXY_PORT,
    },
  };
}
