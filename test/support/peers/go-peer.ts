/** Peers that are made here from Go modules by their versions, with a small program of ours where it takes one. */
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

/** What is made. */
export interface GoPeerOptions {
  /** Of the peer, which is that of the executable that it is found as. */
  readonly name: string;
  /** Directory beside this file with go.mod and go.sum, and a program where there is one of ours. */
  readonly source: string;
  /** Directory of what was made; another one with each change of the source. */
  readonly cache: string;
  /** Packages to build; only that of the source unless given. */
  readonly packages?: readonly string[];
}

/** A peer that is found once it was built. */
export function goPeer({ name, source, cache, packages = ['.'] }: GoPeerOptions): Peer {
  const built = join(peerCache(cache), name);
  return {
    name,
    found: async () => Promise.resolve(existsSync(built) ? built : null),
    async install() {
      await mkdir(dirname(dirname(built)), { recursive: true });
      const work = await mkdtemp(`${dirname(built)}-`);
      try {
        await run('go', ['build', '-o', `${work}/`, ...packages], {
          cwd: fileURLToPath(new URL(source, import.meta.url)),
          timeout: BUILD_MS_MAX,
          env: { ...process.env, CGO_ENABLED: '0' },
        });
        await rename(work, dirname(built));
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },
  };
}
