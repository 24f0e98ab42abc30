/** Tells the updater of this machine to fetch the newest release. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isNobodyThere, refusalOf, silenceOf } from './refusals.ts';
import { askUpdater, UpdaterSilence, type UpdaterPlace } from './updater-exchange.ts';

/**
 * From the question of an admin to the answer that it gets, in ms, however often the updater is asked. The admin gives
 * up after 60 s: that leaves time for what lies between. Source: docs/architecture/self-updates.md.
 */
export const SIGNAL_MS_MAX = 50_000;

/** An updater that is busy and does not say until when is asked again after this, in ms, as Watchtower wants it. */
const BUSY_MS = 30_000;

/** One that says "at once" is not asked more often than this, in ms. */
const BUSY_MS_MIN = 1_000;

/**
 * An updater ends after each update of itself, and its service starts it anew: where nobody listens, it is looked for
 * so long whether somebody does, in ms. Several times the RestartSec of deploy/systemd/edge-updater.service.
 */
export const RESTART_MS_MAX = 20_000;

/** From one such look to the next, in ms. */
const RESTART_LOOK_MS = 500;

/** Names the request to edge-updater; Watchtower does not look at it. */
export const REQUEST_HEADER = 'x-edge-update-request';

/** Tests have their own time. */
export interface SignalLimits {
  readonly msMax?: number;
  readonly busyMsMin?: number;
  readonly restartMsMax?: number;
}

/**
 * Resolves with null when the updater took the signal, else with the reason why not, in one line. One that is busy is
 * asked again when it says, as long as there is time, and one that is not there once it may have been started anew.
 * Never rejects, but by an aborted `signal`.
 */
export async function signalUpdate(
  place: UpdaterPlace,
  request: string,
  signal: AbortSignal,
  { msMax = SIGNAL_MS_MAX, busyMsMin = BUSY_MS_MIN, restartMsMax = RESTART_MS_MAX }: SignalLimits = {},
): Promise<string | null> {
  const endMs = performance.now() + msMax;
  let missedMs: number | null = null;
  for (;;) {
    const leftMs = endMs - performance.now();
    try {
      // Not cut after the connection stands: Watchtower of containrrr answers when its work is done.
      const answer = await askUpdater(place, {
        method: 'POST',
        path: '/v1/update?async=true',
        headers: { [REQUEST_HEADER]: request },
        msMax: Math.max(1, Math.round(leftMs)),
        signal,
      });
      missedMs = null;
      if (answer.status >= 200 && answer.status < 300) return null;
      if (answer.status !== 429) return refusalOf(answer, place);
      const waitMs = Math.max(busyMsMin, retryAfterMs(answer.retryAfter, Date.now()) ?? BUSY_MS);
      if (performance.now() + waitMs >= endMs) return refusalOf(answer, place);
      await sleep(waitMs, undefined, { signal });
    } catch (error) {
      if (signal.aborted || !(error instanceof UpdaterSilence)) throw error;
      missedMs ??= performance.now();
      const lookMs = performance.now() + RESTART_LOOK_MS;
      if (!isNobodyThere(error) || lookMs >= Math.min(endMs, missedMs + restartMsMax)) return silenceOf(error, place);
      await sleep(RESTART_LOOK_MS, undefined, { signal });
    }
  }
}

/** Seconds, or a date. Null: neither, or none. Source: RFC 9110, 10.2.3. */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/u.test(text)) return Number(text) * 1_000;
  // what else Date.parse takes for a date is none here
  const atMs = /^[A-Z][a-z]{2},/u.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
