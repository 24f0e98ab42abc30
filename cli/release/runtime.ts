/** Node as it goes into a release: that of this machine or a given one, for the architecture that it says. */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ARCHITECTURES, type Architecture } from '../../transport/protocol/releases.ts';
import { EXIT, Problem } from '../problem.ts';

/** What an ELF header says of the machine. Source: System V ABI, e_machine: EM_X86_64 and EM_AARCH64. */
const MACHINES: Readonly<Record<Architecture, number>> = { 'linux-x64': 0x3e, 'linux-arm64': 0xb7 };

/**
 * A Node that is whole has more: one of a distribution that keeps most of itself in a library does not run elsewhere.
 */
const WHOLE_BYTES_MIN = 50_000_000;

/** `strip` has so long, in ms. */
const STRIP_MS_MAX = 60_000;

/** The architecture of this machine; null: none of those that releases are made for. */
export function ownArchitecture(): Architecture | null {
  return ARCHITECTURES.find((arch) => arch === `${process.platform}-${process.arch}`) ?? null;
}

/** Which file is the runtime of which architecture, out of `--runtime PATH` and `--runtime ARCH=PATH`. */
export function runtimesFrom(
  given: readonly string[],
  wanted: readonly Architecture[],
): ReadonlyMap<Architecture, string> {
  const runtimes = new Map<Architecture, string>();
  for (const one of given) {
    const [, named, path] = /^([a-z0-9]+-[a-z0-9]+)=(.+)$/u.exec(one) ?? [];
    const file = path ?? one;
    if (!existsSync(file)) throw new Problem(`--runtime names ${file}, which is not there`, EXIT.usage);
    const arch = architectureOf(file);
    if (arch === null || (named !== undefined && named !== arch))
      throw new Problem(
        `--runtime names ${file}, which is ${arch === null ? 'no program for Linux on x64 or arm64' : `a program for ${arch}`}`,
        EXIT.usage,
      );
    runtimes.set(arch, file);
  }
  for (const arch of wanted) if (!runtimes.has(arch)) runtimes.set(arch, ownRuntime(arch));
  return runtimes;
}

function ownRuntime(arch: Architecture): string {
  if (arch !== ownArchitecture())
    throw new Problem(
      `this machine has no Node for ${arch}: --runtime ${arch}=PATH names one (bin/node of the npm package node-${arch}, or of nodejs.org)`,
      EXIT.usage,
    );
  const file = realpathSync(process.execPath);
  if (statSync(file).size < WHOLE_BYTES_MIN)
    throw new Problem(
      `${file} is only a part of Node, and needs libraries of this machine: --runtime PATH names a whole one (bin/node of the npm package node-${arch}, or of nodejs.org)`,
      EXIT.usage,
    );
  return file;
}

function architectureOf(file: string): Architecture | null {
  const header = Buffer.alloc(20);
  const opened = openSync(file, 'r');
  try {
    readSync(opened, header, 0, header.length, 0);
  } finally {
    closeSync(opened);
  }
  if (header.readUInt32BE(0) !== 0x7f_45_4c_46) return null; // \x7fELF
  return ARCHITECTURES.find((arch) => MACHINES[arch] === header.readUInt16LE(18)) ?? null;
}

/** The runtime without its symbols, which are a seventh of it; the same file where `strip` cannot do that. */
export function stripped(file: string, directory: string): { readonly path: string; readonly isStripped: boolean } {
  const path = join(directory, 'node');
  try {
    execFileSync('strip', ['-o', path, file], { stdio: 'ignore', timeout: STRIP_MS_MAX });
    return { path, isStripped: true };
  } catch {
    return { path: file, isStripped: false };
  }
}
