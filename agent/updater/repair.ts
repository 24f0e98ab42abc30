/**
 * Whether the agent of this machine needs the updater although nobody asked: it is dead, and not stopped on purpose.
 */
import { isAlive, readHealth } from './health.ts';
import { HEALTH_FILE } from './layout.ts';
import type { AgentService } from './service.ts';
import { agentFile, type UpdaterConfig } from './settings.ts';

/** An agent that said nothing for so long is dead, in ms; it says how it is every 5 s. */
export const DEAD_MS = 600_000;

/** Whose silence it is. `deadMs`: after so long it is dead. */
export interface SilenceOptions {
  readonly config: UpdaterConfig;
  readonly service: Pick<AgentService, 'isStopped' | 'isAbandoned'>;
  readonly deadMs: number;
}

/** Notices an agent that says nothing, by this process's own clock: that of the machine may be set. */
export class AgentSilence {
  readonly #options: SilenceOptions;
  #mark: string;
  #heardMs: number;

  constructor(options: SilenceOptions, nowMs: number) {
    this.#options = options;
    this.#mark = this.#read().mark;
    this.#heardMs = nowMs;
  }

  /** Whether it was silent for too long and should not be. `nowMs`: of a monotonic clock. */
  async isDead(nowMs: number): Promise<boolean> {
    const { mark } = this.#read();
    if (mark !== this.#mark) this.reset(nowMs);
    this.#mark = mark;
    return nowMs - this.#heardMs >= this.#options.deadMs && !(await this.#options.service.isStopped());
  }

  /** Whether one that is dead still has a process, which a clean stop would not have left: it hangs. */
  get #isHanging(): boolean {
    const { health } = this.#read();
    return health !== null && isAlive(health.pid);
  }

  /** What is wrong with one that is dead, where a restart may help; null: nothing of the kind. Never rejects. */
  async problem(): Promise<'hangs' | 'abandoned' | null> {
    if (this.#isHanging) return 'hangs';
    return (await this.#options.service.isAbandoned()) ? 'abandoned' : null;
  }

  /** It was just helped: the silence counts from now on. */
  reset(nowMs: number): void {
    this.#heardMs = nowMs;
  }

  #read() {
    return readHealth(agentFile(this.#options.config, HEALTH_FILE));
  }
}
