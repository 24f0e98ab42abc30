/**
 * What this machine runs on, in the words of systemd-detect-virt(1), from files alone: no program is started, and no
 * instruction of the processor is asked.
 */
import { existsSync } from 'node:fs';
import type { HostFiles } from '../observability/metrics/host/files.ts';

/** Beginnings of what DMI says of who made the machine. Source: systemd, src/basic/virt.c, detect_vm_dmi_vendor. */
const DMI_VENDORS: readonly (readonly [string, string])[] = [
  ['KVM', 'kvm'],
  ['OpenStack', 'kvm'],
  ['KubeVirt', 'kvm'],
  ['Amazon EC2', 'amazon'],
  ['Google Compute Engine', 'google'],
  ['QEMU', 'qemu'],
  ['VMware', 'vmware'],
  ['VMW', 'vmware'],
  ['innotek GmbH', 'oracle'],
  ['VirtualBox', 'oracle'],
  ['Xen', 'xen'],
  ['Bochs', 'bochs'],
  ['Parallels', 'parallels'],
  ['BHYVE', 'bhyve'],
  ['Hyper-V', 'microsoft'],
  ['Apple Virtualization', 'apple'],
];

/** Where it says so, in this order. Source: as above. */
const DMI_FILES = ['product_name', 'sys_vendor', 'board_vendor', 'bios_vendor', 'product_version'];

/** A word for a container, as its manager leaves it. */
const CONTAINER_WORD = /^[a-z\d-]{1,32}$/u;

/** A container first, then a virtual machine; `none` for hardware; null where that cannot be told. */
export function virtualizationOf(host: HostFiles, cpuInfo: string): string | null {
  return containerOf(host) ?? machineOf(host, cpuInfo);
}

function containerOf(host: HostFiles): string | null {
  if (/microsoft|wsl/iu.test(host.procOrNull('sys/kernel/osrelease') ?? '')) return 'wsl';
  const told = host.rootOrNull('run/systemd/container') ?? environmentOf(host);
  if (told !== null && told !== '') return CONTAINER_WORD.test(told) ? told : 'container-other';
  if (existsSync(`${host.roots.root}/run/.containerenv`)) return 'podman';
  if (existsSync(`${host.roots.root}/.dockerenv`)) return 'docker';
  return existsSync(`${host.roots.proc}/vz`) && !existsSync(`${host.roots.proc}/bc`) ? 'openvz' : null;
}

/** What the first process was told; only root may read it. */
function environmentOf(host: HostFiles): string | null {
  const variables = host.procOrNull('1/environ')?.split('\0') ?? [];
  return variables.find((variable) => variable.startsWith('container='))?.slice('container='.length) ?? null;
}

function machineOf(host: HostFiles, cpuInfo: string): string | null {
  if (cpuInfo === '') return null;
  const flags = /^flags\s*:.*$/mu.exec(cpuInfo)?.[0];
  if (flags === undefined) return fromDeviceTree(host);
  if (!/\shypervisor(?:\s|$)/u.test(flags)) return 'none';
  const hypervisor = host.sysOrNull('hypervisor/type');
  if (hypervisor === 'xen') return 'xen';
  const clocks = host.sysOrNull('devices/system/clocksource/clocksource0/available_clocksource') ?? '';
  const vendor = dmiVendorOf(host);
  if (vendor !== null && vendor !== 'qemu') return vendor;
  if (clocks.includes('kvm-clock')) return 'kvm';
  if (clocks.includes('hyperv_clocksource')) return 'microsoft';
  return vendor ?? 'vm-other';
}

function dmiVendorOf(host: HostFiles): string | null {
  for (const file of DMI_FILES) {
    const text = host.sysOrNull(`class/dmi/id/${file}`);
    const vendor = DMI_VENDORS.find(([beginning]) => text?.startsWith(beginning) === true);
    if (vendor !== undefined) return vendor[1];
  }
  return null;
}

/** Of processors other than x86. */
function fromDeviceTree(host: HostFiles): string {
  const compatible = host.procOrNull('device-tree/hypervisor/compatible') ?? '';
  if (compatible.includes('kvm')) return 'kvm';
  if (compatible.includes('xen')) return 'xen';
  return dmiVendorOf(host) ?? 'none';
}
