/** Others' relay and client of the DERP protocol: `derper`, and a small client of the same Go module, made here. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { peerCache, type Peer } from './peer.ts';

/** One build, in ms: it fetches some 80 modules. */
const BUILD_MS_MAX = 540_000;

const run = promisify(execFile);

const source = fileURLToPath(new URL('derp', import.meta.url));

/** Raise it with the source. */
const built = join(peerCache('derp-1'), 'derper');

/** Found as the path of derper; the client lies beside it as `derp`. */
export const derpPeer: Peer = {
  name: 'derper',
  found: async () => (existsSync(built) ? built : null),
  async install() {
    await mkdir(dirname(dirname(built)), { recursive: true });
    const work = await mkdtemp(`${dirname(built)}-`);
    try {
      await run('go', ['build', '-o', `${work}/`, '.', 'tailscale.com/cmd/derper'], {
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
