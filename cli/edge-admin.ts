#!/usr/bin/env node
/** `edge-admin`: the program that runs the control service. */
import { mkdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import packageFile from '../package.json' with { type: 'json' };
import {
  ADMIN_SETTINGS,
  ADMIN_SETTING_THEMES,
  readAdminConfig,
  type AdminConfig,
  type AdminConfigResult,
} from '../settings/admin.ts';
import { readStorageConfig } from '../settings/storage.ts';
import type { Storage } from '../persistence/connections/command-database.ts';
import { masterKeyIn } from '../persistence/embedded/master-key.ts';
import { createLog } from '../transport/net/pino-log.ts';
import type { Log } from '../transport/net/log.ts';
import { openSurfaces } from '../settings/authentication.ts';
import { settingNames, settingsHelp, settingsMarkdown } from '../settings/environment.ts';
import { nearestOf } from '../settings/nearest.ts';
import { RELAY_SETTINGS } from '../settings/relay.ts';
import { unknownVariables } from '../settings/unknown-variables.ts';
import { EXIT_BAD_SETTINGS, EXIT_START_FAILED, runUntilSignalled } from './resident-program.ts';
import { startRenewed } from './renewal.ts';

const USAGE = `edge-admin ${packageFile.version}: the control service of an edge fleet

Usage:
  edge-admin serve                  run the service until SIGTERM or SIGINT
  edge-admin relay                  run a relay for nodes that do not reach each other directly
  edge-admin backup FILE            write the whole database into a new file while it is used
  edge-admin restore FILE           load such a file into an empty database
  edge-admin rotate-encryption-key  make another key in DATA_DIR; the next start seals all secrets under it
  edge-admin forget-releases --yes  no longer trust the root of releases, whose keys are lost; the next publish brings another
  edge-admin settings [--markdown]  list the settings
  edge-admin --help | --version

It is configured by environment variables. Without any, serve makes a database and the key that opens it in .data (DATA_DIR):
  ADMIN_URLS=http://admin.example.com:44000 edge-admin serve
  RELAY_HOSTNAME=relay.example.com RELAY_ADMISSION_URL=https://admin.example.com/api/v1/relays/admission edge-admin relay

Exit status: 0 stopped in order, 1 could not start or stop, 2 a wrong argument or setting, 70 a bug.
`;

const COMMANDS = [
  'serve',
  'relay',
  'backup',
  'restore',
  'rotate-encryption-key',
  'forget-releases',
  'settings',
  'help',
] as const;

/** What forgetting costs: said instead of doing it, until somebody says that he knows. */
const FORGET_WARNING =
  'forget-releases deletes all signed metadata of releases and the root that admins trust: machines are not updated until another root is published, and those that were installed with the old one must be uninstalled and installed again (docs/releases.md). Say edge-admin forget-releases --yes';

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  markdown: { type: 'boolean' },
  yes: { type: 'boolean' },
} as const;

await main(process.argv.slice(2));

async function main(args: string[]): Promise<void> {
  const parsed = parse(args);
  if ('problem' in parsed) return refuse([`${parsed.problem} (edge-admin --help lists what there is)`]);

  const { values, command, file } = parsed;
  if (values.version) return void process.stdout.write(`${packageFile.version}\n`);
  if (values.help || command === 'help') return void process.stdout.write(`${USAGE}\nSettings:\n${themes()}`);
  switch (command) {
    case undefined:
      return refuse(['a command is missing: edge-admin serve runs the service, edge-admin --help tells more']);
    case 'settings':
      return void process.stdout.write(values.markdown ? settingsMarkdown(ADMIN_SETTINGS) : themes());
    case 'serve':
      return serve();
    case 'relay':
      return relayAlone();
    case 'rotate-encryption-key':
      return rotateKey();
    case 'forget-releases':
      return values.yes === true ? forget() : refuse([FORGET_WARNING]);
    case 'backup':
    case 'restore':
      return file === undefined ? refuse([`the file is missing: edge-admin ${command} FILE`]) : copy(command, file);
    default:
      return refuse([
        `there is no command ${JSON.stringify(command)}${meant(command, COMMANDS)} (edge-admin --help lists what there is)`,
      ]);
  }
}

