/** The exit status in an exec shim's directory. */
import { join } from 'node:path';
import { EXIT_CODE_MAX } from '../../../transport/protocol/limits.ts';
import { SHIM_FILES } from './exec-shim-script.ts';
import { readPlainSurely } from './plain-file.ts';

/** Longest exit status that is read, in bytes. */
const STATUS_BYTES_MAX = 16;

/** What is there as one, 0 to EXIT_CODE_MAX; else null. Throws while no file can be opened. */
export function readExitStatus(directory: string): number | null {
  const text = readPlainSurely(join(directory, SHIM_FILES.status), 0, STATUS_BYTES_MAX)?.toString('latin1') ?? '';
  const status = /^\d{1,3}\n$/.test(text) ? Number(text) : null;
  return status === null || status > EXIT_CODE_MAX ? null : status;
}
