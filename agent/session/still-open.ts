/**
 * One session's questions about what may still start: when they go out, what their answers prove, and what an admin of
 * before is taken to say.
 */
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION_ASKS } from '../../transport/protocol/version.ts';
import type { SessionRunner } from './ports.ts';
import { Proofs } from './proofs.ts';

/** Made anew at each welcome. `helloMs`, and all times: on a clock that runs while the machine is suspended. */
export class Asking {
  readonly #runner: SessionRunner;
  readonly #aliveMs: () => number;
  readonly #send: (body: AgentFrameBody) => void;
  readonly #canAsk: boolean;
  readonly #proofs: Proofs;

  constructor(
    runner: SessionRunner,
    {
      aliveMs,
      send,
      protocol,
      helloMs,
    }: {
      readonly aliveMs: () => number;
      readonly send: (body: AgentFrameBody) => void;
      readonly protocol: number;
      readonly helloMs: number;
    },
  ) {
    this.#runner = runner;
    this.#aliveMs = aliveMs;
    this.#send = send;
    this.#canAsk = protocol >= PROTOCOL_VERSION_ASKS;
    this.#proofs = new Proofs(helloMs);
  }

  /** Asks now about what waits to be asked about. */
  ask(): void {
    const executions = this.#canAsk ? (this.#runner.held?.() ?? []) : [];
    if (executions.length > 0)
      this.#send({ type: 'ask-open', ask: this.#proofs.asked(this.#aliveMs()), executions: [...executions] });
  }

  /** Deliveries have arrived. */
  arriving(): void {
    this.#runner.arriving?.(this.#proofs.provenMs);
  }

  /** A ping goes out, and with it what was not answered. */
  pinging(): void {
    this.#proofs.pinged(this.#aliveMs());
    this.ask();
  }

  /**
   * An admin of before cannot be asked: what it ended while this agent was away it has said before it answered a ping
   * of later.
   */
  ponged(): void {
    this.#proofs.ponged();
    if (this.#canAsk) return;
    const held = this.#runner.held?.() ?? [];
    if (held.length > 0)
      this.#runner.release?.(
        held.map((execution) => ({ execution, expiresInMs: undefined })),
        this.#proofs.provenMs,
      );
  }

  answered({ ask, executions }: AdminFrame & { type: 'still-open' }): void {
    const askedMs = this.#proofs.answered(ask);
    if (askedMs !== null)
      this.#runner.release?.(
        executions.map(({ execution, expires_in_ms: expiresInMs }) => ({ execution, expiresInMs })),
        askedMs,
      );
  }
}