function parse(args: string[]) {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const takesFile = positionals[0] === 'backup' || positionals[0] === 'restore';
    const [command, file] = positionals;
    const unexpected = positionals[takesFile ? 2 : 1];
    return unexpected === undefined
      ? { values, command, file }
      : { problem: `unexpected argument ${JSON.stringify(unexpected)}` };
  } catch (error) {
    const [problem = 'wrong arguments'] = (error as Error).message.split(/\n|\. To specify/u);
    const [, option] = /^Unknown option '(--[^']+)'$/u.exec(problem) ?? [];
    const known = Object.keys(OPTIONS).map((name) => `--${name}`);
    return { problem: `${problem}${option === undefined ? '' : meant(option, known)}` };
  }
}

/** Which word was meant, behind what is said of another one; nothing where none is near. */
function meant(given: string, known: readonly string[]): string {
  const nearest = nearestOf(given, known);
  return nearest === null ? '' : `: did you mean ${nearest}?`;
}

function themes(): string {
  return Object.entries({ ...ADMIN_SETTING_THEMES, 'A relay alone (edge-admin relay)': RELAY_SETTINGS })
    .map(([title, shape]) => `\n${title}\n${settingsHelp(shape)}`)
    .join('');
}

async function relayAlone(): Promise<void> {
  const { readRelayConfig, relay } = await import('./relay.ts');
  const read = readRelayConfig(process.env);
  return read.ok ? relay(read.config) : refuse(read.problems);
}

async function copy(command: 'backup' | 'restore', file: string): Promise<void> {
  const { backUp, restore } = await import('../persistence/backup/backup.ts');
  await atDatabase((storage, log) =>
    command === 'backup' ? backUp(storage, file, packageFile.version, log) : restore(storage, file, log),
  );
}

async function forget(): Promise<void> {
  const { forgetReleases } = await import('../persistence/releases/forget.ts');
  await atDatabase(forgetReleases);
}

/** What it did goes to stdout; why not, in one line, to stderr. */
async function atDatabase(work: (storage: Storage, log: Log) => Promise<string>): Promise<void> {
  const read = readStorageConfig(process.env);
  if (!read.ok) return refuse(read.problems);
  try {
    process.stdout.write(`${await work(read.config, createLog('edge-admin', 'error'))}\n`);
  } catch (error) {
    process.stderr.write(`edge-admin: ${because(error as Error, read.config)}\n`);
    process.exitCode = EXIT_START_FAILED;
  }
}

/** Of the key in DATA_DIR. One that is set is rotated where it is set. */
async function rotateKey(): Promise<void> {
  const read = readStorageConfig(process.env);
  if (!read.ok) return refuse(read.problems);
  const { DATA_DIR, DATABASE_URL, ENCRYPTION_KEY } = read.config;
  if (ENCRYPTION_KEY !== undefined || DATABASE_URL !== undefined)
    return refuse([
      'ENCRYPTION_KEY is set, so it is rotated where it is set: put its value into ENCRYPTION_KEYS_OLD, a new one (openssl rand -base64 32) in its place, and restart every admin',
    ]);
  const { rotateEncryptionKeyIn } = await import('../persistence/embedded/encryption-key.ts');
  try {
    process.stdout.write(`${rotateEncryptionKeyIn(DATA_DIR)}\n`);
  } catch (error) {
    process.stderr.write(`edge-admin: ${because(error as Error, read.config)}\n`);
    process.exitCode = EXIT_START_FAILED;
  }
}

