/** The updater's settings: every environment variable that it reads. */
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Settings } from '../../settings/environment.ts';
import { callersKey, choice, durationMs, flag, text, urls } from '../../settings/fields.ts';
import { isLoopbackHost } from '../../transport/net/addresses.ts';
import { LOG_LEVELS } from '../../transport/net/log.ts';
import { AGENT_SETTINGS } from '../config.ts';
import { ChannelName, DEFAULT_CHANNEL, ReleaseVersion } from '../../transport/protocol/releases.ts';
import { DEADLINE_MS, LIMIT_MS, WELL_MS } from './watch.ts';

const path = () => text({ pattern: /^\//u, expected: 'an absolute path' });

/** Where `serve` listens. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
}

const listen = () =>
  text({ max: 64 })
    .refine((value) => placeOf(value) !== null)
    .transform((value) => placeOf(value) ?? { host: '127.0.0.1', port: 0 })
    .meta({ expected: 'an address of loopback with a port, such as 127.0.0.1:58080 or [::1]:58080' });

/** Name → schema, for `readSettings`. */
export const UPDATER_SETTINGS = {
  UPDATER_DIR: path().default('/var/lib/edge-updater').describe('Versions, downloads, trusted metadata and state.'),
  UPDATER_ADMIN_URLS: urls().optional().meta({
    defaultText: 'those that the agent knows',
    description:
      'Admins that are asked before those that the agent knows, in order: releases are fetched from them, and after an update it is asked whether they can be reached. Only https, and http of this machine, unless UPDATER_ALLOW_HTTP is set.',
  }),
  UPDATER_MIRRORS: urls().optional().meta({
    defaultText: 'none',
    description:
      'Servers that are asked for releases before the admins. Below each stand releases/metadata/ and releases/targets/.',
  }),
  UPDATER_ALLOW_HTTP: flag().default(false).meta({
    expected: 'true or false',
    description:
      'Whether other machines may be asked by http. What is fetched is signed either way; whoever stands in between can see and delay it.',
  }),
  UPDATER_CHANNEL: text({ max: 32 })
    .refine((name) => ChannelName.safeParse(name).success)
    .default(DEFAULT_CHANNEL)
    .meta({ expected: '1 to 32 lower-case letters, digits and hyphens' })
    .describe('The channel of releases that this machine follows.'),
  UPDATER_LISTEN: listen()
    .default({ host: '127.0.0.1', port: 58_080 })
    .meta({ defaultText: '127.0.0.1:58080', description: 'Where the agent asks for updates.' }),
  UPDATER_TOKEN: callersKey().optional().meta({
    secret: true,
    defaultText: 'made once, in the file token of UPDATER_DIR',
    description: 'Bearer key of its HTTP API.',
  }),
  UPDATER_AGENT_DATA_DIR: path()
    .default('/var/lib/edge-agent')
    .describe(
      "The agent's AGENT_DATA_DIR, where it says how it is. A unit of systemd has to be let in there: docs/packages.md.",
    ),
  UPDATER_AGENT_SETTINGS: path().optional().meta({
    defaultText: 'none',
    description:
      "File with the agent's settings, a NAME=value a line, as its service reads it: a new version is checked with them before it is switched to.",
  }),
  UPDATER_AGENT_SERVICE: text({
    max: 128,
    pattern: /^[\w@.:-]+$/u,
    expected: 'the name of a service of systemd',
  })
    .default('edge-agent')
    .describe('The service that runs the agent.'),
  UPDATER_RESTART_COMMAND: text().optional().meta({
    defaultText: 'systemctl restart with UPDATER_AGENT_SERVICE',
    description: 'Command for /bin/sh that restarts the agent, for machines without systemd.',
  }),
  UPDATER_STATE_COMMAND: text().optional().meta({
    defaultText: 'systemctl is-active with UPDATER_AGENT_SERVICE, unless UPDATER_RESTART_COMMAND is set',
    description:
      'Command for /bin/sh that prints inactive where somebody stopped the agent, so that it is left alone, and abandoned where nothing starts it again although nobody did: it is started then once it was silent for 10 minutes. Without one, where UPDATER_RESTART_COMMAND is set, a stopped agent is taken for a dead one.',
  }),
  UPDATER_AGENT_LOG: path().optional().meta({
    defaultText: 'the journal of systemd',
    description: "File with the agent's log: its end is told when an update is taken back.",
  }),
  UPDATER_WELL_FOR: durationMs({ min: 1_000, max: 600_000 }).default(WELL_MS).meta({
    description:
      'How long a new version has to be well without a break before it is kept, in ms: connected, answered, no service worse than before.',
  }),
  UPDATER_DEADLINE: durationMs({ min: 5_000, max: LIMIT_MS }).default(DEADLINE_MS).meta({
    description:
      'It has to be so within this, in ms, or the version before comes back. Time in which nobody here reaches an admin does not count, up to 30 minutes.',
  }),
  UPDATER_CHECK_EVERY: durationMs({ min: 10_000, max: 86_400_000 })
    .default(600_000)
    .meta({ description: 'How often it looks by itself whether the agent lives, in ms, give or take a fifth.' }),
  UPDATER_AUTOMATIC: flag().default(false).meta({
    expected: 'true or false',
    description:
      'Whether it then updates to what the channel names without being asked, where nobody stopped the agent. Otherwise it only repairs an agent that is dead.',
  }),
  HTTPS_PROXY: AGENT_SETTINGS.HTTPS_PROXY.meta({
    ...AGENT_SETTINGS.HTTPS_PROXY.meta(),
    description: 'HTTP proxy through which https URLs are reached, by CONNECT. Also as https_proxy.',
  }),
  HTTP_PROXY: AGENT_SETTINGS.HTTP_PROXY.meta({
    ...AGENT_SETTINGS.HTTP_PROXY.meta(),
    description: 'The same for http URLs. Also as http_proxy.',
  }),
  NO_PROXY: AGENT_SETTINGS.NO_PROXY.meta({
    ...AGENT_SETTINGS.NO_PROXY.meta(),
    description: 'Hosts that are reached without a proxy, besides this machine itself. Also as no_proxy.',
  }),
  LOG_LEVEL: choice(LOG_LEVELS)
    .default('info')
    .meta({ expected: `one of ${LOG_LEVELS.join(', ')}`, description: 'The least severe lines that are logged.' }),
} as const;

/** What an updater is set to. */
export type UpdaterConfig = Settings<typeof UPDATER_SETTINGS>;

/** What is wrong with settings that stand side by side, in lines for the operator. */
export function updaterProblems(config: UpdaterConfig): readonly string[] {
  if (config.UPDATER_ALLOW_HTTP) return [];
  const named = [
    ['UPDATER_ADMIN_URLS', config.UPDATER_ADMIN_URLS ?? []],
    ['UPDATER_MIRRORS', config.UPDATER_MIRRORS ?? []],
  ] as const;
  return named.flatMap(([name, given]) =>
    given
      .filter((url) => !isAllowed(url))
      .map((url) => `${name} names ${url}: it should be an https URL, or set UPDATER_ALLOW_HTTP=true`),
  );
}

/** Whether this URL may be asked without being told so: https, or this machine itself. */
export function isAllowed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopbackHost(hostname.replace(/^\[|\]$/gu, ''));
}

/** The agent's file of this name. */
export function agentFile({ UPDATER_AGENT_DATA_DIR: directory }: UpdaterConfig, name: string): string {
  return join(directory, name);
}

/** Whether this is a version, for commands. */
export function isVersion(word: string): boolean {
  return ReleaseVersion.safeParse(word).success;
}

function placeOf(value: string): ListenPlace | null {
  const { v6, v4 = v6, port } = /^(?:\[(?<v6>[\da-f:]+)\]|(?<v4>[\d.]+)):(?<port>\d{1,5})$/iu.exec(value)?.groups ?? {};
  const number = Number(port);
  if (v4 === undefined || isIP(v4) === 0 || !isLoopbackHost(v4) || number > 65_535) return null;
  return { host: v4, port: number };
}
