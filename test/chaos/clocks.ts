/**
 * Clocks on the wall that are wrong, and set while programs run: libfaketime reads the offset from a file at each look.
 * What counts durations stays right.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The clock of some programs. */
export interface Clock {
  /** What they are started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets it, by an offset such as `+5h`. */
  set(offset: string): Promise<void>;
}

/** Clocks of a fixture. */
export interface Clocks {
  readonly admins: Clock;
  readonly agents: Clock;
}

/** Two clocks that are right until they are set, with files in this directory. Needs `faketime`. */
export async function openClocks(directory: string): Promise<Clocks> {
  const { stdout } = await promisify(execFile)('faketime', ['-f', '+0', 'sh', '-c', 'echo "$LD_PRELOAD"']);
  const library = stdout.trim();
  const clock = async (name: string): Promise<Clock> => {
    const file = join(directory, `clock-of-${name}`);
    const set = (offset: string) => writeFile(file, `${offset}\n`);
    await set('+0');
    return {
      env: {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
      set,
    };
  };
  return { admins: await clock('admins'), agents: await clock('agents') };
}
