/** What this machine is, read from the files of its kernel and distribution: some 1 ms, and no program is started. */
import { existsSync, readlinkSync } from 'node:fs';
import { availableParallelism, hostname, machine, release } from 'node:os';
import { NodeFacts } from '../../transport/protocol/facts.ts';
import { HOST_ROOTS, HostFiles, type HostRoots } from '../observability/metrics/host/files.ts';
import { osReleaseOf } from '../observability/metrics/host/os-release.ts';
import { virtualizationOf } from './virtualization.ts';

/** Facts of this machine now, within the bounds of the wire, and the host key of the SSH server here. */
export function machineFacts(sshHostKey: string | null, roots: HostRoots = HOST_ROOTS): NodeFacts {
  const host = new HostFiles(roots);
  const distribution = osReleaseOf(host) ?? new Map<string, string>();
  const cpuInfo = host.procOrNull('cpuinfo') ?? '';
  return NodeFacts.parse({
    hostname: fit(host.procOrNull('sys/kernel/hostname'), 253) ?? fit(hostname(), 253) ?? 'localhost',
    os: fit(distribution.get('id'), 64) ?? 'linux',
    os_version: fit(distribution.get('version_id'), 64),
    os_name: fit(distribution.get('pretty_name'), 128),
    kernel: fit(host.procOrNull('sys/kernel/osrelease'), 128) ?? release(),
    arch: machine(),
    cpu_model: fit(cpuModelOf(cpuInfo), 128),
    cpu_count: [...cpuInfo.matchAll(/^processor\s*:/gmu)].length || availableParallelism(),
    memory_bytes: memoryBytesOf(host),
    virtualization: fit(virtualizationOf(host, cpuInfo), 64),
    boot_id: bootIdOf(host),
    time_zone: fit(timeZoneOf(host), 64),
    ssh_host_key: sshHostKey,
  });
}

/** At most so many characters, one line; null when nothing is left. */
function fit(text: string | null | undefined, charsMax: number): string | null {
  const words = (text ?? '').replaceAll(/\s+/gu, ' ').replaceAll('\0', '').trim();
  return words === '' ? null : words.slice(0, charsMax).toWellFormed();
}

/** On ARM the kernel names the board, or the chip, in place of the processor. */
function cpuModelOf(cpuInfo: string): string | undefined {
  return ['model name', 'Model', 'Hardware']
    .map((name) => new RegExp(`^${name}\\s*:\\s*(.*)$`, 'mu').exec(cpuInfo)?.[1])
    .find((model) => model !== undefined);
}

/** A kernel always says it. */
function memoryBytesOf(host: HostFiles): number {
  const kibibytes = /^MemTotal:\s*(\d+) kB$/mu.exec(host.procOrNull('meminfo') ?? '')?.[1];
  return Math.max(1, Number(kibibytes ?? 0) * 1_024);
}

function bootIdOf(host: HostFiles): string | null {
  const id = host.procOrNull('sys/kernel/random/boot_id');
  return NodeFacts.shape.boot_id.safeParse(id).success ? id : null;
}

/** Without the file it is UTC; one that is no link says nothing of its name. Source: localtime(5). */
function timeZoneOf(host: HostFiles): string | null {
  const path = `${host.roots.root}/etc/localtime`;
  try {
    const zone = /\/zoneinfo\/(?:posix\/|right\/)?(.+)$/u.exec(readlinkSync(path))?.[1];
    if (zone !== undefined) return zone;
  } catch {
    if (!existsSync(path)) return 'UTC';
  }
  return host.rootOrNull('etc/timezone');
}
