/**
 * This machine as a host of Netmaker: its own client, `netclient`, is what enters networks. It is run when the admin
 * says so, and only then.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execute } from '../../transport/net/execute.ts';
import { networkOf } from '../../transport/protocol/cluster-names.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { writeDurably } from '../durable-file.ts';
import type { AdminVpnFrame, SessionClock } from '../session/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { NETMAKER_FILE } from '../data-directory.ts';

/** Netmaker's client, as it is found by PATH. */
const PROGRAM = 'netclient';

/** One run of it, in ms: it asks the server, and starts its daemon anew. */
const RUN_MS_MAX = 120_000;

/** What is kept of what it says, in bytes, and what is told of it, in characters. */
const OUTPUT_BYTES_MAX = 65_536;
const TOLD_CHARACTERS_MAX = 160;

/** An admin that says the same again so soon after it was done has not seen the host yet: in ms. */
const SETTLED_MS = 300_000;

/**
 * An admin asks a machine that is no host again within a minute, or as its turn comes: of 10,000 that wait, each within
 * three (`supervisors/vpn/invitations.ts`). One that has not for so long, in ms, has found it, or is away: what failed
 * before is of no concern any more.
 */
export const PROBLEM_MS_MAX = 300_000;

/** Addresses in what it says. */
const ADDRESSES = /\b\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?|(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?:\/\d{1,3})?/giu;

