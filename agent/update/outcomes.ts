/** Asks the updater what came of the updates that it took, until it says so. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Log } from '../../transport/net/log.ts';
import { UPDATE_VERSION_CHARS_MAX } from '../../transport/protocol/limits.ts';
import { cleanWords, refusalOf, silenceOf } from './refusals.ts';
import type { UpdateRecord } from './update-records.ts';
import { askUpdater, UpdaterSilence, type UpdaterPlace } from './updater-exchange.ts';

/** One question has this long, in ms. */
const ASK_MS_MAX = 5_000;

/** Between two questions, in ms: at first, and at most. */
const WAIT_MS_MIN = 2_000;
const WAIT_MS_MAX = 60_000;

/**
 * Asked for so long, in ms, after an update was accepted and after a start: an updater waits half an hour for mirrors
 * that are busy, goes back after another one where it reaches no admin, and fetches in between. After that the next
 * start asks again.
 */
export const OUTCOME_MS_MAX = 7_200_000;

/**
 * What an updater says came of the last update. Nothing of it is trusted: it is cut, not refused, where it is too long.
 */
const SaidOutcome = z.object({
  request: z.string().max(64).nullable(),
  outcome: z.enum(['updated', 'rolled_back', 'unchanged']),
  from: z.string(),
  to: z.string(),
  error: z.string().nullish(),
});

/** What came of one request. */
export type Outcome = NonNullable<UpdateRecord['outcome']>;

/** Who waits for it. */
export interface OutcomeOptions {
  readonly place: UpdaterPlace;
  /** Requests whose outcome is not known, the oldest first. */
  readonly awaited: () => readonly string[];
  readonly found: (request: string, outcome: Outcome) => void;
  readonly log: Log;
  /** Tests wait less, in ms. */
  readonly waitMsMin?: number;
}

/** Asks while there is something to wait for, and not at all otherwise. No method throws. */
export class Outcomes {
  readonly #options: OutcomeOptions;
  readonly #over = new AbortController();
  /** Asking goes on until then, on the clock of `performance`. */
  #untilMs = 0;
  #isAsking = false;
  /** What kept it from saying, as it was logged last. */
  #problem: string | null = null;

  constructor(options: OutcomeOptions) {
    this.#options = options;
  }

  /** Something is awaited from now on. */
  begin(): void {
    this.#untilMs = performance.now() + OUTCOME_MS_MAX;
    if (this.#isAsking || this.#over.signal.aborted || this.#options.awaited().length === 0) return;
    this.#isAsking = true;
    void this.#ask().finally(() => {
      this.#isAsking = false;
    });
  }

  close(): void {
    this.#over.abort();
  }

  async #ask(): Promise<void> {
    const { waitMsMin = WAIT_MS_MIN } = this.#options;
    const { signal } = this.#over;
    for (let waitMs = waitMsMin; performance.now() < this.#untilMs; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
      const [request] = this.#options.awaited();
      if (request === undefined) return;
      const isWorthAsking = await this.#askOnce(request);
      if (!isWorthAsking || signal.aborted || this.#options.awaited().length === 0) return;
      // Not held open for it: an agent that has nothing else to do may end.
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
    }
  }

  /** False: this updater does not say. */
  async #askOnce(request: string): Promise<boolean> {
    const { place, awaited, found } = this.#options;
    try {
      const path = `/v1/outcome?request=${encodeURIComponent(request)}`;
      const answer = await askUpdater(place, {
        method: 'GET',
        path,
        msMax: ASK_MS_MAX,
        signal: this.#over.signal,
      });
      if (answer.status === 404 || answer.status === 405) return false;
      if (answer.status < 200 || answer.status >= 300) return this.#failed(refusalOf(answer, place));
      const said = saidOutcome(answer.text, place.token);
      if (said?.request != null && awaited().includes(said.request)) found(said.request, said.outcome);
      this.#problem = null;
    } catch (error) {
      if (!(error instanceof UpdaterSilence)) throw error;
      if (!this.#over.signal.aborted) this.#failed(silenceOf(error, place));
    }
    return true;
  }

  /** Said once; an updater that is updated itself is away for a moment. */
  #failed(problem: string): true {
    const isNew = this.#problem !== problem;
    this.#problem = problem;
    if (isNew) this.#options.log.debug({ problem }, 'What came of the update is not known yet');
    return true;
  }
}

/** Null: nothing that can be understood. `request`: null where the updater began by itself. */
export function saidOutcome(
  text: string,
  token: string,
): { readonly request: string | null; readonly outcome: Outcome } | null {
  const said = SaidOutcome.safeParse(parsedJson(text)).data;
  if (said === undefined) return null;
  const { request, outcome, from, to, error } = said;
  const version = (words: string) => cleanWords(words, token, UPDATE_VERSION_CHARS_MAX);
  return {
    request,
    outcome: {
      outcome,
      from: version(from),
      to: version(to),
      error: error == null ? null : cleanWords(error, token),
    },
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
