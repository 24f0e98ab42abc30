/** Rights that tests need as others need programs: they are there or they are not, and nothing installs them. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Peer } from './peer.ts';

const TUN = '/dev/net/tun';

/** Whether networks can be made, told once: each asking starts a program. */
let canMakeNetworks: boolean | undefined;

/** `root`: may make network namespaces. `tun`: programs may make interfaces. */
export const rightPeers: readonly Peer[] = [
  {
    name: 'root',
    found: async () =>
      process.getuid?.() === 0 && (canMakeNetworks ??= spawnSync('unshare', ['--net', '--mount', 'true']).status === 0)
        ? '/'
        : null,
    install: async () => Promise.reject(new Error('run the tests as root, who may make network namespaces')),
  },
  {
    name: 'tun',
    found: async () => Promise.resolve(existsSync(TUN) ? TUN : null),
    install: async () =>
      Promise.reject(new Error(`this machine has no ${TUN}: as root, modprobe tun; in a container, --device ${TUN}`)),
  },
];
