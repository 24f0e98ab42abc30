/**
 * Opens a WireGuard interface: takes over the one that is there, else makes one in the kernel, else in user space, else
 * says why there can be none.
 */
import { accessSync, constants, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bringUp, deleteLink, readLink } from './addresses.ts';
import type { Link, Reach } from './addresses.ts';
import type { DeviceOptions, OpenedDevice, WireguardDevice } from './device.ts';
import { KernelControls } from './kernel.ts';
import { DEVICE_LIMITS } from './limits.ts';
import type { DeviceLimits } from './limits.ts';
import { DeviceProblem } from './problem.ts';
import { ProgrammedDevice } from './programmed-device.ts';
import type { Controls, InterfaceState } from './programmed-device.ts';
import { LINUX, ProgramFailure, run } from './programs.ts';
import type { Machine } from './programs.ts';
import { checkName, checkOptions } from './requests.ts';
import { endInterface, isRunning, opened, startUserSpace, sweepSocket, UserSpaceControls } from './user-space.ts';

/** Bit of the right to change networks in the sets of /proc/PID/status. Source: capabilities(7), linux/capability.h. */
const CAP_NET_ADMIN_BIT = 12n;

/** What `ip` says where the kernel has no WireGuard. */
const NO_WIREGUARD = /Unknown device type|Operation not supported/u;

/** What may differ from an ordinary machine. */
export interface Place {
  readonly machine?: Partial<Machine>;
  readonly limits?: Partial<DeviceLimits>;
}

/**
 * The interface, up, with its key, port and MTU. One of that name that WireGuard has is adopted with its peers when key
 * and port are the same, and made anew otherwise; one of another kind is left alone, and the problem. Never rejects.
 */
export async function openDevice(options: DeviceOptions, place: Place = {}): Promise<OpenedDevice> {
  const reach = reachOf(place);
  try {
    checkOptions(options);
    checkRights();
    const found = await settled(options.name, reach);
    const adopted = found === null ? null : await adopt(options, found, reach);
    return { ok: true, device: adopted ?? (await make(options, reach)) };
  } catch (error) {
    return { ok: false, problem: problemOf(error) };
  }
}

/**
 * Removes a WireGuard interface by its name, whoever made it, also when nobody runs that had it open. None of that
 * name: nothing happens. Rejects with a `DeviceProblem`.
 */
export async function removeDevice(name: string, place: Place = {}): Promise<void> {
  const reach = reachOf(place);
  checkName(name);
  const found = await settled(name, reach);
  if (found === null && !(await isRunning(name, reach))) await sweepSocket(name, reach);
  if (found === null) return;
  checkRights();
  await controlsOf(name, found).end();
}

function reachOf({ machine, limits }: Place): Reach {
  return { machine: { ...LINUX, ...machine }, limits: { ...DEVICE_LIMITS, ...limits } };
}

/** An interface that is there, and what can program it; null: it is none of WireGuard's. */
interface Found {
  readonly link: Link;
  readonly controls: Controls | null;
}

/**
 * The interface as it stays: one of wireguard-go whose program was killed is there for a moment more, also when nobody
 * listens for it any more, and would be taken for somebody else's.
 */
async function settled(name: string, reach: Reach): Promise<Found | null> {
  const deadline = performance.now() + reach.limits.goneMsMax;
  for (;;) {
    const link = await readLink(name, reach);
    if (link === null) return null;
    if (link.kind === 'wireguard') return { link, controls: new KernelControls(name, reach) };
    if (link.kind !== 'tun') return { link, controls: null };
    if (await isRunning(name, reach)) return { link, controls: new UserSpaceControls(name, reach) };
    if (performance.now() > deadline) return { link, controls: null };
    await delay(reach.limits.lookMs);
  }
}

function controlsOf(name: string, { controls }: Found): Controls {
  if (controls === null)
    throw new DeviceProblem(`there is an interface ${name} that is none of WireGuard's: remove or rename it`);
  return controls;
}

/** The interface that is there as a device; null when it was another's or an older one's, and is gone now. */
async function adopt(options: DeviceOptions, found: Found, reach: Reach): Promise<WireguardDevice | null> {
  const { link } = found;
  const controls = controlsOf(options.name, found);
  const state = await controls.read().catch(() => null); // one that does not answer is of no use
  if (state === null || !isOurs(state, options)) {
    await controls.end();
    return null;
  }
  if (!link.isUp || link.mtu !== options.mtu) await bringUp(options.name, options.mtu, reach);
  return new ProgrammedDevice(options, state, controls, reach);
}

