/**
 * Two agents with one identity, as after a machine was cloned: each takes the session of the other, so that the node is
 * now one machine and now the other. Both notice, since the one whose session is taken is told so by the admin.
 */
import { RECONNECT_MS_MAX } from '../../transport/protocol/limits.ts';

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

/** One agent's. */
export class SharedIdentity {
  readonly #nowMs: () => number;
  #lostMs: number | null = null;

  /** A clock that never goes back, in ms. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Another agent's session of this node took over. */
  lost(): void {
    this.#lostMs = this.#nowMs();
  }

  /** One sentence while another agent is there too; else null. */
  get problem(): string | null {
    return this.#lostMs !== null && this.#nowMs() - this.#lostMs < SHARED_MS ? SHARED : null;
  }
}
