/**
 * One session's questions about what may still start: when they go out, what their answers prove, and what an admin of
 * before is taken to say.
 */
import { fullBucket, spend, type BucketLimits } from '../../transport/net/token-bucket.ts';
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../transport/protocol/limits.ts';
import { PROTOCOL_VERSION_ASKS } from '../../transport/protocol/version.ts';
import type { SessionRunner } from './ports.ts';
import { Proofs } from './proofs.ts';

/**
 * Executions that one agent asks about at once, and how many more each second. An admin reads the rows for each, and
 * hangs up on a node that names more than LOOKED_UP_BURST_MAX and LOOKED_UP_PER_SECOND_MAX, over all of its sessions:
 * room for this, for the hellos and SSH logins of two sessions, and for twice as many a second.
 */
export const ASKED_BURST_MAX = EXECUTIONS_PER_FRAME_MAX;
export const ASKED_PER_SECOND_MAX = 32;

/** What SSH logins that are told of count for at least, in executions, as with an admin. */
export const GRANTS_COST_MIN = 32;

/** As much of it may be owed, in executions: on a path that broke often, nothing is asked for 32 s. */
export const ASKED_DEBT_MAX = ASKED_BURST_MAX;

/** A token is an execution that may be asked about. */
const LIMITS: BucketLimits = { tokensMax: ASKED_BURST_MAX, tokensPerSecond: ASKED_PER_SECOND_MAX };

/** What one agent may still have looked up, over all of its sessions. Times as those of Asking. */
export class LookUpAllowance {
  #bucket = fullBucket(LIMITS);

  /** Executions that may be asked about now. */
  left(nowMs: number): number {
    this.#spend(0, nowMs);
    return Math.max(0, Math.floor(this.#bucket.tokens));
  }

  asked(executions: number, nowMs: number): void {
    this.#spend(executions, nowMs);
  }

  /** These are told of in any case: what is too much holds up questions. */
  namedLogins(grants: number, nowMs: number): void {
    this.#spend(Math.max(GRANTS_COST_MIN, grants), nowMs);
  }

  #spend(executions: number, nowMs: number): void {
    const { tokens, atMs } = spend(this.#bucket, LIMITS, executions, nowMs);
    this.#bucket = { tokens: Math.max(-ASKED_DEBT_MAX, tokens), atMs };
  }
}

const NOTHING_HELD: ReadonlyMap<ExecutionId, number> = new Map();

/** Made anew at each welcome. `helloMs`, and all times: on a clock that runs while the machine is suspended. */
export class Asking {
  readonly #runner: SessionRunner;
  readonly #aliveMs: () => number;
  readonly #send: (body: AgentFrameBody) => void;
  readonly #canAsk: boolean;
  readonly #proofs: Proofs;
  /** When each of those that are held was asked about last. */
  readonly #asked = new Map<ExecutionId, number>();
  readonly #allowance: LookUpAllowance;
  /** Not before this is anything asked again. */
  #againMs = 0;
  /** The time as it was last read. */
  #lastMs: number;

  constructor(
    runner: SessionRunner,
    {
      aliveMs,
      send,
      protocol,
      helloMs,
      allowance,
    }: {
      readonly aliveMs: () => number;
      readonly send: (body: AgentFrameBody) => void;
      readonly protocol: number;
      readonly helloMs: number;
      readonly allowance: LookUpAllowance;
    },
  ) {
    this.#runner = runner;
    this.#aliveMs = aliveMs;
    this.#send = send;
    this.#canAsk = protocol >= PROTOCOL_VERSION_ASKS;
    this.#proofs = new Proofs(helloMs);
    this.#allowance = allowance;
    this.#lastMs = helloMs;
  }

  /** Asks now about what waits to be asked about, as far as it was not since it does. */
  ask(): void {
    this.#ask(false);
  }

  /** Deliveries have arrived. */
  arriving(): void {
    this.#readClock();
    this.#runner.arriving?.(this.#proofs.provenMs);
  }

  /**
   * A ping goes out, and with it what was not asked yet. What was not answered is asked again: an answer, or the cancel
   * in its place, may be lost. The more that is, the later.
   */
  pinging(): void {
    const nowMs = this.#readClock();
    this.#proofs.pinged(nowMs);
    this.#ask(nowMs >= this.#againMs);
  }

  /**
   * An admin of before cannot be asked: what it ended while this agent was away it has said before it answered a ping
   * of later.
   */
  ponged(): void {
    this.#readClock();
    this.#proofs.ponged();
    if (this.#canAsk) return;
    const held = this.#runner.held?.() ?? NOTHING_HELD;
    if (held.size > 0)
      this.#runner.release?.(
        [...held.keys()].map((execution) => ({ execution, expiresInMs: undefined })),
        this.#proofs.provenMs,
      );
  }

  answered({ ask, executions }: AdminFrame & { type: 'still-open' }): void {
    this.#readClock();
    const askedMs = this.#proofs.answered(ask);
    if (askedMs !== null)
      this.#runner.release?.(
        executions.map(({ execution, expires_in_ms: expiresInMs }) => ({ execution, expiresInMs })),
        askedMs,
      );
  }

  /** The time now. One that went back, as where a container has two clocks, has all be asked and proven anew. */
  #readClock(): number {
    const nowMs = this.#aliveMs();
    if (nowMs < this.#lastMs) {
      this.#proofs.wentBack(nowMs);
      this.#asked.clear();
      this.#againMs = 0;
    }
    this.#lastMs = nowMs;
    return nowMs;
  }

  #ask(isAgain: boolean): void {
    const nowMs = this.#readClock();
    if (!this.#canAsk) return;
    const held = this.#runner.held?.() ?? NOTHING_HELD;
    for (const execution of this.#asked.keys()) if (!held.has(execution)) this.#asked.delete(execution);
    const first: ExecutionId[] = [];
    const again: ExecutionId[] = [];
    for (const [execution, sinceMs] of held) {
      const askedMs = this.#asked.get(execution) ?? null;
      if (askedMs === null || askedMs < sinceMs) first.push(execution);
      else if (isAgain) again.push(execution);
    }
    const executions = [...first, ...again].slice(0, this.#allowance.left(nowMs));
    if (executions.length === 0) return;
    for (const execution of executions) this.#asked.set(execution, nowMs);
    this.#allowance.asked(executions.length, nowMs);
    this.#againMs = Math.max(this.#againMs, nowMs) + (executions.length * 1_000) / ASKED_PER_SECOND_MAX;
    this.#send({ type: 'ask-open', ask: this.#proofs.asked(nowMs), executions });
  }
}
