/** When a session shows that it lives, asks for its settings anew, and takes silence for the end. Keeps no timer. */
import { PING_INTERVAL_MS, REPORT_INTERVAL_MS, SESSION_SILENCE_MS_MAX } from '../../transport/protocol/limits.ts';

/** Until an admin says how often, in ms. */
const REFRESH_MS = 600_000;

/** All times are of the session's clock, in ms. */
export class Heartbeat {
  #heardMs = 0;
  #beatMs = 0;
  #refreshMs = REFRESH_MS;
  #refreshAtMs = 0;

  /** When the admin was heard last. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** A connection was opened. `random` is uniform in [0, 1). */
  opened(nowMs: number, random: number): void {
    this.#heardMs = nowMs;
    // A random phase keeps a fleet that came back together from pinging together.
    this.#beatMs = nowMs + Math.ceil(PING_INTERVAL_MS * (0.5 + random / 2));
  }

  heard(nowMs: number): void {
    this.#heardMs = nowMs;
  }

  /** Settings came: they are good for so long. */
  configured(refreshMs: number, nowMs: number): void {
    this.#refreshMs = refreshMs;
    this.#refreshAtMs = nowMs + refreshMs;
  }

  isSilent(nowMs: number): boolean {
    return nowMs - this.#heardMs >= SESSION_SILENCE_MS_MAX;
  }

  /** Whether a beat is due; if so, the next one comes later. */
  takeBeat(nowMs: number): boolean {
    if (nowMs < this.#beatMs) return false;
    this.#beatMs = nowMs + Math.min(PING_INTERVAL_MS, REPORT_INTERVAL_MS);
    return true;
  }

  /** Whether settings are to be asked for with this beat. */
  takeRefresh(nowMs: number): boolean {
    if (nowMs + PING_INTERVAL_MS <= this.#refreshAtMs) return false; // the next beat would be too late
    this.#refreshAtMs = nowMs + this.#refreshMs;
    return true;
  }

  /** In how many ms there is something to do, at least 1. */
  nextMs(nowMs: number, isLive: boolean): number {
    const silenceMs = this.#heardMs + SESSION_SILENCE_MS_MAX;
    return Math.max(1, (isLive ? Math.min(this.#beatMs, silenceMs) : silenceMs) - nowMs);
  }
}
