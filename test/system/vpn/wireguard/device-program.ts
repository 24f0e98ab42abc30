/**
 * A process that owns WireGuard interfaces where it stands, as an agent does, and does with them what its parent says.
 */
import type { DeviceOptions, WireguardDevice } from '../../../../transport/vpn/wireguard/device.ts';
import { KernelControls } from '../../../../transport/vpn/wireguard/kernel.ts';
import { DEVICE_LIMITS } from '../../../../transport/vpn/wireguard/limits.ts';
import { openDevice, removeDevice, type Place } from '../../../../transport/vpn/wireguard/open.ts';
import { LINUX } from '../../../../transport/vpn/wireguard/programs.ts';
import { ProgrammedDevice } from '../../../../transport/vpn/wireguard/programmed-device.ts';

/** What a parent says. */
export interface Order {
  readonly id: number;
  readonly to: 'open' | 'program-by-kernel' | 'remove-device' | keyof WireguardDevice;
  readonly device: number;
  readonly args: readonly unknown[];
}

/** What it hears: the end of an order, or that an interface was lost. */
export type Report =
  | { readonly id: number; readonly value?: unknown; readonly problem?: string; readonly tookMs: number }
  | { readonly lost: number; readonly problem: string };

const devices: WireguardDevice[] = [];

process.on('message', (order: Order) => {
  const beganMs = performance.now();
  const answer = (end: { value?: unknown; problem?: string }): void =>
    report({ id: order.id, ...end, tookMs: performance.now() - beganMs });
  carryOut(order).then(
    (value) => answer({ value }),
    (error: unknown) => answer({ problem: error instanceof Error ? error.message : String(error) }),
  );
});

process.on('disconnect', () => process.exit());

async function carryOut({ to, device, args }: Order): Promise<unknown> {
  if (to === 'open') {
    const opened = await openDevice(...(args as [DeviceOptions, Place]));
    return opened.ok ? { ok: true, ...keep(opened.device) } : opened;
  }
  if (to === 'program-by-kernel') return programByKernel(...(args as [DeviceOptions]));
  if (to === 'remove-device') return removeDevice(...(args as [string, Place]));
  if (to === 'refusals') {
    const { peers, addresses } = devices[device]?.refusals() ?? { peers: [], addresses: [] };
    return { peers: [...peers], addresses: [...addresses] };
  }
  const method = devices[device]?.[to];
  if (typeof method !== 'function') throw new Error(`a device has no ${to}`);
  return (method as (...words: readonly unknown[]) => Promise<unknown>).apply(devices[device], [...args]);
}

/** All of the kernel's way but the making of the interface: `wg` asks wireguard-go as it asks the kernel. */
async function programByKernel(options: DeviceOptions): Promise<unknown> {
  const reach = { machine: LINUX, limits: DEVICE_LIMITS };
  const controls = new KernelControls(options.name, reach);
  await controls.begin(options.privateKey, options.listenPort);
  return keep(new ProgrammedDevice(options, await controls.read(), controls, reach));
}

function keep(device: WireguardDevice): { index: number; backend: string; isAdopted: boolean; listenPort: number } {
  const index = devices.push(device) - 1;
  device.onLost((problem) => report({ lost: index, problem }));
  return { index, backend: device.backend, isAdopted: device.isAdopted, listenPort: device.listenPort };
}

function report(message: Report): void {
  process.send?.(message);
}
