/** Network namespaces of tests: made, entered, and removed with all that still runs in them. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { peerPath } from '../run/peers.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';

/** What names of namespaces begin with; the id of the process that made them follows. */
const PREFIX = 'edgenet';

/** Where named namespaces are. Source: ip-netns(8). */
const DIRECTORY = '/run/netns';

/** One command in a namespace, on a busy machine, in ms. */
const COMMAND_MS_MAX = 60_000;

/**
 * What a program has time for after it was asked to end, in ms. Then it is killed, which takes as long as a busy
 * machine needs.
 */
const END_MS_MAX = 3_000;
const KILL_MS_MAX = 30_000;

const run = promisify(execFile);

/** A network of its own. */
export interface Namespace {
  readonly name: string;
  /** Words that lead into it, before those of a command. */
  readonly entry: readonly [string, ...string[]];
  /** Lines for a shell in it. They stop at the first that fails. */
  shell(lines: string): Promise<string>;
  /** A whole ruleset or a part of one. */
  nft(script: string): Promise<void>;
}

let count = 0;

/**
 * Makes a namespace with nothing but a loopback in it. At the end of the scope all programs in it are ended and it is
 * removed.
 */
export async function createNamespace(scope: Scope, label: string): Promise<Namespace> {
  count += 1;
  const name = `${PREFIX}-${process.pid}-${count}-${label}`;
  await run('ip', ['netns', 'add', name]);
  scope.teardown(() => removeNamespace(name));
  const entry = ['nsenter', `--net=${DIRECTORY}/${name}`] as const;
  const shell = (lines: string): Promise<string> => commanded([...entry, 'sh', '-eu'], lines);
  const nft = async (script: string): Promise<void> =>
    void (await commanded([...entry, await peerPath('nft'), '-f', '-'], script));
  await shell('ip link set lo up');
  return { name, entry: [...entry], shell, nft };
}

/** Lays a cable between two namespaces, each end of which has its name in its own. */
export async function layCable(one: Namespace, oneEnd: string, other: Namespace, otherEnd: string): Promise<void> {
  await run('ip', [
    'link',
    'add',
    oneEnd,
    'netns',
    one.name,
    'type',
    'veth',
    'peer',
    'name',
    otherEnd,
    'netns',
    other.name,
  ]);
}

/** Names of the namespaces that a process made, as a pattern of a shell. */
export function namespacesOf(pid: number): string {
  return `${PREFIX}-${pid}-*`;
}

/** Removes what test processes left behind that were killed. */
export async function removeLeftovers(): Promise<void> {
  for (const name of namespaces()) {
    const pid = Number(new RegExp(`^${PREFIX}-(\\d+)-`, 'u').exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) await removeNamespace(name).catch(() => {}); // another test process removes it too
  }
}

/** Names of all named namespaces of this machine. */
export function namespaces(): readonly string[] {
  try {
    return readdirSync(DIRECTORY);
  } catch {
    return []; // nobody has ever made one
  }
}

/** A command that reads this and whose output counts when it succeeds. Rejects with what it said. */
async function commanded([command, ...words]: readonly [string, ...string[]], input: string): Promise<string> {
  const running = run(command, words, { timeout: COMMAND_MS_MAX });
  running.child.stdin?.on('error', () => {}).end(input); // it may have failed before it read all
  const { stdout } = await running.catch((error: Error & { readonly stderr?: string }) => {
    throw new Error(`${error.stderr?.trim() || error.message}, from:\n${input}`, { cause: error });
  });
  return stdout.trim();
}

/** Programs are asked first: wireguard-go then removes its socket. */
async function removeNamespace(name: string): Promise<void> {
  if ((await emptied(name, 'SIGTERM', END_MS_MAX)) || (await emptied(name, 'SIGKILL', KILL_MS_MAX)))
    await run('ip', ['netns', 'delete', name]);
  else throw new Error(`programs in ${name} do not end: ${(await programs(name)).join(', ')}`);
}

async function emptied(name: string, signal: NodeJS.Signals, msMax: number): Promise<boolean> {
  for (const pid of await programs(name)) {
    try {
      process.kill(pid, signal);
    } catch {
      // it ended by itself
    }
  }
  return until('the end of all programs', async () => (await programs(name)).length === 0, msMax).catch(() => false);
}

async function programs(name: string): Promise<number[]> {
  return (await run('ip', ['netns', 'pids', name])).stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
