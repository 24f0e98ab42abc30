/** Peers from PyPI, each in a virtual environment of its own. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { peerCache, type Peer } from './peer.ts';

/** One run of pip, in ms: a slow mirror and 40 MB of packages. */
const PIP_MS_MAX = 300_000;

const run = promisify(execFile);

/** A peer that pip installs by this requirement. Found as the Python that has it, to be run as `python -m MODULE`. */
export function pythonPeer(name: string, requirement: string): Peer {
  const directory = peerCache(requirement.replaceAll(/[^\w.]+/gu, '-'));
  const python = join(directory, 'bin', 'python');
  return {
    name,
    found: async () => (existsSync(python) ? python : null),
    async install() {
      await mkdir(dirname(directory), { recursive: true });
      const work = await mkdtemp(`${directory}-`);
      try {
        await run('python3', ['-m', 'venv', work], { timeout: PIP_MS_MAX });
        await run(
          join(work, 'bin', 'python'),
          ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement],
          { timeout: PIP_MS_MAX },
        );
        await rename(work, directory); // its scripts name the old path; Python itself does not mind
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },
  };
}
