/** The claim in a keeper's directory: whoever makes it decides whether the keeper ever starts something. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { KEEPER_FILES } from './keeper-script.ts';

/** What a keeper writes into its claim before it starts the script. */
export interface Claim {
  /** Its process id, which is also that of its session and group. */
  readonly pid: number;
  readonly execution: ExecutionId;
}

/** Makes the claim in the keeper's place. True: that keeper never started anything, and never will. */
export function takeClaim(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, KEEPER_FILES.claim), 'wx', 0o600));
    return true;
  } catch (error) {
    // A directory that is gone cannot hold a running keeper's claim either.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** The keeper's claim; null when there is none, or it is just being written. */
export function readClaim(directory: string): Claim | null {
  try {
    const [, pid, execution] = /^(\d+) (\S+)\n$/.exec(readFileSync(join(directory, KEEPER_FILES.claim), 'utf8')) ?? [];
    return pid === undefined || execution === undefined
      ? null
      : { pid: Number(pid), execution: execution as ExecutionId };
  } catch {
    return null;
  }
}
