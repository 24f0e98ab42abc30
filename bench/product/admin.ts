/** The real admin program as a child process, on a database of the bench. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BENCH_DIR, databaseUrl, type DatabasePlace } from '../fleet/database.ts';
import { freePort } from '../fleet/ports.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { openInspector, type Inspector } from './inspector.ts';

/** Timeout of a start, in ms: with 20,000 nodes it reads their rows first. */
const START_MS_MAX = 60_000;

/** Of an admin whose nodes storm: else what got better would be held back for half a minute (docs/health.md). */
export const UNDAMPED = { NODE_STATUS_DAMPING_MS: '0' };

/** What the program logs when it serves. */
const READY = 'edge-admin is ready';

/** Timeout of an orderly stop, in ms. */
const STOP_MS_MAX = 20_000;

/** A running admin. */
export interface AdminProcess {
  readonly pid: number;
  readonly port: number;
  readonly http: HttpClient;
  /** From the spawn to the line that says it is ready: then it owns its clusters and takes agents. */
  readonly startSeconds: number;
  inspect(): Promise<Inspector>;
  signal(signal: NodeJS.Signals): void;
  /** kill -9, then the same settings again on the same port. */
  kill(): Promise<void>;
  /** SIGTERM, as an operator would. */
  stop(): Promise<void>;
}

/** Settings that stay over a restart. */
export interface AdminPlace {
  readonly database: DatabasePlace;
  readonly port: number;
  readonly masterKey: string;
  readonly encryptionKey: string;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A place for an admin: free port, fresh keys. */
export async function newAdminPlace(
  database: DatabasePlace,
  env: Readonly<Record<string, string>> = {},
): Promise<AdminPlace> {
  return {
    database,
    env,
    port: await freePort(),
    masterKey: randomBytes(32).toString('hex'),
    encryptionKey: randomBytes(32).toString('base64'),
  };
}

/** The program as it stands in a clone. */
const CLONED = join(import.meta.dirname, '../../cli/edge-admin.ts');

/**
 * Starts `edge-admin serve` and waits until it says that it is ready. It logs at its default level, to a file. `file`:
 * the program of a package.
 */
export async function startAdmin(place: AdminPlace, file = CLONED): Promise<AdminProcess> {
  const inspectPort = await freePort();
  const logFile = join(BENCH_DIR, `admin-${place.port}.log`);
  const log = openSync(logFile, 'w');
  const began = performance.now();
  const child = spawn(process.execPath, [`--inspect-port=127.0.0.1:${inspectPort}`, file, 'serve'], {
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env['PATH'],
      NODE_OPTIONS: process.env['ADMIN_NODE_OPTIONS'] ?? '',
      MASTER_KEY: place.masterKey,
      ENCRYPTION_KEY: place.encryptionKey,
      DATABASE_URL: databaseUrl(place.database),
      ADMIN_API_HOST: '127.0.0.1',
      ADMIN_API_PORT: String(place.port),
      ADMIN_PROXY_HOST: '127.0.0.1',
      ADMIN_HTTP_PROXY_PORT: '0',
      ADMIN_SOCKS5_PROXY_PORT: '0',
      ADMIN_OBSERVER_PORT: '0',
      ADMIN_GATEWAY_ENABLED: 'false',
      ADMIN_URLS: `http://127.0.0.1:${place.port}`,
      ADMIN_NAME: 'bench',
      DATA_DIR: join(BENCH_DIR, 'admin'),
      ...place.env,
    },
  });
  closeSync(log);
  const abandon = (): void => void child.kill('SIGKILL'); // the bench was interrupted
  process.once('exit', abandon);
  child.once('exit', () => process.off('exit', abandon));
  await ready(child, logFile);
  const http = createHttpClient(place.port, place.masterKey);
  return {
    pid: child.pid ?? 0,
    port: place.port,
    http,
    startSeconds: (performance.now() - began) / 1_000,
    inspect: () => openInspector(child.pid ?? 0, inspectPort),
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      http.close();
      await ended(child, 'SIGKILL');
    },
    stop: async () => {
      http.close();
      child.kill('SIGCONT');
      const hard = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
      await ended(child, 'SIGTERM');
      clearTimeout(hard);
      await rm(logFile, { force: true }); // one that was killed leaves its log to be read
    },
  };
}

async function ready(child: ChildProcess, logFile: string): Promise<void> {
  for (const until = Date.now() + START_MS_MAX; Date.now() < until; await delay(5)) {
    const said = await readFile(logFile, 'utf8');
    if (said.includes(READY)) return;
    if (child.exitCode !== null)
      throw new Error(`the admin ended with status ${child.exitCode}: ${said.slice(-2_000)}`);
  }
  child.kill('SIGKILL');
  throw new Error(`the admin was not ready within ${START_MS_MAX / 1_000} s: ${logFile}`);
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}
