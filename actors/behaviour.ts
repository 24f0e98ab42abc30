/** What makes an actor of a kind: pure, total functions of state. */
import type { Effect, Step } from './step.ts';

/**
 * The right to write for a cluster, as the owner holds it. Every write carries it; a stale epoch changes no row (O1).
 */
export interface Lease {
  readonly cluster: string;
  readonly epoch: number;
}

/**
 * A kind of actor.
 * @typeParam S its state: immutable, rebuilt from rows after any crash
 * @typeParam M its messages
 */
export interface Behaviour<S, M> {
  /** What one message makes of the state. `nowMs` is Unix time in ms. Same reference back: nothing is written. */
  transition(state: S, message: M, nowMs: number): Step<S>;
  /** What is left to do once the messages of a batch are decided: once for all of them. Absent: nothing. */
  settled?(state: S, nowMs: number): Step<S>;
  /** Effects to ask for again after a start, a crash, or a change of owner. */
  recoveryEffects(state: S, nowMs: number): readonly Effect[];
  /**
   * For how long a message may wait for others to be stored together with it, in ms, where it is alone. Whatever comes
   * ends the wait. Absent: none waits.
   */
  lingerMs?(state: S, message: M): number;
  /** Fresh rows under a live actor: keeps what rows do not hold (its session), takes the rest from `rows`. */
  refreshed(live: S, rows: S): S;
}
