/**
 * How mirrors that have no room are waited for: at one of them for a while, then in turn, as long as all of it may
 * take.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../transport/net/log.ts';
import { StatusProblem } from './mirror.ts';
import { UpdateProblem } from './problem.ts';

/** A mirror that is busy (429, 503) is asked so often for one file, before the next mirror is. */
export const BUSY_TRIES_MAX = 10;

/** Wait before each of these tries where a mirror names none, and at least where it does, in s. */
const BUSY_WAIT_SECONDS = 5;
const BUSY_WAIT_SECONDS_MIN = 1;

/** A mirror may ask for so long a wait, in s; longer ones count as this. */
export const BUSY_WAIT_SECONDS_MAX = 60;

/** Waits are longer by up to this share, so that machines that were told the same do not come together. */
const JITTER = 0.5;

/**
 * From its beginning an update asks mirrors in turn while one of them is busy for so long, in ms, in all. Source: an
 * admin has 64 places for machines behind one address and takes 2 minutes for 64 files of 45 MB, so 900 machines.
 */
export const BUSY_MS_MAX = 1_800_000;

/** How long a busy mirror is waited for. */
export interface RetryPolicy {
  readonly triesMax: number;
  /** From the beginning of what it is waited for, in ms. */
  readonly msMax: number;
  /** Longest wait between two tries, in s. */
  readonly waitSecondsMax: number;
}

/** Of an update. */
export const UPDATE_RETRIES: RetryPolicy = {
  triesMax: BUSY_TRIES_MAX,
  msMax: BUSY_MS_MAX,
  waitSecondsMax: BUSY_WAIT_SECONDS_MAX,
};

/** Of whoever only wants to know: that it is busy is an answer. */
export const NO_RETRIES: RetryPolicy = { triesMax: 1, msMax: 0, waitSecondsMax: 0 };

/** Who waits. */
export interface Waiting {
  readonly signal: AbortSignal;
  readonly retries: RetryPolicy;
  /** Until when mirrors are asked in turn, on the clock of `performance`. */
  readonly untilMs: number;
  /** Done before each wait: what should not stand still for it. Never rejects. */
  readonly meanwhile: () => Promise<void>;
}

/** What asking one mirror answers, once it is not busy. Rejects with its last answer when it stays so. */
export async function whileBusy<Answer>(ask: () => Promise<Answer>, waiting: Waiting): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isBusy(error) || tries >= waiting.retries.triesMax) throw error;
      await pause(error, waiting);
    }
  }
}

/**
 * The first answer of mirrors that are asked in turn. Where all fail and one of them was busy, they are asked again,
 * while there is time. Rejects with what each of them did wrong.
 */
export async function inTurn<Mirror, Answer>(
  mirrors: readonly Mirror[],
  ask: (mirror: Mirror) => Promise<Answer>,
  { log, ...waiting }: Waiting & { readonly log: Log },
): Promise<Answer> {
  for (;;) {
    const problems: UpdateProblem[] = [];
    for (const mirror of mirrors) {
      try {
        return await ask(mirror);
      } catch (error) {
        if (!(error instanceof UpdateProblem) || waiting.signal.aborted) throw error;
        problems.push(error);
      }
    }
    const busy = problems.find(isBusy);
    const reason = problems.map(({ message }) => message).join('; ');
    if (busy === undefined || performance.now() >= waiting.untilMs) throw new UpdateProblem(reason);
    log.info({ error: reason }, 'Who has the release is busy: it is asked again');
    await pause(busy, waiting);
  }
}

/** Whether it answered that it has no room now. */
export function isBusy(error: unknown): error is StatusProblem {
  return error instanceof StatusProblem && [429, 503].includes(error.status);
}

async function pause(busy: StatusProblem, { signal, retries, meanwhile }: Waiting): Promise<void> {
  await meanwhile();
  await sleep(waitMs(busy, retries), undefined, { signal });
}

function waitMs({ retryAfterSeconds }: StatusProblem, { waitSecondsMax }: RetryPolicy): number {
  const wanted = Math.max(retryAfterSeconds ?? BUSY_WAIT_SECONDS, BUSY_WAIT_SECONDS_MIN);
  return Math.min(wanted, waitSecondsMax) * 1_000 * (1 + JITTER * Math.random());
}
