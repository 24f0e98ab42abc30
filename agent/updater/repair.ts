/** Whether the agent of this machine needs the updater although nobody asked: it is dead, and not stopped on purpose. */
import { readHealth } from './health.ts';
import { HEALTH_FILE } from './layout.ts';
import type { UpdaterParts } from './parts.ts';
import { agentFile } from './settings.ts';

/** An agent that said nothing for so long is dead, in ms; it says how it is every 5 s. */
export const DEAD_MS = 600_000;

/** Notices an agent that says nothing, by this process's own clock: that of the machine may be set. */
export class AgentSilence {
  readonly #parts: Pick<UpdaterParts, 'config' | 'service'>;
  readonly #deadMs: number;
  #mark: string;
  #heardMs: number;

  constructor(parts: Pick<UpdaterParts, 'config' | 'service'>, nowMs: number, deadMs: number = DEAD_MS) {
    this.#parts = parts;
    this.#deadMs = deadMs;
    this.#mark = this.#read();
    this.#heardMs = nowMs;
  }

  /** Whether it was silent for too long and should not be. `nowMs`: of a monotonic clock. */
  async isDead(nowMs: number): Promise<boolean> {
    const mark = this.#read();
    if (mark !== this.#mark) {
      this.#mark = mark;
      this.#heardMs = nowMs;
    }
    return nowMs - this.#heardMs >= this.#deadMs && !(await this.#parts.service.isStopped());
  }

  #read(): string {
    return readHealth(agentFile(this.#parts.config, HEALTH_FILE)).mark;
  }
}
