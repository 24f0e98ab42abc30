/** One update at a time, and who asked for it: what the HTTP API and the timer begin. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BusyProblem } from './lock.ts';
import type { UpdaterParts } from './parts.ts';
import { reasonOf } from './problem.ts';
import type { Asked, UpdaterCalls } from './server.ts';
import type { Outcome, UpdaterEvent, Wish } from './state.ts';
import { drive, stateOf } from './updater.ts';

/** Between two tries to take up what was interrupted, while another process has the lock, in ms. */
const BUSY_MS = 1_000;

/** Updates of this process. */
export class RunningUpdates implements Pick<UpdaterCalls, 'update' | 'outcome'> {
  readonly #parts: UpdaterParts;
  readonly #ended: () => void;
  #running: { readonly request: string | null; readonly finished: Promise<Outcome | null> } | null = null;

  /** `ended` is called after each. */
  constructor(parts: UpdaterParts, ended: () => void) {
    this.#parts = parts;
    this.#ended = ended;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Takes up what an earlier process left. */
  resume(): void {
    const { phase } = stateOf(this.#parts);
    const request = phase.step === 'idle' ? null : 'wish' in phase ? phase.wish.request : phase.change.wish.request;
    this.#begin(request, null);
  }

  update({ request, force }: Asked): { readonly finished: Promise<Outcome | null> } | null {
    if (this.#running !== null) return request !== null && request === this.#running.request ? this.#running : null;
    const before = this.outcome();
    // asked again for the same: it was done, and its outcome is there
    if (request !== null && before?.request === request) return { finished: Promise.resolve(before) };
    return this.wish({ by: request === null ? 'hand' : 'request', request, force });
  }

  /** Begins one for this reason; null: another one runs. */
  wish(wish: Omit<Wish, 'asked_at'>): { readonly finished: Promise<Outcome | null> } | null {
    if (this.#running !== null) return null;
    return this.#begin(wish.request, { type: 'asked', wish: { ...wish, asked_at: this.#parts.nowMs() } });
  }

  outcome(): Outcome | null {
    return stateOf(this.#parts).outcome;
  }

  #begin(request: string | null, event: UpdaterEvent | null): { readonly finished: Promise<Outcome | null> } {
    const finished = this.#drive(event).finally(() => {
      this.#running = null;
      this.#ended();
    });
    this.#running = { request, finished };
    return this.#running;
  }

  async #drive(event: UpdaterEvent | null): Promise<Outcome | null> {
    const { signal, log } = this.#parts;
    for (;;) {
      try {
        const state = await drive(this.#parts, event);
        return state.phase.step === 'idle' ? state.outcome : null;
      } catch (error) {
        if (signal.aborted) return null;
        if (!(error instanceof BusyProblem)) {
          log.error({ error: reasonOf(error) }, 'The updater could not go on');
          return null;
        }
      }
      await sleep(BUSY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return null;
    }
  }
}
