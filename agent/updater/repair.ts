/** Whether the agent of this machine needs the updater although nobody asked: it is dead, and not stopped on purpose. */
import { isAlive, readHealth } from './health.ts';
import { HEALTH_FILE } from './layout.ts';
import type { UpdaterParts } from './parts.ts';
import { agentFile } from './settings.ts';

/** An agent that said nothing for so long is dead, in ms; it says how it is every 5 s. */
export const DEAD_MS = 600_000;

/** Notices an agent that says nothing, by this process's own clock: that of the machine may be set. */
export class AgentSilence {
  readonly #parts: Pick<UpdaterParts, 'config' | 'service' | 'deadMs'>;
  #mark: string;
  #heardMs: number;

  constructor(parts: Pick<UpdaterParts, 'config' | 'service' | 'deadMs'>, nowMs: number) {
    this.#parts = parts;
    this.#mark = this.#read().mark;
    this.#heardMs = nowMs;
  }

  /** Whether it was silent for too long and should not be. `nowMs`: of a monotonic clock. */
  async isDead(nowMs: number): Promise<boolean> {
    const { mark } = this.#read();
    if (mark !== this.#mark) this.reset(nowMs);
    this.#mark = mark;
    return nowMs - this.#heardMs >= this.#parts.deadMs && !(await this.#parts.service.isStopped());
  }

  /** Whether one that is dead still has a process, which a clean stop would not have left: it hangs. */
  get isHanging(): boolean {
    const { health } = this.#read();
    return health !== null && isAlive(health.pid);
  }

  /** It was just helped: the silence counts from now on. */
  reset(nowMs: number): void {
    this.#heardMs = nowMs;
  }

  #read() {
    return readHealth(agentFile(this.#parts.config, HEALTH_FILE));
  }
}
