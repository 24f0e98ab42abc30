/**
 * `starts`: how long programs of the published package take until they serve: an admin on a database that it knows, and
 * an agent that has enrolled. The floor is a Node that does nothing.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBenchServer } from '../fleet/database.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { compare, type Target } from './findings.ts';
import type { CaseOptions } from './options.ts';

const REPEATS = 20;

/** Rounds that do not count: in the first the database is made, the agent enrols, and compiled code is kept. */
const WARM_UPS = 3;

/** Targets of the medians, by side, in s. Source: docs/performance.md. */
const SECONDS_MAX = { admin: 1.2, agent: 0.4 } as const;

/** What an agent says when its session is open. */
const CONNECTED = '"msg":"Connected"';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const run = promisify(execFile);

/** One program after the other, in turns. */
export async function starts(options: CaseOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'edge-bench-starts-'));
  const postgres = await startBenchServer();
  let admin: AdminProcess | undefined;
  try {
    const dist = join(directory, 'dist');
    await run(process.execPath, ['deploy/build.ts', dist], { cwd: ROOT });
    const code = { NODE_COMPILE_CACHE: join(directory, 'code') };
    const place = await newAdminPlace(await postgres.create('product'), code);
    const start = () => startAdmin(place, join(dist, 'edge-admin.js'));
    admin = await start();
    await admin.http.call('POST', '/clusters', { name: 'bench' });
    const { key } = await admin.http.call<{ key: string }>('POST', '/clusters/bench/enrollment_keys', {});
    const sides: Side[] = [
      { name: 'floor', run: () => timed(() => run(process.execPath, ['-e', '0'])) },
      {
        name: 'admin',
        enter: async () => admin?.stop(),
        run: async () => {
          admin = await start();
          return { seconds: admin.startSeconds, readings: {} };
        },
      },
      {
        name: 'agent',
        run: () => connected([join(dist, 'edge-agent.cjs'), 'up'], { ...agentSettings(directory, key), ...code }),
      },
    ];
    const result = await interleave(
      options.floorOnly ? sides.slice(0, 1) : sides,
      options.repeats ?? REPEATS,
      WARM_UPS,
    );
    for (const [side, secondsMax] of Object.entries(SECONDS_MAX)) {
      const target: Target = ({ series }) => quantile(series, 0.5) <= secondsMax;
      const samples = new Map([...result.samples].filter(([name]) => name === 'floor' || name === side));
      for (const finding of compare('starts', {}, { ...result, samples }, target)) options.report.add(finding);
    }
  } finally {
    await admin?.stop();
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function agentSettings(directory: string, key: string): Readonly<Record<string, string>> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: directory,
    ENROLLMENT_KEY: key,
    AGENT_DATA_DIR: join(directory, 'agent'),
    AGENT_SOCKS5_PROXY_PORT: '0',
    AGENT_HTTP_PROXY_PORT: '0',
    AGENT_SSH_PORT: '0',
    AGENT_API_PORT: '0',
    AGENT_HOST_METRICS_PORT: '0',
    AGENT_WIREGUARD_METRICS_PORT: '0',
    VPN_ENABLED: 'false',
    AGENT_SSH_UNKNOWN_USERS: 'agent',
  };
}

/** From the spawn of an agent to its open session. It is ended then. */
async function connected(words: readonly string[], env: Readonly<Record<string, string>>) {
  const began = performance.now();
  const child = spawn(process.execPath, [...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said: string[] = [];
  const ended = once(child, 'exit');
  const isConnected = await new Promise<boolean>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line);
        if (line.includes(CONNECTED)) resolve(true);
      });
    child.once('exit', () => resolve(false));
  });
  const seconds = (performance.now() - began) / 1_000;
  child.kill('SIGTERM');
  await ended;
  if (!isConnected) throw new Error(`the agent ended: ${said.join('\n').slice(-2_000)}`);
  return { seconds, readings: {} };
}

async function timed(work: () => Promise<unknown>) {
  const began = performance.now();
  await work();
  return { seconds: (performance.now() - began) / 1_000, readings: {} };
}