async function serve(): Promise<void> {
  const read = readConfig();
  if (!read.ok) return refuse(read.problems);

  const { config } = read;
  const log = createLog('edge-admin', config.LOG_LEVEL);
  keepCompiledCode(config.DATA_DIR);
  if (config.masterKeyFile !== null)
    log.info({}, `MASTER_KEY is not set: the key that opens this admin is in ${config.masterKeyFile}`);
  warnOfOpenSurfaces(config, log);
  warnOfUnknownVariables(log);
  const { startAdmin } = await import('../main.ts'); // only to serve, so that the other commands answer at once
  const describe = (error: unknown): string => `edge-admin: ${startProblem(error, config)}`;
  const start = async (signal: AbortSignal) => {
    const admin = await startAdmin(config, log, signal);
    flushCompileCache();
    log.info({ url: admin.url }, 'edge-admin is ready');
    return admin;
  };
  await runUntilSignalled({ log, describe, start: (signal) => startRenewed(start, { describe, log, signal }) });
}

/** Where no key can be made the settings are refused as a wrong one is: nothing was started yet. */
function readConfig(): AdminConfigResult {
  try {
    return readAdminConfig(process.env, hostname(), masterKeyIn);
  } catch (error) {
    const { name, message } = error as Error;
    if (name !== 'EmbeddedPostgresError') throw error;
    return { ok: false, problems: [`MASTER_KEY is not set, and none can be made: ${message}`] };
  }
}

/** Once, for whoever looks into the log. */
function warnOfOpenSurfaces(config: AdminConfig, log: Log): void {
  const open = openSurfaces(config);
  if (open.length > 0)
    log.warn(
      {},
      `no key is asked for by ${open.map(({ what, host }) => `${what} (${host})`).join(', ')}: whoever reaches that may use it`,
    );
}

/** What is misspelt does nothing, and nobody would see why. */
function warnOfUnknownVariables(log: Log): void {
  const known = settingNames({ ...ADMIN_SETTINGS, ...RELAY_SETTINGS });
  for (const line of unknownVariables(process.env, { known, own: ['ADMIN_', 'EVENT_'], shared: ['EDGE_VPN_'] }))
    log.warn({}, line);
}

/**
 * Compiled code is kept in DATA_DIR, not in the shared temporary directory where others could leave theirs: the next
 * start costs 40 % less (measured), which counts after a crash.
 */
function keepCompiledCode(dataDir: string): void {
  const cache = join(dataDir, 'code-cache');
  try {
    mkdirSync(cache, { recursive: true, mode: 0o755 });
    enableCompileCache(cache);
  } catch {
    // Without it the start is slower; what is wrong with DATA_DIR is said when it is needed.
  }
}

/** A failed start in one line for the operator. Errors that are not listed name themselves. */
function startProblem(error: unknown, config: AdminConfig): string {
  const { code } = error as NodeJS.ErrnoException;
  const address = `ADMIN_API_HOST ${config.ADMIN_API_HOST}, ADMIN_API_PORT ${config.ADMIN_API_PORT}`;
  switch (code) {
    case 'EADDRINUSE':
      return `another program listens there already (${address}): end it, or set another ADMIN_API_PORT`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine has no such address (${address}): set ADMIN_API_HOST to one of its own, or 0.0.0.0 for all`;
    case 'EACCES':
      return `listening there needs more rights (${address}): set an ADMIN_API_PORT above 1023`;
    case undefined:
    default:
      return because(error as Error, config);
  }
}

/** The message, the cause at its root (which tells what the system said), and where to look. */
function because(error: Error, config: Pick<AdminConfig, 'DATABASE_URL'>): string {
  let root = error;
  while (root.cause instanceof Error) root = root.cause;
  const cause = root === error ? '' : ` ${root.message}.`;
  const hint =
    error.name === 'DatabaseUnavailable' && config.DATABASE_URL !== undefined
      ? ' See that DATABASE_URL names a database that runs and lets this user in.'
      : '';
  return `${error.message}${error.name === 'EmbeddedPostgresError' ? '' : cause}${hint}`.replaceAll(/\s+/gu, ' ');
}

function refuse(problems: readonly string[]): void {
  process.stderr.write(problems.map((problem) => `edge-admin: ${problem}\n`).join(''));
  process.exitCode = EXIT_BAD_SETTINGS;
}
