/** A real `edge-agent up` that can be killed and started again on its data. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { procFile, processIds, signalAll } from '../processes.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';

/**
 * Agents of tests share a machine: each takes ports that are free, none makes a network interface, and users of a test
 * are no accounts of the machine.
 */
export const FREE_PORTS = {
  AGENT_API_PORT: '0',
  AGENT_SSH_PORT: '0',
  AGENT_HOST_METRICS_PORT: '0',
  AGENT_WIREGUARD_METRICS_PORT: '0',
  AGENT_HTTP_PROXY_PORT: '0',
  AGENT_SOCKS5_PROXY_PORT: '0',
  VPN_ENABLED: 'false',
  AGENT_SSH_UNKNOWN_USERS: 'agent',
} as const;

/** One agent over all of its runs. */
export interface AgentProgram {
  /** Known once it enrolled. */
  readonly node: string;
  /** What it was given then; throws before. */
  readonly enrollment: EnrollAnswer;
  readonly dataDirectory: string;
  readonly program: Program;
  readonly runs: readonly Program[];
  /** Starts a run, with other settings if given. Resolves at once. */
  start(env?: Readonly<Record<string, string>>): void;
  /** Resolves when the present run is enrolled and its session is live. */
  live(): Promise<void>;
  kill(): Promise<void>;
}

/**
 * Prepares an agent on a data directory of its own below `directory`; `start` starts it. What it and its scripts left
 * running ends with the scope. `file`: the program of another release.
 */
export function prepareAgent(
  scope: Scope,
  directory: string,
  env: Readonly<Record<string, string>>,
  file: 'edge-agent' | URL = 'edge-agent',
): AgentProgram {
  const runs: Program[] = [];
  const dataDirectory = join(directory, 'data');
  mkdirSync(directory, { recursive: true });
  const current = (): Program => {
    const last = runs.at(-1);
    if (last === undefined) throw new Error('the agent was not started');
    return last;
  };
  scope.teardown(() => endScriptsOf(dataDirectory));
  return {
    dataDirectory,
    runs,
    get node() {
      return enrollmentIn(dataDirectory)?.node_id ?? '';
    },
    get enrollment() {
      const enrollment = enrollmentIn(dataDirectory);
      if (enrollment === null) throw new Error('the agent has not enrolled');
      return enrollment;
    },
    get program() {
      return current();
    },
    start(more = {}) {
      runs.push(Program.start(scope, file, ['up'], { AGENT_DATA_DIR: dataDirectory, ...FREE_PORTS, ...env, ...more }));
    },
    async live() {
      await current().logged('Connected');
    },
    async kill() {
      current().kill();
      await current().ended();
    },
  };
}

/** What an agent with this data directory was given when it enrolled; null before. */
export function enrollmentIn(dataDirectory: string): EnrollAnswer | null {
  try {
    return (
      JSON.parse(readFileSync(join(dataDirectory, 'identity.json'), 'utf8')) as { enrollment: EnrollAnswer | null }
    ).enrollment;
  } catch {
    return null;
  }
}

/** Ids of processes that run with this in their environment, as `NAME=value`. */
export function processesWith(variable: string): number[] {
  return environments()
    .filter(({ variables }) => variables.includes(variable))
    .map(({ pid }) => pid);
}

/** What a variable is in the environments of all processes that have it. */
export function valuesInProcesses(name: string): ReadonlySet<string> {
  return new Set(
    environments().flatMap(({ variables }) =>
      variables
        .filter((variable) => variable.startsWith(`${name}=`))
        .map((variable) => variable.slice(name.length + 1)),
    ),
  );
}

function environments(): { pid: number; variables: string[] }[] {
  return processIds().map((pid) => ({ pid, variables: procFile(pid, 'environ').split('\0') }));
}

/**
 * Ends what runs for a node: exec shims and scripts outlive their agent on purpose, and after a test nobody will take
 * them up.
 */
export function endScripts(node: string): void {
  signalAll(processesWith(`EDGE_NODE_ID=${node}`), 'SIGKILL');
}

/** The same for the agent with this data directory, if it enrolled. */
export function endScriptsOf(dataDirectory: string): void {
  const enrollment = enrollmentIn(dataDirectory);
  if (enrollment !== null) endScripts(enrollment.node_id);
}

/** Resolves when no process of this execution is left. */
export async function processesGone(execution: string, msMax?: number): Promise<void> {
  await until(
    `the end of the processes of ${execution}`,
    () => processesWith(`EDGE_EXECUTION_ID=${execution}`).length === 0,
    msMax,
  );
}
