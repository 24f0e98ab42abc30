/** Gets keepers ready: each with its script on the disk, before its start is recorded. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEEPER_FILES } from './keeper-script.ts';
import type { Keeper, Keepers } from './keepers.ts';
import type { AgentLog } from '../ports.ts';

/** Remembers why nothing can be started, while that is so. */
export class StartKit {
  readonly #keepers: Keepers;
  readonly #log: AgentLog;
  #problem: string | null = null;

  constructor(keepers: Keepers, log: AgentLog) {
    this.#keepers = keepers;
    this.#log = log;
  }

  /** Null when executions can be started; else one sentence. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Nothing is kept from starting any more. */
  clear(): void {
    this.#problem = null;
  }

  /** Null: the system gives no process or no room now, which `problem` says. */
  prepare(commandText: string): Keeper | null {
    let keeper: Keeper | null = null;
    try {
      keeper = this.#keepers.take();
      writeFileSync(join(keeper.directory, KEEPER_FILES.script), commandText, { flag: 'r+' });
      if (this.#problem !== null) this.#log.info('Commands can be started again');
      this.#problem = null;
      return keeper;
    } catch (error) {
      if (keeper !== null) this.#keepers.dismiss(keeper);
      const problem = `commands cannot be started: ${(error as Error).message}`;
      if (this.#problem === null)
        this.#log.error(`Commands cannot be started: ${(error as Error).message}. They wait until they can`);
      this.#problem = problem;
      return null;
    }
  }
}
