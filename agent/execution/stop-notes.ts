/**
 * What an agent that ends an execution notes of it, for the one that goes on where it is killed meanwhile. On a full
 * disk nothing is noted: the execution is ended all the same, and only the next agent would not know.
 */
import { join } from 'node:path';
import { SHIM_FILES } from './exec-shim/exec-shim-script.ts';
import { readPlainSurely, writePlain } from './exec-shim/plain-file.ts';

/** Longest reason, and names of processes, that are read, in bytes: some 30,000 of these. */
const REASON_BYTES_MAX = 16;
const NAMES_BYTES_MAX = 1_048_576;

/** Why an execution is being ended. `settle`: nobody wants the result. `lost`: its exec shim vanished. */
export type StopReason = 'cancel' | 'timeout' | 'settle' | 'lost';

/**
 * Before the first signal: an agent that is killed between that and the result leaves a status of 143, and children
 * that ignore TERM (C9).
 */
export function noteReason(directory: string, reason: StopReason): void {
  writePlain(join(directory, SHIM_FILES.ending), `${reason}\n`);
}

/** As it was noted; null: no agent had begun to end it. Throws while no file can be opened, as `notedMembers` does. */
export function notedReason(directory: string): StopReason | null {
  const noted = readPlainSurely(join(directory, SHIM_FILES.ending), 0, REASON_BYTES_MAX)
    ?.toString('latin1')
    .replaceAll('\0', '')
    .trim();
  return noted === 'cancel' || noted === 'timeout' || noted === 'settle' ? noted : null;
}

/**
 * The names of its processes: those that have dropped its mark are known by nothing else once their parents are dead.
 */
export function noteMembers(directory: string, bootId: string, names: ReadonlySet<string>): void {
  writePlain(join(directory, SHIM_FILES.members), `${[bootId, ...names].join('\n')}\n`);
}

/** As they were noted; none of them lives after a reboot, when others may have their names. */
export function notedMembers(directory: string, bootId: string): Set<string> {
  const text = readPlainSurely(join(directory, SHIM_FILES.members), 0, NAMES_BYTES_MAX)?.toString('latin1') ?? '';
  const [boot, ...names] = text.split('\n');
  return new Set(boot === bootId ? names.slice(0, -1) : []); // the last one may not be whole
}
