/**
 * WireGuard in user space: wireguard-go, one detached program an interface, which outlives whoever started it,
 * programmed over its socket.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deleteLink } from './addresses.ts';
import type { Reach } from './addresses.ts';
import type { DevicePeer } from './device.ts';
import { hexOfKey } from './keys.ts';
import { DeviceGone, DeviceProblem, DeviceRefusal } from './problem.ts';
import type { Controls, EndpointChange, InterfaceState } from './programmed-device.ts';
import { absentProgram, programEnvironment } from './programs.ts';
import { ask } from './uapi.ts';
import type { TakeLine } from './uapi.ts';
import { StateReader } from './uapi-state.ts';

/** Sockets of the network namespace of this process. Source: proc_pid_net(5). */
const UNIX_SOCKETS = '/proc/net/unix';

/** Programs the interface of this name, which a running wireguard-go has. */
export class UserSpaceControls implements Controls {
  readonly backend = 'user-space';
  readonly #name: string;
  readonly #reach: Reach;
  /** Questions without an answer since the last one that had any. */
  #unanswered = 0;

  constructor(name: string, reach: Reach) {
    this.#name = name;
    this.#reach = reach;
  }

  get #path(): string {
    return socketPath(this.#name, this.#reach);
  }

  async setPrivateKey(privateKey: string): Promise<void> {
    await this.#set([`private_key=${hexOfKey(privateKey)}`]);
  }

  /** The key and the port, and no peers. */
  async begin(privateKey: string, listenPort: number): Promise<void> {
    await this.#set([`private_key=${hexOfKey(privateKey)}`, `listen_port=${listenPort}`, 'replace_peers=true']);
  }

  async apply(set: readonly DevicePeer[], removed: readonly string[]): Promise<void> {
    await this.#set([
      ...removed.flatMap((publicKey) => [`public_key=${hexOfKey(publicKey)}`, 'remove=true']),
      ...set.flatMap(({ publicKey, allowedIps, endpoint, keepaliveSeconds }) => [
        `public_key=${hexOfKey(publicKey)}`,
        'replace_allowed_ips=true',
        ...allowedIps.map((range) => `allowed_ip=${range}`),
        ...(endpoint === null ? [] : [`endpoint=${endpoint}`]),
        `persistent_keepalive_interval=${keepaliveSeconds}`,
      ]),
    ]);
  }

  async setEndpoints(changes: readonly EndpointChange[]): Promise<void> {
    await this.#set(
      changes.flatMap(({ publicKey, endpoint, isSentNow, keepaliveSeconds }) => {
        const peer = [`public_key=${hexOfKey(publicKey)}`, 'update_only=true'];
        return [...peer, `endpoint=${endpoint}`, ...(isSentNow ? sendNow(peer, keepaliveSeconds) : [])];
      }),
    );
  }

  async read(): Promise<InterfaceState> {
    const reader = new StateReader(this.#reach.limits.peersMax);
    await this.#ask('get=1\n\n', reader.take);
    return reader.state();
  }

  watch(ended: (problem: string) => void): () => void {
    const socket = connect(this.#path).unref();
    socket.on('error', () => {});
    socket.once('data', () => socket.destroy()); // it says nothing unasked: this is another program
    socket.on('close', () => ended(`the interface ${this.#name} is gone: its program wireguard-go ended`));
    return () => socket.removeAllListeners('close').destroy();
  }

  async end(): Promise<void> {
    await endInterface(this.#name, this.#reach);
  }

  async #set(lines: readonly string[]): Promise<void> {
    await this.#ask(`set=1\n${lines.join('\n')}\n\n`, () => null);
  }

  async #ask(request: string, take: TakeLine): Promise<void> {
    const { limits } = this.#reach;
    const outcome = await ask(this.#path, request, take, limits);
    this.#unanswered = outcome.kind === 'failed' && outcome.isSilent === true ? this.#unanswered + 1 : 0;
    // One that is only late is taken over again as it is, one that hangs is replaced.
    if (this.#unanswered >= limits.unansweredMax)
      throw new DeviceGone(`the interface ${this.#name} is lost: its program wireguard-go does not answer any more`);
    if (outcome.kind === 'gone')
      throw new DeviceGone(`the interface ${this.#name} is gone: its program wireguard-go ended`);
    if (outcome.kind === 'refused')
      throw new DeviceRefusal(`wireguard-go refused for the interface ${this.#name}: ${outcome.reason}`);
    if (outcome.kind === 'failed')
      throw new DeviceProblem(`wireguard-go failed for the interface ${this.#name}: ${outcome.reason}`);
  }
}

/**
 * Starts wireguard-go for a new interface, and waits until it answers. Rejects with a `DeviceProblem`, and leaves
 * nothing then.
 */
export async function startUserSpace(name: string, reach: Reach): Promise<UserSpaceControls> {
  const { machine, limits } = reach;
  const child = begun(machine.wireguardGo, name);
  child.unref();
  const end: { problem: DeviceProblem | null } = { problem: null };
  child.once('error', (error: NodeJS.ErrnoException) => {
    end.problem = error.code === 'ENOENT' ? absentProgram(machine.wireguardGo) : notStarted(error);
  });
  child.once('exit', (status, signal) => {
    end.problem ??= new DeviceProblem(`wireguard-go did not start: it ended with ${signal ?? `status ${status}`}`);
  });
  const controls = new UserSpaceControls(name, reach);
  const deadline = performance.now() + limits.startMsMax;
  for (;;) {
    if (
      await controls.read().then(
        () => true,
        () => false,
      )
    )
      return controls;
    if (end.problem !== null) throw end.problem;
    if (performance.now() > deadline) {
      child.kill('SIGKILL');
      await sweepSocket(name, reach);
      throw new DeviceProblem(`wireguard-go did not start: it does not answer after ${limits.startMsMax} ms`);
    }
    await delay(limits.lookMs);
  }
}

/** Throws a `DeviceProblem` for what Node does not tell by an event, such as a system without memory for a process. */
function begun(program: string, name: string): ChildProcess {
  try {
    return spawn(program, ['-f', name], {
      detached: true,
      stdio: 'ignore',
      cwd: '/',
      env: { ...programEnvironment(), LOG_LEVEL: 'silent' },
    });
  } catch (error) {
    throw notStarted(error);
  }
}

function notStarted(error: unknown): DeviceProblem {
  const { code = 'no reason given' } = error as NodeJS.ErrnoException;
  return new DeviceProblem(`wireguard-go could not be started (${code})`, { cause: error });
}

/** Waits until the interface has its UDP port open, on whichever it may be: what is set before cannot be refused. */
export async function opened(controls: UserSpaceControls, { limits }: Reach): Promise<void> {
  const deadline = performance.now() + limits.startMsMax;
  while ((await controls.read()).listenPort === null) {
    if (performance.now() > deadline)
      throw new DeviceProblem(`wireguard-go opened no UDP port within ${limits.startMsMax} ms`);
    await delay(limits.lookMs);
  }
}

/** Whether a program listens for this interface, in whichever network namespace it is. */
export function isRunning(name: string, reach: Reach): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(name, reach));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

/**
 * Waits until nobody listens for this interface any more, and removes what a program that was killed leaves. Whether
 * nobody does.
 */
export async function sweepSocket(name: string, reach: Reach): Promise<boolean> {
  const deadline = performance.now() + reach.limits.endMsMax;
  while (await isRunning(name, reach)) {
    if (performance.now() > deadline) return false;
    await delay(reach.limits.lookMs);
  }
  await rm(socketPath(name, reach), { force: true }).catch(() => {}); // one that stays does no harm
  return true;
}

/**
 * Removes an interface and ends its program: by itself, as it ends without its interface, or by force when it hangs.
 */
export async function endInterface(name: string, reach: Reach): Promise<void> {
  await deleteLink(name, reach);
  if (await sweepSocket(name, reach)) return;
  for (const id of await holdersOf(socketPath(name, reach))) {
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // it ended meanwhile
    }
  }
  await sweepSocket(name, reach);
}

