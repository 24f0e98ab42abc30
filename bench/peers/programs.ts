/** The programs that the peers need: found, or installed when that is allowed, or named. */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BENCH_DIR } from '../fleet/database.ts';

const run = promisify(execFile);

/** Everything of the peers that may stay from one run to the next. */
export const PEERS_DIR = join(BENCH_DIR, 'peers');

/** Program → Debian package. */
const PACKAGES = {
  clush: 'clustershell',
  ansible: 'ansible-core',
  sshd: 'openssh-server',
  ssh: 'openssh-client',
  'nats-server': 'nats-server',
  microsocks: 'microsocks',
  cc: 'gcc',
  'prometheus-node-exporter': 'prometheus-node-exporter',
  prometheus: 'prometheus',
} as const;
/** A program of a peer that the system's packages bring. */
export type Program = keyof typeof PACKAGES;

/** Where programs are, besides PATH: sshd is not for users. */
const DIRECTORIES = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];

/** Absolute path of a program; undefined when it is not installed. */
export async function findProgram(program: Program): Promise<string | undefined> {
  for (const directory of DIRECTORIES) {
    const path = join(directory, program);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

/** Installs what is missing of these programs with apt, when `allowed`. Returns the packages that are still missing. */
export async function missingPackages(allowed: boolean, programs: readonly Program[]): Promise<string[]> {
  const missing = await notFound(programs);
  if (missing.length === 0 || !allowed) return missing;
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...missing], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: 16_777_216,
  });
  return notFound(programs);
}

async function notFound(programs: readonly Program[]): Promise<string[]> {
  const missing: string[] = [];
  for (const program of programs) if ((await findProgram(program)) === undefined) missing.push(PACKAGES[program]);
  return missing;
}
