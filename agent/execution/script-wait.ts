/** Whether a script is waited for still: what is read as its exit status meanwhile is not its own. */
import { lives, scriptWaiter, type Membership, type ProcessEntry } from './processes.ts';

/**
 * Asked at each look that finds an exit status. All processes are listed for the first of them, and where nobody waits
 * by that for the second, as a listing may be older than the script; then it is known.
 */
export class ScriptWait {
  #waiter: ProcessEntry | null = null;
  #looks = 0;
  #isOver = false;

  /** Throws while no file can be opened: look again. */
  lasts(shim: Pick<Membership, 'shim' | 'shimPid'>, processes: () => readonly ProcessEntry[]): boolean {
    if (this.#isOver) return false;
    if (this.#waiter !== null) this.#isOver = !lives(this.#waiter);
    else {
      this.#waiter = scriptWaiter(shim, processes());
      this.#looks += 1;
      this.#isOver = this.#waiter === null && this.#looks > 1;
    }
    return this.#waiter !== null && !this.#isOver;
  }
}