function socketPath(name: string, { machine }: Reach): string {
  return join(machine.sockets, `${name}.sock`);
}

/**
 * A keepalive is sent at once when they are switched on: so they are switched off before. One who has none is asked
 * twice, as the last word counts.
 */
function sendNow(peer: readonly string[], keepaliveSeconds: number): string[] {
  const off = 'persistent_keepalive_interval=0';
  return keepaliveSeconds > 0
    ? [off, `persistent_keepalive_interval=${keepaliveSeconds}`]
    : [off, 'persistent_keepalive_interval=1', ...peer, off];
}

/**
 * Ids of the processes that this one may look at and that hold a socket bound to this path, in the network namespace of
 * this one: exactly these may be ended for it, whatever they are called. Never rejects.
 */
async function holdersOf(socketPath: string): Promise<number[]> {
  const links = new Set(
    (await readFile(UNIX_SOCKETS, 'latin1').catch(() => ''))
      .split('\n')
      .map((line) => line.trim().split(/\s+/u))
      .filter((fields) => fields[7] === socketPath)
      .map((fields) => `socket:[${fields[6]}]`),
  );
  if (links.size === 0) return [];
  const processes = (await readdir('/proc').catch(() => [])).filter((entry) => /^\d+$/u.test(entry));
  const held = await Promise.all(processes.map((id) => holdsOne(join('/proc', id, 'fd'), links)));
  return processes.filter((_, index) => held[index]).map(Number);
}

async function holdsOne(directory: string, links: ReadonlySet<string>): Promise<boolean> {
  for (const file of await readdir(directory).catch(() => [])) {
    if (links.has(await readlink(join(directory, file)).catch(() => ''))) return true;
  }
  return false;
}
