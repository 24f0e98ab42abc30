/** What an agent says of its machine: facts that its admin shows, filters by, and never decides anything by. */
import { z } from 'zod';
import { wireText } from './text.ts';

/** A host name as DNS bounds it, in characters. Source: RFC 1035, 2.3.4. */
const HOSTNAME_CHARS_MAX = 253;

/** Longest of the other texts, in characters: `PRETTY_NAME` and the names of processors are the longest. */
const SHORT_CHARS_MAX = 64;
const LONG_CHARS_MAX = 128;

/** Processors that a machine may have: four times what the kernel can be built for (NR_CPUS of x86). */
const CPUS_MAX = 32_768;

/**
 * An Ed25519 key as lines of OpenSSH have it, without a comment: 51 bytes, of which the first 19 are the same for each.
 * Nothing else gets into files of ssh. Source: RFC 8709, 4.
 */
const SSH_HOST_KEY = /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[\d+/A-Za-z]{43}$/u;

const short = () => wireText().min(1).max(SHORT_CHARS_MAX);
const long = () => wireText().min(1).max(LONG_CHARS_MAX);

/** Facts of a machine. What it does not tell is null. Field names are those of the API. */
export const NodeFacts = z.object({
  hostname: wireText().min(1).max(HOSTNAME_CHARS_MAX).describe('As the kernel has it; it may be a full domain name.'),
  os: short().describe('ID of os-release, such as debian; linux where there is no such file.'),
  os_version: short().nullable().describe('VERSION_ID of os-release, such as 12.'),
  os_name: long().nullable().describe('PRETTY_NAME of os-release.'),
  kernel: long().describe('Release of the kernel, as uname -r prints it.'),
  arch: short().describe('Architecture, as uname -m prints it: x86_64, aarch64.'),
  cpu_model: long().nullable(),
  cpu_count: z.int().min(1).max(CPUS_MAX).describe('Processors that the machine has online.'),
  memory_bytes: z.int().min(1).describe('MemTotal of the kernel, in bytes.'),
  virtualization: short()
    .nullable()
    .describe('As systemd-detect-virt names it: kvm, docker, lxc, wsl, none; null where that cannot be told.'),
  boot_id: wireText()
    .regex(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u)
    .nullable()
    .describe('Another one after each boot.'),
  time_zone: short().nullable().describe('IANA name, such as Europe/Berlin.'),
  ssh_host_key: wireText()
    .regex(SSH_HOST_KEY)
    .nullable()
    .describe('Public host key of the agent’s SSH server, as known_hosts has it; null where it has none.'),
});
export type NodeFacts = Readonly<z.infer<typeof NodeFacts>>;

/** The same as agents tell it: one before version 8 says nothing of its host key. */
export const ToldFacts = NodeFacts.extend({ ssh_host_key: NodeFacts.shape.ssh_host_key.optional() });
export type ToldFacts = Readonly<z.infer<typeof ToldFacts>>;

/** Whether both say the same of the machine; null: nothing is known. */
export function isSameFacts(one: NodeFacts | null, other: NodeFacts | null): boolean {
  if (one === null || other === null) return one === other;
  return (Object.keys(NodeFacts.shape) as (keyof NodeFacts)[]).every((field) => one[field] === other[field]);
}
