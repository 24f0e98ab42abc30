/** Whether a release fits on the disk before anything of it is fetched. */
import { mkdirSync, statfsSync } from 'node:fs';
import { bytesHere } from './download.ts';
import type { Layout } from './layout.ts';
import { UpdateProblem } from './problem.ts';
import type { ReleaseFile } from '../../transport/protocol/releases.ts';

/** What stays free for everybody else on that disk, in bytes. */
export const RESERVE_BYTES = 16 * 1_048_576;

/** Bytes that these files take on their way here and unpacked. */
export function bytesNeeded(layout: Layout, files: readonly ReleaseFile[]): number {
  return files.reduce(
    (sum, file) => sum + file.bytes + Math.max(0, file.packed_bytes - bytesHere(layout.downloads, file)),
    0,
  );
}

/** Throws an UpdateProblem that says how much is missing. */
export function assertDiskSpace(layout: Layout, files: readonly ReleaseFile[]): void {
  if (files.length === 0) return;
  mkdirSync(layout.directory, { recursive: true, mode: 0o755 });
  const { bavail, bsize } = statfsSync(layout.directory);
  const needed = bytesNeeded(layout, files) + RESERVE_BYTES;
  if (bavail * bsize >= needed) return;
  throw new UpdateProblem(
    `${layout.directory} has ${mib(bavail * bsize)} MiB free, and the release needs ${mib(needed)} MiB: free some, or set UPDATER_DIR to another disk`,
  );
}

function mib(bytes: number): number {
  return Math.ceil(bytes / 1_048_576);
}
