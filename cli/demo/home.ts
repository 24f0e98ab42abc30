/**
 * The directory in which the demo lives, from one run to the next: rows, identities, keys, ports, logs, and who runs.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Problem } from '../problem.ts';
import type { DemoPorts } from './ports.ts';

/** Wait between two looks at a process that is to end, and how often, before it is left to the user. */
const LOOK_MS = 100;
const LOOKS_MAX = 150;

/** The opened directory. */
export interface DemoHome {
  readonly directory: string;
  /** MASTER_KEY of the demo's admin: made once. */
  readonly key: string;
  /** Where its admin listened the last time. */
  readonly ports: Partial<DemoPorts>;
  path(...parts: readonly string[]): string;
  rememberPorts(ports: DemoPorts): void;
  /** Remembers who runs, so that the next run can end what a killed one left behind. */
  remember(pids: readonly number[]): void;
  forget(): void;
}

/** Opens the directory. Ends what an earlier demo left running; refuses while one still runs. */
export async function openHome(directory: string): Promise<DemoHome> {
  const root = resolve(directory);
  // PostgreSQL runs as a user of its own when we are root, and must be able to pass.
  mkdirSync(root, { recursive: true, mode: 0o755 });
  const runningFile = join(root, 'running.json');
  const portsFile = join(root, 'ports.json');
  await endEarlier(runningFile);
  return {
    directory: root,
    key: keyIn(join(root, 'key')),
    ports: readPorts(portsFile),
    path: (...parts) => join(root, ...parts),
    rememberPorts: (ports) => writeFileSync(portsFile, `${JSON.stringify(ports)}\n`),
    remember: (pids) => writeFileSync(runningFile, JSON.stringify({ demo: process.pid, programs: pids })),
    forget: () => rmSync(runningFile, { force: true }),
  };
}

async function endEarlier(runningFile: string): Promise<void> {
  const { demo, programs } = readRunning(runningFile);
  if (demo !== null && demo !== process.pid && runs(demo, 'demo.ts'))
    throw new Problem(
      `the demo runs already, as process ${demo}: end it with Ctrl-C there, or use --data DIRECTORY for another one`,
    );
  const left = programs.filter((pid) => runs(pid, 'edge-admin.ts') || runs(pid, 'edge-agent.ts'));
  for (const pid of left) process.kill(pid, 'SIGTERM');
  for (let looks = 0; left.some((pid) => runs(pid, 'edge-')); looks += 1) {
    if (looks === LOOKS_MAX)
      throw new Problem(`an earlier demo left processes that do not end: ${left.join(', ')}. End them and start again`);
    await wait(LOOK_MS);
  }
}

function readRunning(file: string): { readonly demo: number | null; readonly programs: readonly number[] } {
  try {
    const { demo, programs } = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
    return { demo: isPid(demo) ? demo : null, programs: Array.isArray(programs) ? programs.filter(isPid) : [] };
  } catch {
    return { demo: null, programs: [] }; // no earlier run, or one that was cut while writing
  }
}

/** What is no port counts as not remembered. */
function readPorts(file: string): Partial<DemoPorts> {
  try {
    const ports = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
    return Object.fromEntries(Object.entries(ports).filter(([, port]) => isPort(port)));
  } catch {
    return {}; // no earlier run, or one that was cut while writing
  }
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;
}

function isPid(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 1;
}

// The number of a process is given again after its end: only one that runs our program is ours.
function runs(pid: number, script: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(script);
  } catch {
    return false;
  }
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const key = randomBytes(24).toString('hex');
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    return key;
  }
}
