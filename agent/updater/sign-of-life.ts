/**
 * By what the launcher tells a new updater that works from one that hangs: a file that is touched until this updater
 * has come up and what it took up is done. Source: deploy/launcher.sh, which gives it 60 s.
 */
import { closeSync, futimesSync, openSync, rmSync } from 'node:fs';

/** Of one process. No method throws. */
export class SignOfLife {
  readonly #path: string;
  #isProven = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** To be called every few seconds. `isProven`: it came up, and nothing is under way; nobody looks from then on. */
  give(isProven: boolean): void {
    if (this.#isProven) return;
    this.#isProven = isProven;
    try {
      if (isProven) rmSync(this.#path, { force: true });
      else this.#touch();
    } catch {
      // a disk that takes nothing: the launcher looks at no directory that it cannot write to
    }
  }

  #touch(): void {
    const file = openSync(this.#path, 'w', 0o644);
    try {
      const now = Date.now() / 1_000;
      futimesSync(file, now, now); // opening an empty file changes no time
    } finally {
      closeSync(file);
    }
  }
}
