/**
 * A Pub/Sub service: the official emulator where the cloud's command-line tools have brought it, else a server made
 * here from the official Go library.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { peerCache, type Peer } from './peer.ts';

/** Where Debian's package of the tools has it, and where their own installer puts it. */
const EMULATORS = [
  '/usr/lib/google-cloud-sdk',
  '/opt/google-cloud-sdk',
  join(process.env['HOME'] ?? '/root', 'google-cloud-sdk'),
].map((root) => `${root}/platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar`);

/** One build, in ms: it fetches some 60 modules. */
const BUILD_MS_MAX = 420_000;

const run = promisify(execFile);

const source = fileURLToPath(new URL('pubsub-server', import.meta.url));

/** Raise it with the source. */
const built = join(peerCache('pubsub-server-1'), 'pubsub-server');

/** Found as the jar of the emulator, or as a program that takes the same options. */
export const pubSubPeer: Peer = {
  name: 'pubsub',
  found: async () => globSync(EMULATORS).toSorted().at(-1) ?? (existsSync(built) ? built : null),
  async install() {
    await mkdir(dirname(dirname(built)), { recursive: true });
    const work = await mkdtemp(`${dirname(built)}-`);
    try {
      await run('go', ['build', '-o', join(work, 'pubsub-server'), '.'], {
        cwd: source,
        timeout: BUILD_MS_MAX,
        env: { ...process.env, CGO_ENABLED: '0' },
      });
      await rename(work, dirname(built));
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  },
};
