/**
 * Two agents with one identity, as after a machine was cloned: each takes the session of the other, so that the node is
 * now one machine and now the other. Both notice, since the one whose session is taken is told so by the admin. With a
 * key to join again each takes the other's token as well.
 */
import { RECONNECT_MS_MAX } from '../../transport/protocol/limits.ts';
import { UNKNOWN_MS_MAX } from './refusals.ts';

/**
 * For how long one such loss is remembered, in ms: two agents lose their sessions in turn after RECONNECT_MS_MAX, and
 * what was put right is soon forgotten.
 */
export const SHARED_MS = 4 * RECONNECT_MS_MAX;

/** What to do about it; `leave` would delete the node, which the other machine needs. */
export const SHARED_HINT =
  'Stop the agent on the machine that is the copy, run `edge-agent leave --local` there, and start it with an ENROLLMENT_KEY of its own.';

const SHARED =
  'Another agent runs with the identity of this machine, and the two take the node from each other: one has a copy of the data directory of the other.';

/** One agent's, over all of its enrolments. */
export class SharedIdentity {
  readonly #nowMs: () => number;
  /** Until when it is shared for all that is known, and until when its token that is taken was taken again. */
  #sharedUntilMs = -Infinity;
  #takenUntilMs = -Infinity;
  #waitMs = 0;

  /** A clock that never goes back, in ms. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Another agent's session of this node took over. */
  lost(): void {
    this.#sharedUntilMs = Math.max(this.#sharedUntilMs, this.#nowMs() + SHARED_MS);
  }

  /**
   * The token of the node went to another enrolment. Returns for how long to leave the node to that, in ms: once, it
   * may have been a late try of this machine. Again, before the longest wait of another agent is over, it is that
   * agent's: each wait is then twice the one before, up to UNKNOWN_MS_MAX, as a token that is taken back costs the
   * other machine what runs there. That is a problem until SHARED_MS after the wait: who then has the node does not
   * know whether the other one waits to take it, or was stopped.
   */
  taken(): number {
    const nowMs = this.#nowMs();
    const isAgain = nowMs < this.#takenUntilMs;
    this.#waitMs = isAgain ? Math.min(2 * this.#waitMs, UNKNOWN_MS_MAX) : RECONNECT_MS_MAX;
    this.#takenUntilMs = nowMs + this.#waitMs + UNKNOWN_MS_MAX + SHARED_MS;
    if (isAgain) this.#sharedUntilMs = Math.max(this.#sharedUntilMs, nowMs + this.#waitMs + SHARED_MS);
    return this.#waitMs;
  }

  /** One sentence while another agent is there too, or was a moment ago; else null. */
  get problem(): string | null {
    return this.#nowMs() < this.#sharedUntilMs ? SHARED : null;
  }
}
