/** When a session shows that it lives, asks for its settings anew, and takes silence for the end. Keeps no timer. */
import type { Registration, SessionRhythm } from '../../transport/protocol/agent-description.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import { PING_INTERVAL_MS, REPORT_INTERVAL_MS, SESSION_SILENCE_MS_MAX } from '../../transport/protocol/limits.ts';
import { PROTOCOL_VERSION_RHYTHM } from '../../transport/protocol/version.ts';

/** Until an admin says how often, in ms. */
const REFRESH_MS = 600_000;

/** As often as everybody, until an admin says more. */
const USUAL: SessionRhythm = { ping_ms: PING_INTERVAL_MS, report_ms: REPORT_INTERVAL_MS };

/** Pings that may go unanswered before silence is the end. */
const PINGS_MISSED = SESSION_SILENCE_MS_MAX / PING_INTERVAL_MS;

/**
 * How often an agent shows that it lives: one on a metered link as often as it says itself, where its admin goes along
 * with that; others as often as their admin tells them.
 */
export function rhythmOf(
  { rhythm }: Pick<Registration, 'rhythm'>,
  protocol: number,
  { ping_ms: pingMs = PING_INTERVAL_MS }: Pick<AgentSettings, 'ping_ms'>,
): SessionRhythm {
  if (rhythm === undefined) return { ping_ms: pingMs, report_ms: REPORT_INTERVAL_MS };
  return protocol >= PROTOCOL_VERSION_RHYTHM ? rhythm : USUAL;
}

/** All times are of the session's clock, in ms. */
export class Heartbeat {
  #rhythm = USUAL;
  #reportAtMs = 0;
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
    this.#rhythm = USUAL;
    this.#reportAtMs = 0;
    this.#heardMs = nowMs;
    this.#beatMs = this.#phase(nowMs, random);
  }

  /** The admin goes along with this rhythm. `random` as above. */
  keeps(rhythm: SessionRhythm, nowMs: number, random: number): void {
    const isKnown = rhythm.ping_ms === this.#rhythm.ping_ms && rhythm.report_ms === this.#rhythm.report_ms;
    if (isKnown) return;
    this.#rhythm = rhythm;
    this.#beatMs = this.#phase(nowMs, random);
  }

  heard(nowMs: number): void {
    this.#heardMs = nowMs;
  }

  /** A random phase keeps a fleet that came back together from pinging together. */
  #phase(nowMs: number, random: number): number {
    return nowMs + Math.ceil(this.#rhythm.ping_ms * (0.5 + random / 2));
  }

  /** Settings came: they are good for so long. */
  configured(refreshMs: number, nowMs: number): void {
    this.#refreshMs = refreshMs;
    this.#refreshAtMs = nowMs + refreshMs;
  }

  isSilent(nowMs: number): boolean {
    return nowMs - this.#heardMs >= this.#silenceMsMax;
  }

  /** Whether a beat is due; if so, the next one comes later. */
  takeBeat(nowMs: number): boolean {
    if (nowMs < this.#beatMs) return false;
    this.#beatMs = nowMs + this.#rhythm.ping_ms;
    return true;
  }

  /** Whether a report goes with this beat though nothing changed; if so, the next one comes later. */
  takeReport(nowMs: number): boolean {
    if (nowMs < this.#reportAtMs) return false;
    this.#reportAtMs = nowMs + Math.max(0, this.#rhythm.report_ms - this.#rhythm.ping_ms / 2); // beats come a little late
    return true;
  }

  /** Whether settings are to be asked for with this beat. */
  takeRefresh(nowMs: number): boolean {
    if (nowMs + this.#rhythm.ping_ms <= this.#refreshAtMs) return false; // the next beat would be too late
    this.#refreshAtMs = nowMs + this.#refreshMs;
    return true;
  }

  /** In how many ms there is something to do, at least 1. */
  nextMs(nowMs: number, isLive: boolean): number {
    const silenceMs = this.#heardMs + this.#silenceMsMax;
    return Math.max(1, (isLive ? Math.min(this.#beatMs, silenceMs) : silenceMs) - nowMs);
  }

  get #silenceMsMax(): number {
    return Math.max(SESSION_SILENCE_MS_MAX, PINGS_MISSED * this.#rhythm.ping_ms);
  }
}
