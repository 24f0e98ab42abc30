/**
 * Owners of WireGuard interfaces: processes on machines of a test's internet, which can be killed while their
 * interfaces live on.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DeviceOptions, WireguardDevice } from '../../../../transport/vpn/wireguard/device.ts';
import { makeKeyPair, type KeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import type { Place } from '../../../../transport/vpn/wireguard/open.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import { processIds, procFile } from '../../../support/processes.ts';
import { until } from '../../../support/until.ts';
import type { Scope } from '../../../support/scope.ts';
import type { Order, Report } from './device-program.ts';

const PROGRAM = fileURLToPath(new URL('device-program.ts', import.meta.url));

/** A device of another process. */
export interface HostedDevice extends Omit<WireguardDevice, 'onLost' | 'refusals'> {
  refusals(): Promise<HostedRefusals>;
  /** What was said when it was lost. */
  readonly lost: Promise<string>;
}

/** DeviceRefusals as JSON. */
export interface HostedRefusals {
  readonly peers: readonly (readonly [string, string])[];
  readonly addresses: readonly (readonly [string, string])[];
}

/** How opening one ended. */
export type HostedOpening =
  | { readonly ok: true; readonly device: HostedDevice }
  | { readonly ok: false; readonly problem: string };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Such a process. */
export class DeviceHost {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #lost = new Map<number, (problem: string) => void>();
  #orders = 0;
  /** What the last order took there, in ms. */
  tookMs = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (report: Report) => this.#heard(report));
    child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the owner of the interface ended'));
    });
  }

  /** Starts one behind these words, such as those that lead onto a machine. It ends with the scope at the latest. */
  static start(scope: Scope, [command, ...words]: readonly [string, ...string[]]): DeviceHost {
    const child = spawn(command, [...words, process.execPath, PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    const host = new DeviceHost(child);
    scope.teardown(() => host.kill());
    return host;
  }

  /** As openDevice there. */
  async tryOpen(options: DeviceOptions, place: Place = {}): Promise<HostedOpening> {
    const opened = (await this.#order('open', [options, place])) as
      | { ok: true; index: number }
      | { ok: false; problem: string };
    return opened.ok ? { ok: true, device: this.#hosted(options, opened) } : opened;
  }

  /** The same where it must work. */
  async open(options: DeviceOptions, place: Place = {}): Promise<HostedDevice> {
    const opened = await this.tryOpen(options, place);
    if (!opened.ok) throw new Error(opened.problem);
    return opened.device;
  }

  /** The interface of this name as one that is programmed as those of the kernel are. */
  async programByKernel(options: DeviceOptions): Promise<HostedDevice> {
    return this.#hosted(options, (await this.#order('program-by-kernel', [options])) as { index: number });
  }

  /** As removeDevice there. */
  async removeDevice(name: string, place: Place = {}): Promise<void> {
    await this.#order('remove-device', [name, place]);
  }

  /** As kill -9. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  #hosted({ name }: DeviceOptions, { index, ...facts }: { index: number }): HostedDevice {
    const { promise: lost, resolve } = Promise.withResolvers<string>();
    this.#lost.set(index, resolve);
    const call = <
      To extends
        | 'setPrivateKey'
        | 'setAddresses'
        | 'setMtu'
        | 'setPathMtus'
        | 'readRooms'
        | 'apply'
        | 'setEndpoints'
        | 'read'
        | 'release'
        | 'remove',
    >(
      to: To,
    ) => ((...args: readonly unknown[]) => this.#order(to, args, index)) as WireguardDevice[To];
    return {
      name,
      ...(facts as Pick<WireguardDevice, 'backend' | 'isAdopted' | 'listenPort'>),
      lost,
      setPrivateKey: call('setPrivateKey'),
      setAddresses: call('setAddresses'),
      setMtu: call('setMtu'),
      setPathMtus: call('setPathMtus'),
      readRooms: call('readRooms'),
      apply: call('apply'),
      setEndpoints: call('setEndpoints'),
      read: call('read'),
      refusals: () => this.#order('refusals', [], index) as Promise<HostedRefusals>,
      release: call('release'),
      remove: call('remove'),
    };
  }

  #order(to: Order['to'], args: readonly unknown[], device = 0): Promise<unknown> {
    this.#orders += 1;
    const id = this.#orders;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, to, device, args } satisfies Order, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  #heard(report: Report): void {
    if ('lost' in report) {
      this.#lost.get(report.lost)?.(report.problem);
      return;
    }
    const waiting = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    this.tookMs = report.tookMs;
    if (report.problem === undefined) waiting?.resolve(report.value);
    else waiting?.reject(new Error(report.problem));
  }
}

/** One end of a tunnel between two machines. */
export interface End {
  readonly machine: Machine;
  readonly host: DeviceHost;
  readonly options: DeviceOptions;
  readonly pair: KeyPair;
  readonly device: HostedDevice;
  /** Of the interface. */
  readonly address: string;
  readonly address6: string;
  /** Where others find it. */
  readonly endpoint: string;
}

let ends = 0;

/** An open interface with addresses on this machine, for as long as the scope. `hostNumber` makes its addresses. */
export async function startEnd(scope: Scope, machine: Machine, hostNumber: number): Promise<End> {
  ends += 1;
  const pair = makeKeyPair();
  const options = {
    name: `wgd${process.pid % 1_000_000}x${ends}`,
    privateKey: pair.privateKey,
    listenPort: 41_000 + hostNumber,
    mtu: 1_420,
  };
  const host = DeviceHost.start(scope, machine.entry);
  scope.teardown(async () => {
    await machine.run('ip', ['link', 'delete', 'dev', options.name]).catch(() => {});
  }); // most tests leave it
  const device = await host.open(options);
  const [address, address6] = [`100.64.0.${hostNumber}`, `fd00:edfe::${hostNumber.toString(16)}`];
  await device.setAddresses([`${address}/24`, `${address6}/64`]);
  return {
    machine,
    host,
    options,
    pair,
    device,
    address,
    address6,
    endpoint: `${machine.address}:${options.listenPort}`,
  };
}

/** How one end knows another. */
export function peerOf(end: End, more: { readonly endpoint?: string | null; readonly keepaliveSeconds?: number } = {}) {
  return {
    publicKey: end.pair.publicKey,
    allowedIps: [`${end.address}/32`, `${end.address6}/128`],
    endpoint: end.endpoint,
    keepaliveSeconds: 0,
    ...more,
  };
}

/** The process of wireguard-go that has this interface. Throws when there is none. */
export function programOf(name: string): number {
  const found = processIds().find((pid) => isProgramOf(name, pid));
  if (found === undefined) throw new Error(`no program has ${name}`);
  return found;
}

/** Waits until no program has this interface any more: it ends by itself once the interface is gone. */
export async function hasEnded(name: string): Promise<void> {
  await until(`the program of ${name} has ended`, () => !processIds().some((pid) => isProgramOf(name, pid)));
}

function isProgramOf(name: string, pid: number): boolean {
  return procFile(pid, 'cmdline') === `wireguard-go\0-f\0${name}\0`;
}