function isOurs({ privateKey, listenPort }: InterfaceState, options: DeviceOptions): boolean {
  return privateKey === options.privateKey && listenPort === options.listenPort;
}

async function make(options: DeviceOptions, reach: Reach): Promise<WireguardDevice> {
  const noKernel = await madeInKernel(options, reach);
  if (noKernel === null) return new ProgrammedDevice(options, null, new KernelControls(options.name, reach), reach);
  checkUserSpace(reach.machine, noKernel);
  return new ProgrammedDevice(options, null, await makeInUserSpace(options, noKernel, reach), reach);
}

/**
 * Null: the kernel has it now. Else why it has not, as half a sentence; anything but the lack of WireGuard is a
 * `DeviceProblem`.
 */
async function madeInKernel(
  { name, privateKey, listenPort, mtu }: DeviceOptions,
  reach: Reach,
): Promise<string | null> {
  try {
    await run(reach.machine.ip, ['link', 'add', 'dev', name, 'type', 'wireguard'], reach.limits);
  } catch (error) {
    if (error instanceof ProgramFailure && NO_WIREGUARD.test(error.said)) return 'this kernel has no WireGuard';
    throw error;
  }
  try {
    await new KernelControls(name, reach).begin(privateKey, listenPort);
    await bringUp(name, mtu, reach);
    return null;
  } catch (error) {
    await deleteLink(name, reach).catch(() => {}); // the first problem is the one to tell
    if (error instanceof ProgramFailure && error.isAbsent) return `this kernel has WireGuard, but ${error.message}`;
    throw error;
  }
}

async function makeInUserSpace(
  { name, privateKey, listenPort, mtu }: DeviceOptions,
  noKernel: string,
  reach: Reach,
): Promise<Controls> {
  if (!(await sweepSocket(name, reach)))
    throw new DeviceProblem(
      `another network namespace of this machine has a WireGuard interface ${name}, and their sockets are in one directory`,
    );
  try {
    const controls = await startUserSpace(name, reach);
    await bringUp(name, mtu, reach);
    await opened(controls, reach); // what is set before cannot be refused, such as a port that is in use
    await controls.begin(privateKey, listenPort);
    return controls;
  } catch (error) {
    await endInterface(name, reach).catch(() => {}); // the first problem is the one to tell
    if (error instanceof ProgramFailure && error.isAbsent)
      throw new DeviceProblem(
        `${noKernel}, and ${error.message}, or a kernel with WireGuard (Linux 5.6 or newer) and wireguard-tools`,
        { cause: error },
      );
    throw error;
  }
}

/** Throws a `DeviceProblem` where no interface could be made. */
function checkRights(): void {
  if (process.platform !== 'linux') throw new DeviceProblem('WireGuard interfaces are made on Linux only');
  const [, hex = '0'] = /^CapEff:\s*([\da-f]+)$/mu.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
  if (((BigInt(`0x${hex}`) >> CAP_NET_ADMIN_BIT) & 1n) === 0n)
    throw new DeviceProblem(
      'a WireGuard interface needs root or the capability CAP_NET_ADMIN: run it as root, or give it the capability',
    );
}

/**
 * Throws a `DeviceProblem` where wireguard-go could not work. It is started with its output closed, so it could not
 * tell.
 */
function checkUserSpace({ tun, sockets }: Machine, noKernel: string): void {
  const tunCode = accessCode(tun);
  if (tunCode === 'ENOENT')
    throw new DeviceProblem(
      `${noKernel}, and there is no ${tun} for wireguard-go: load the module tun, or give the container the device (--device ${tun})`,
    );
  if (tunCode !== null)
    throw new DeviceProblem(
      `${noKernel}, and ${tun} may not be opened for wireguard-go (${tunCode}): let the user of this program read and write it`,
    );
  const code = accessCode(sockets);
  const socketsCode = code === 'ENOENT' ? accessCode(dirname(sockets)) : code;
  if (socketsCode !== null)
    throw new DeviceProblem(
      `${noKernel}, and wireguard-go could make no socket in ${sockets} (${socketsCode}): make the directory, and give it to the user of this program`,
    );
}

/** Why it may not be read and written; null: it may. */
function accessCode(path: string): string | null {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'no reason given';
  }
}

function problemOf(error: unknown): string {
  return error instanceof DeviceProblem
    ? error.message
    : `the WireGuard interface could not be opened (${(error as NodeJS.ErrnoException).code ?? 'no reason given'})`;
}
