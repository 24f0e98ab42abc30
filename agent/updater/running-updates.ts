/** One update at a time, and who asked for it: what the HTTP API and the timer begin. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BusyProblem } from './lock.ts';
import type { UpdaterParts } from './parts.ts';
import { reasonOf } from './problem.ts';
import type { Asked, UpdaterCalls } from './server.ts';
import { triggerOf, type Outcome, type Phase, type TakingUp, type Trigger } from './state.ts';
import { writeState } from './state-file.ts';
import { transition } from './transition.ts';
import { drive, stateOf } from './updater.ts';

/** Between two tries to take up what was interrupted, while another process has the lock, in ms. */
const BUSY_MS = 1_000;

/** Until an update that could not go on, such as for want of room on the disk, is taken up again, in ms. */
export const AGAIN_MS = 10_000;

interface Running {
  readonly request: string | null;
  readonly finished: Promise<Outcome | null>;
}

/** Updates of this process. */
export class RunningUpdates implements Pick<UpdaterCalls, 'update' | 'outcome'> {
  readonly #parts: UpdaterParts;
  readonly #ended: () => void;
  /** What this process works at; null: nothing, or another process has the lock. */
  #step: Phase['step'] | null = null;
  #running: Running | null = null;

  /** `ended` is called after each. */
  constructor(parts: UpdaterParts, ended: () => void) {
    this.#parts = { ...parts, stepped: (step) => (this.#step = step) };
    this.#ended = ended;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Takes up what an earlier process left, or a command of somebody's. */
  resume(): void {
    this.#begin(this.#stored()?.request ?? null, null);
  }

  /** Whether something is under way on the disk that nobody here works at. */
  get isLeft(): boolean {
    return this.#running === null && this.#stored() !== null;
  }

  update({ request, force }: Asked): { readonly finished: Promise<Outcome | null> } | null {
    if (this.#running !== null) return request === null ? null : this.#joined(this.#running, { request, force });
    const before = this.outcome();
    // asked again for the same: it was done, and its outcome is there
    if (request !== null && before?.request === request) return { finished: Promise.resolve(before) };
    return this.trigger({ by: request === null ? 'hand' : 'request', request, force });
  }

  /** Begins one for this reason; null: another one runs. */
  trigger(trigger: Omit<Trigger, 'asked_at'>): { readonly finished: Promise<Outcome | null> } | null {
    if (this.#running !== null) return null;
    return this.#begin(trigger.request, { ...trigger, asked_at: this.#parts.nowMs() });
  }

  outcome(): Outcome | null {
    return stateOf(this.#parts).outcome;
  }

  /** The update that runs, for this request instead while nothing is changed yet; null: it is too late for that. */
  #joined(running: Running, { request, force }: Asked): Running | null {
    if (request === running.request) return running;
    if (this.#step !== 'preparing') return null;
    const { layout, nowMs } = this.#parts;
    const trigger: Trigger = { by: 'request', request, force, asked_at: nowMs() };
    writeState(layout.state, transition(stateOf(this.#parts), { type: 'asked', trigger }, nowMs()).state);
    this.#running = { ...running, request };
    return this.#running;
  }

  #begin(request: string | null, trigger: Trigger | null): { readonly finished: Promise<Outcome | null> } {
    const finished = this.#drive(trigger).finally(() => {
      this.#running = null;
      this.#ended();
    });
    this.#running = { request, finished };
    return this.#running;
  }

  async #drive(trigger: Trigger | null): Promise<Outcome | null> {
    const { againMs, signal, log } = this.#parts;
    let open = trigger;
    let takingUp: TakingUp = 'restarted';
    for (;;) {
      let pauseMs = BUSY_MS;
      try {
        const state = await drive(this.#parts, open === null ? null : { type: 'asked', trigger: open }, takingUp);
        return state.phase.step === 'idle' ? state.outcome : null;
      } catch (error) {
        this.#step = null;
        if (signal.aborted) return null;
        if (!(error instanceof BusyProblem)) {
          log.error({ error: reasonOf(error) }, 'The updater could not go on');
          const stored = this.#stored();
          if (stored === null) return null;
          if (stored.asked_at === open?.asked_at) open = null; // it is on the disk: it is not begun twice
          takingUp = 'held-up';
          pauseMs = againMs;
        }
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return null;
    }
  }

  /** The one that is under way on the disk; null: none, or the disk does not say. */
  #stored(): Trigger | null {
    try {
      const { phase } = stateOf(this.#parts);
      return phase.step === 'idle' ? null : triggerOf(phase);
    } catch {
      return null; // whoever drives it is told
    }
  }
}
