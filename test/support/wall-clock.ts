/**
 * A clock on the wall that is wrong, and set while programs run: libfaketime reads the offset from a file at each look.
 * What counts durations stays right.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** The clock of some programs. */
export interface Clock {
  /** What they are started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets it, by an offset such as `+5h`. */
  set(offset: string): Promise<void>;
}

/** A clock that is right until it is set, by this file. Needs `faketime`. */
export async function openClock(file: string): Promise<Clock> {
  const { stdout } = await promisify(execFile)('faketime', ['-f', '+0', 'sh', '-c', 'echo "$LD_PRELOAD"']);
  const set = (offset: string) => writeFile(file, `${offset}\n`);
  await set('+0');
  return {
    env: {
      LD_PRELOAD: stdout.trim(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  };
}
