/** A plain Debian without Node, as the directory that a machine of a test sees as its own (installing/machine.ts). */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { install } from './debian.ts';
import { peerCache, type Peer } from './peer.ts';

const run = promisify(execFile);

const SUITE = 'bookworm';

/** What a fresh Debian has beyond apt, and what fetches the line. */
const PACKAGES = ['ca-certificates', 'curl', 'wget', 'busybox-static'];

/** Of no use to a test, and half of the files. */
const LEFT_OUT = '/usr/share/{doc,man,locale,info}/*';

/** Unpacking some 120 packages, in ms. */
const BOOTSTRAP_MS_MAX = 600_000;

const directory = peerCache(`debian-root-${SUITE}-1`);

/** Found as the directory. */
export const debianRootPeer: Peer = {
  name: 'debian-root',
  found: async () => Promise.resolve(existsSync(directory) ? directory : null),
  async install() {
    await install('mmdebstrap'); // also refuses where there are no packages of Debian
    await mkdir(dirname(directory), { recursive: true });
    const work = await mkdtemp(`${directory}-`);
    try {
      const target = join(work, 'root');
      await run(
        'mmdebstrap',
        ['--variant=apt', `--include=${PACKAGES.join(',')}`, `--dpkgopt=path-exclude=${LEFT_OUT}`, SUITE, target],
        { timeout: BOOTSTRAP_MS_MAX, maxBuffer: 64 * 1_048_576 },
      );
      await rename(target, directory);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  },
};
