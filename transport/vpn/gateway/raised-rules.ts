/** The rules around the gateway's listeners: set anew when they change and now and then, and missed when they fail. */
import type { Firewall, ListenerAddress } from './firewall.ts';

/** Rules that somebody else took away, as a firewall that is loaded again does, stand again after this, in ms. */
const FIREWALL_AGAIN_MS = 5_000;

/**
 * Rules that could not be set so often, one time after the other, over so long, in ms, may be gone, and members may
 * reach what else this machine serves. More than once, and without the time that nft took, as a machine that is busy
 * may let it run out of time though the rules stand.
 */
const FIREWALL_FAILURES_MAX = 3;
const FIREWALL_GONE_MS = 3_000;

/** No rules were set, and none failed. */
const NOTHING_RAISED = { for: '', atMs: -Infinity, failures: 0, failingSinceMs: Infinity, waitedMs: 0 };

/** What is known of them. */
export class RaisedRules {
  readonly #firewall: Firewall;
  readonly #monotonicMs: () => number;
  #raised = NOTHING_RAISED;
  #problem: string | null = null;

  constructor(firewall: Firewall, monotonicMs: () => number) {
    this.#firewall = firewall;
    this.#monotonicMs = monotonicMs;
  }

  /** For these listeners, unless they stand. Null: they do; else why not, in one sentence. Never rejects. */
  async raise(open: readonly ListenerAddress[]): Promise<string | null> {
    const beganMs = this.#monotonicMs();
    const of = JSON.stringify(open);
    if (of === this.#raised.for && beganMs - this.#raised.atMs < FIREWALL_AGAIN_MS) return this.#problem;
    this.#problem = await this.#firewall.raise(open);
    const endedMs = this.#monotonicMs();
    const { failures, failingSinceMs, waitedMs } = this.#raised;
    this.#raised =
      this.#problem === null
        ? { ...NOTHING_RAISED, for: of, atMs: endedMs }
        : {
            ...this.#raised,
            failures: failures + 1,
            failingSinceMs: Math.min(failingSinceMs, beganMs),
            waitedMs: waitedMs + endedMs - beganMs,
          };
    return this.#problem;
  }

  /** Whether they could not be set for so long that members may reach more than the listeners. */
  get areGone(): boolean {
    const { failures, failingSinceMs, waitedMs } = this.#raised;
    return failures >= FIREWALL_FAILURES_MAX && this.#monotonicMs() - failingSinceMs - waitedMs >= FIREWALL_GONE_MS;
  }

  /** What follows begins as at first. */
  forget(): void {
    this.#raised = NOTHING_RAISED;
    this.#problem = null;
  }
}
