/**
 * Starts the program so that no TypeScript compiler stays in its memory. Imports next to nothing of the agent: it runs
 * before all of it.
 */
import { flushCompileCache } from 'node:module';
import { isAbsolute } from 'node:path';
import { makeDirectories } from './directories.ts';

/** Counts the starts of one invocation, so that there are never more than three. */
const STARTS_VARIABLE = 'EDGE_AGENT_STARTS';

/**
 * Node compiles TypeScript with a compiler of 15 MiB (measured), which stays for as long as the process lives. Code
 * that is in the compile cache does not need it. So this starts the program again, in the same process (execve): once
 * to have the cache from the first line on, and where the cache was empty once more, with it filled. Costs 50 ms, and
 * 0.3 s the first time. Does nothing where the code is not TypeScript, the cache cannot be kept, or there is no execve.
 */
export class WarmStart {
  readonly #directory: string;
  readonly #starts: number;

  /** `directory` is for the cache, made private when it is missing. */
  constructor(directory: string) {
    this.#directory = directory;
    this.#starts = Number(process.env[STARTS_VARIABLE] ?? 0);
    delete process.env[STARTS_VARIABLE];
  }

  /** Call before anything large is imported. */
  first(): void {
    if (this.#starts === 0) this.#startAgain();
  }

  /**
   * Call when everything is imported and nothing has begun. `later` imports what is needed only at some time, so that
   * it is in the cache too.
   */
  async last(later: () => Promise<unknown>): Promise<void> {
    if (this.#starts !== 1 || !isCompilerLoaded()) return;
    await later();
    this.#startAgain();
  }

  #startAgain(): void {
    if (!isCompilerLoaded() || process.execve === undefined || !isAbsolute(this.#directory)) return;
    try {
      makeDirectories(this.#directory);
    } catch {
      return; // what is wrong with it is said when it is opened
    }
    flushCompileCache();
    process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
      NODE_COMPILE_CACHE: this.#directory,
      ...process.env,
      [STARTS_VARIABLE]: String(this.#starts + 1),
    });
  }
}

function isCompilerLoaded(): boolean {
  const { moduleLoadList } = process as { moduleLoadList?: readonly string[] };
  return moduleLoadList?.some((name) => name.includes('deps/amaro')) === true;
}