/** What it is made of. */
export interface NetclientOptions {
  readonly node: NodeId;
  /** Of the agent's data. */
  readonly directory: string;
  readonly clock: SessionClock;
  readonly log: Log;
  /** Environment of the program: where it is found. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The client, to be told. */
export interface Netclient {
  /**
   * Enters this network, and leaves another that it had entered for an admin. Does nothing more for the same order
   * again.
   */
  told(order: Extract<AdminVpnFrame, { type: 'netmaker-join' }>): void;
  /** Why it joins no VPN, for health; null: nothing is known to be wrong. */
  note(): string | null;
  /** Ends the program that runs. */
  close(): Promise<void>;
}

/** Nothing is run before an order. */
export function createNetclient({ node, directory, clock, log, env = process.env }: NetclientOptions): Netclient {
  const statePath = join(directory, NETMAKER_FILE);
  const note = noting(statePath, log);
  const ending = new AbortController();
  let problem: string | null = null;
  let toldAtMs = -Infinity;
  let next: Extract<AdminVpnFrame, { type: 'netmaker-join' }> | null = null;
  let running: Promise<void> | null = null;
  let done: { readonly network: string; readonly token: string; readonly atMs: number } | null = null;

  async function enter({ network, token }: { readonly network: string; readonly token: string }): Promise<void> {
    if (done?.network === network && done.token === token && clock.nowMs() - done.atMs < SETTLED_MS) return;
    const entered = enteredNetwork(statePath);
    const hasLeft = entered !== null && entered !== network && (await leaveFormer(entered, log, env, ending.signal));
    if (ending.signal.aborted) return; // the former one may not be left
    // Before the run, which may fail and have entered all the same. One that could not be left stays noted until then.
    if (entered === null || hasLeft) note(network);
    // By its name the admin knows whose host this is.
    const failed = await runProgram(['join', '-t', token, '-o', `node-${node}`], [token], env, ending.signal);
    if (ending.signal.aborted) return;
    if (failed !== null) {
      if (failed !== problem)
        log.warn({ problem: failed }, 'This machine does not join the VPN: everything else works');
      problem = failed;
      return;
    }
    problem = null;
    if (enteredNetwork(statePath) !== network) note(network);
    done = { network, token, atMs: clock.nowMs() };
    log.info({ network }, 'This machine has asked Netmaker into the VPN of its cluster');
  }

  async function work(): Promise<void> {
    while (next !== null && !ending.signal.aborted) {
      const order = next;
      next = null;
      await enter(order);
    }
    running = null;
  }

  return {
    told(order) {
      next = order;
      toldAtMs = clock.nowMs();
      running ??= work();
    },
    note: () =>
      problem === null || clock.nowMs() - toldAtMs >= PROBLEM_MS_MAX ? null : `This machine joins no VPN: ${problem}`,
    async close() {
      ending.abort();
      await running;
    },
  };
}

/** Notes a network, so that it is left when the agent is told to enter another, or leaves. A problem is told once. */
function noting(statePath: string, log: Log): (network: string) => void {
  let told: string | null = null;
  return (network) => {
    try {
      writeDurably(statePath, `${JSON.stringify({ network })}\n`);
      told = null;
    } catch (error) {
      const problem = (error as Error).message;
      if (problem !== told)
        log.warn({ problem }, 'The network that this machine has joined could not be noted: it is not left by itself');
      told = problem;
    }
  };
}

/**
 * Leaves the network that this agent has entered, and that of the cluster in which its node is by now, into which the
 * admin moves hosts by itself. Forgets it then. `clusterName` is null where none is known. Never rejects; what fails is
 * a warning.
 */
export async function leaveNetmaker(
  directory: string,
  clusterName: string | null,
  log: Log,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  const statePath = join(directory, NETMAKER_FILE);
  const entered = enteredNetwork(statePath);
  if (entered !== null) {
    const { signal } = new AbortController();
    const present = clusterName === null ? entered : networkOf(clusterName);
    if (entered !== present) await leaveFormer(entered, log, env, signal);
    const problem = await runProgram(['leave', present], [], env, signal);
    if (problem !== null) log.warn({ problem }, 'netclient did not leave the network of this machine');
  }
  try {
    rmSync(statePath, { force: true });
  } catch (error) {
    log.warn(
      {
        problem: (error as Error).message,
      },
      'What this machine knew of its Netmaker network could not be removed',
    );
  }
}

/** One that the admin mostly took it out of already. Whether it is left. */
async function leaveFormer(
  network: string,
  log: Log,
  env: NetclientOptions['env'],
  signal: AbortSignal,
): Promise<boolean> {
  const problem = await runProgram(['leave', network], [], env, signal);
  if (problem !== null) log.debug({ problem }, 'netclient did not leave the network that this machine was in before');
  return problem === null;
}

function enteredNetwork(statePath: string): string | null {
  try {
    const { network } = JSON.parse(readFileSync(statePath, 'utf8')) as { network?: unknown };
    return typeof network === 'string' ? network : null;
  } catch {
    return null;
  }
}

/** Null: it ended well. Else why not, in one sentence without the secrets and addresses. */
function runProgram(
  args: readonly string[],
  secrets: readonly string[],
  env: NetclientOptions['env'],
  signal: AbortSignal,
): Promise<string | null> {
  const path = [env?.['PATH'] ?? '', '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
    .filter((one) => one !== '')
    .join(':');
  return new Promise((resolve) => {
    execute(
      PROGRAM,
      args,
      {
        env: { PATH: path, HOME: env?.['HOME'] ?? '/root' },
        timeout: RUN_MS_MAX,
        killSignal: 'SIGKILL',
        maxBuffer: OUTPUT_BYTES_MAX,
        signal,
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve(null);
        const { code, killed } = error as { code?: number | string | null; killed?: boolean };
        if (code === 'ENOENT') return resolve('netclient, by which Netmaker lets machines in, is not installed.');
        if (code === 'EACCES') return resolve('netclient may not be run by this agent.');
        if (signal.aborted) return resolve('netclient was ended.');
        if (killed === true) return resolve(`netclient did not end within ${RUN_MS_MAX / 1_000} s.`);
        const said = told(`${stdout}\n${stderr}`, secrets);
        return resolve(
          `netclient failed${code === undefined || code === null ? '' : ` (${code})`}${said === '' ? '' : `: ${said}`}.`,
        );
      },
    );
  });
}

/** Its last line, without what nobody should read. */
function told(output: string, secrets: readonly string[]): string {
  const last =
    output
      .split('\n')
      .map((line) => line.trim())
      .findLast((line) => line !== '') ?? '';
  return secrets
    .reduce((text, secret) => text.replaceAll(secret, '…'), last)
    .replaceAll(ADDRESSES, '…')
    .replaceAll(/[^\x20-\x7e…]+/gu, ' ')
    .slice(0, TOLD_CHARACTERS_MAX);
}
