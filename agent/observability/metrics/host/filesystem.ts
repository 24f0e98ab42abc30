/** How full the mounted file systems are. */
import { statfs } from 'node:fs/promises';
import type { StatsFs } from 'node:fs';
import { addTable, DEVICES_MAX, rowsOf, type Collector, type Column } from './collector.ts';
import { mountsOf, type Mount } from './mounts.ts';

/** Timeout of one file system, in ms. */
const STATFS_MS_MAX = 1_000;

/** All that a look at them takes, in ms: those that were not asked by then count as failed. */
const LOOK_MS_MAX = 4_000;

/**
 * File systems that may hang at the same time, each of which holds one of the four threads that Node has for files:
 * remote ones, and of any kind. With so many stuck the others of that kind are not asked, and count as failed, until
 * one comes back.
 */
const STUCK_REMOTE_MAX = 2;
const STUCK_MAX = 3;

interface Row {
  readonly mount: Mount;
  /** Null: it did not answer, or with an error. */
  readonly stats: StatsFs | null;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'node_filesystem_size_bytes',
    help: 'Filesystem size in bytes.',
    of: ({ stats }) => stats && stats.blocks * stats.bsize,
  },
  {
    name: 'node_filesystem_free_bytes',
    help: 'Filesystem free space in bytes.',
    of: ({ stats }) => stats && stats.bfree * stats.bsize,
  },
  {
    name: 'node_filesystem_avail_bytes',
    help: 'Filesystem space available to non-root users in bytes.',
    of: ({ stats }) => stats && stats.bavail * stats.bsize,
  },
  { name: 'node_filesystem_files', help: 'Filesystem total file nodes.', of: ({ stats }) => stats?.files },
  { name: 'node_filesystem_files_free', help: 'Filesystem total free file nodes.', of: ({ stats }) => stats?.ffree },
  {
    name: 'node_filesystem_readonly',
    help: 'Filesystem read-only status.',
    of: ({ mount, stats }) => stats && Number(mount.isReadOnly),
  },
  {
    name: 'node_filesystem_device_error',
    help: 'Whether an error occurred while getting statistics for the given device.',
    of: ({ stats }) => Number(stats === null),
  },
];

/** What is asked of a file system. Another one in tests. */
export type Statfs = (path: Buffer) => Promise<StatsFs>;

/**
 * Asks one file system after the other, local ones first, so that one that hangs (a server of NFS that is away) costs
 * its time limit once. It is remembered and not asked again before it has answered.
 */
export function createFilesystemCollector(
  ask: Statfs = statfs,
  msMax: number = STATFS_MS_MAX,
  lookMsMax: number = LOOK_MS_MAX,
): Collector {
  const stuck = new Map<string, { readonly isRemote: boolean }>();

  async function statsOf({ path, isRemote }: Mount): Promise<StatsFs | null> {
    const key = path.toString('latin1');
    if (stuck.has(key) || stuck.size >= STUCK_MAX || (isRemote && remoteOf(stuck) >= STUCK_REMOTE_MAX)) return null;
    const answer = ask(path)
      .catch(() => null)
      .finally(() => stuck.delete(key));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, msMax, 'late');
    });
    const first = await Promise.race([answer, late]);
    clearTimeout(timer);
    if (first !== 'late') return first;
    stuck.set(key, { isRemote });
    return null;
  }

  return {
    name: 'filesystem',
    async collect(out, host) {
      const mounts = mountsOf(host);
      const rows = rowsOf<Mount, { mount: Mount; stats: StatsFs | null }>(
        host,
        mounts,
        ({ device, mountPoint, type }) => ({ device, fstype: type, mountpoint: mountPoint }),
        (mount) => ({ mount, stats: null }),
      );
      const asked = [...rows.values()]
        .toSorted((a, b) => Number(a.mount.isRemote) - Number(b.mount.isRemote))
        .slice(0, DEVICES_MAX);
      const endMs = performance.now() + lookMsMax;
      for (const row of asked) if (performance.now() < endMs) row.stats = await statsOf(row.mount);
      addTable(out, COLUMNS, rows);
    },
  };
}

function remoteOf(stuck: ReadonlyMap<string, { readonly isRemote: boolean }>): number {
  return [...stuck.values()].filter(({ isRemote }) => isRemote).length;
}
