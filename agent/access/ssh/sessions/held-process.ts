/** A process by an open file of it: its number is another process's once it was given back, and the file never is. */
import { closeSync, openSync, readSync } from 'node:fs';
import { groupsIn, STAT_BYTES_MAX, statFields } from './hang-up.ts';

/**
 * One that this agent began and of whose end it may hear late, as of those that node-pty waits for by itself. Holds a
 * file until it is closed.
 */
export class HeldProcess {
  readonly #pid: number;
  #file: number | null;

  /** To be made as soon as the process was begun. Throws where no file can be opened. */
  constructor(pid: number) {
    this.#pid = pid;
    try {
      this.#file = openSync(`/proc/${pid}/stat`, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      this.#file = null; // it has ended already
    }
  }

  /**
   * Its own process group first, and that which its terminal has in front. None once it has ended: by then the number
   * may be a stranger's.
   */
  groups(): number[] {
    const fields = this.#fields();
    return fields === null || fields[0] === 'Z' || fields[0] === 'X' ? [] : groupsIn(this.#pid, fields);
  }

  /** Lets go of the file. It counts as ended from then on. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #fields(): readonly string[] | null {
    if (this.#file === null) return null;
    const memory = Buffer.alloc(STAT_BYTES_MAX);
    try {
      return statFields(memory.toString('latin1', 0, readSync(this.#file, memory, 0, memory.length, 0)));
    } catch {
      return null; // ESRCH: it was waited for
    }
  }
}
