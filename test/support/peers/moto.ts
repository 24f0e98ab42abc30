/** moto, which speaks the protocols of SNS, SQS and IAM. From PyPI, into a virtual environment of its own. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { peerCache, type Peer } from './peer.ts';

/** What is installed. */
const REQUIREMENT = 'moto[server]==5.2.5';

/** One run of pip, in ms: a slow mirror and 40 MB of packages. */
const PIP_MS_MAX = 300_000;

const run = promisify(execFile);

const directory = peerCache(REQUIREMENT.replaceAll(/[^\w.]+/gu, '-'));
const python = join(directory, 'bin', 'python');

/** Found as a Python that has it: `python -m moto.server`. */
export const motoPeer: Peer = {
  name: 'moto',
  found: async () => existsSync(python) ? python : null,
  async install() {
    await mkdir(dirname(directory), { recursive: true });
    const work = await mkdtemp(`${directory}-`);
    try {
      await run('python3', ['-m', 'venv', work], { timeout: PIP_MS_MAX });
      await run(join(work, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', REQUIREMENT], { timeout: PIP_MS_MAX });
      await rename(work, directory); // its scripts name the old path; Python itself does not mind
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  },
};
