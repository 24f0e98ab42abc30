/**
 * systemd-resolved with its resolvectl, unpacked from Debian's package and not installed: that would take over the
 * resolv.conf of the machine.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { apt, install } from './debian.ts';
import { peerCache, type Peer } from './peer.ts';

const run = promisify(execFile);

const directory = peerCache('systemd-resolved');

/** Found as the directory that holds `usr/bin/resolvectl` and the rest of the package. */
export const resolvedPeer: Peer = {
  name: 'systemd-resolved',
  found: async () => Promise.resolve(existsSync(directory) ? directory : null),
  async install() {
    await install('libsystemd-shared'); // also refuses where there are no packages of Debian
    await mkdir(dirname(directory), { recursive: true });
    const work = await mkdtemp(`${directory}-`);
    try {
      await apt(['download', 'systemd-resolved'], work).catch(async () => {
        await apt(['update']);
        await apt(['download', 'systemd-resolved'], work);
      });
      const [archive] = globSync(join(work, '*.deb'));
      if (archive === undefined) throw new Error('apt-get downloaded nothing');
      await run('dpkg', ['--extract', archive, join(work, 'package')]);
      await rename(join(work, 'package'), directory);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  },
};
