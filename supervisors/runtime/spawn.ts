/**
 * One running actor: nact schedules and supervises it, a bounded mailbox feeds it, and each batch is decided,
 * committed, then performed.
 */
/* eslint-disable typescript/no-generated-empty-object-type -- nact types its Ref as an empty class */
import { dispatch, spawn as nactSpawn, stop as nactStop } from 'nact';
import type { ActorSystemRef, Ref } from 'nact';
import type { Refusal } from '../../actors/refusal.ts';
import { IN_DOUBT, STALE_EPOCH, UNAVAILABLE } from '../../actors/refusal.ts';
import type { Behaviour, Lease } from '../../actors/behaviour.ts';
import type { Mailbox } from './mailbox.ts';
import { DatabaseUnavailable, NothingWritten } from '../../actors/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import { TransitionFailed, decideBatch, expectsReply, splitEarly, type Batch, type KitMessage } from './batch.ts';
import { crashOf, NotStorable, type Crash } from './crash.ts';
import { refuse, type Effect } from '../../actors/step.ts';
import type { Committer, RefusedChange } from '../ports.ts';

/** Wait between two tries to read rows while the database is away, in ms. */
const RECOVER_MS = 100;

/**
 * Wait before a write that was refused for a stale lease is tried again, in ms. A quarter of the ownership loop's
 * batch.
 */
const STALE_MS = 250;

const INTERNAL_ERROR: Refusal = {
  code: 'internal_error',
  message: 'Something went wrong. The log has it under the request id.',
};

/** Where nact keeps an actor. */
export interface ActorSlot {
  readonly parent: ActorSystemRef | Ref<unknown>;
  readonly name: string;
}

/** All that one actor needs: its behaviour, its state as loaded, where it writes, and whom it tells of its end. */
export interface ActorPlan<S, M extends KitMessage> {
  readonly behaviour: Behaviour<S, M>;
  readonly mailbox: Mailbox<M>;
  readonly committer: Committer;
  readonly clock: Clock;
  lease(state: S): Lease | null;
  /** The state as its rows have it now; null when they are gone. */
  reload(): Promise<S | null>;
  /** A message that tells the behaviour of a refused write, after the reload. */
  refused(change: RefusedChange): M;
  /** `decidedMs`: when they were decided, in Unix ms. */
  perform(effects: readonly Effect[], decidedMs: number): void;
  /** Its rows are gone, or were never stored. */
  vanished(): void;
  /** Whether its rows are under another lease than the one under which it lives. */
  isMoved(rows: S): boolean;
  /** It is to start again, under the lease of its rows. */
  moved(): void;
  crashed(crash: Crash): void;
}

/** A started actor, as its supervisor holds it. */
export interface RunningActor {
  /** As the last finished batch left it, for whoever looks in from outside. */
  readonly state: unknown;
  /** Says that the mailbox has something. */
  wake(): void;
  stop(): void;
}

/** Starts an actor. What its mailbox already holds is handled at once. */
export function spawnActor<S, M extends KitMessage>(plan: ActorPlan<S, M>, slot: ActorSlot, state: S): RunningActor {
  return new Actor(plan, slot, state);
}

/**
 * Never nact's own policy: it prints the message, which may hold secrets. The supervisor starts another actor on the
 * same mailbox.
 */
const STOP_ON_CRASH = (_message: unknown, _error: unknown, context: { readonly stop: symbol }): symbol => context.stop;

/** A class, because there is one for each of 10,000 nodes: methods are shared. */
class Actor<S, M extends KitMessage> implements RunningActor {
  readonly #plan: ActorPlan<S, M>;
  readonly #ref: Ref<'wake'>;
  /** As nact has it, or a batch behind it. */
  state: S;
  #scheduled = false;
  /** Ends the wait of a message that lingers; null: none waits. */
  #linger: (() => void) | null = null;
  #stopped = false;
  /** So many batches hold one message each, to find the one that cannot be stored. */
  #oneByOne = 0;

  constructor(plan: ActorPlan<S, M>, slot: ActorSlot, initialState: S) {
    this.#plan = plan;
    this.state = initialState;
    this.#ref = nactSpawn(slot.parent as ActorSystemRef, (state: S, _wake: 'wake') => this.#handle(state), slot.name, {
      initialState,
      onCrash: STOP_ON_CRASH as never,
    });
    if (plan.mailbox.size() > 0) this.wake();
  }

  wake(): void {
    if (this.#scheduled || this.#stopped) return;
    const lingerMs = this.#linger === null ? this.#lingerMs() : 0;
    if (lingerMs > 0) this.#linger = this.#plan.clock.after(lingerMs, () => this.#schedule());
    else this.#schedule();
  }

  #schedule(): void {
    this.#linger?.();
    this.#linger = null;
    this.#scheduled = true;
    dispatch(this.#ref, 'wake');
  }

  #lingerMs(): number {
    const { behaviour, mailbox } = this.#plan;
    const message = mailbox.peek();
    if (behaviour.lingerMs === undefined || message === undefined || mailbox.size() > 1) return 0;
    return behaviour.lingerMs(this.state, message);
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#linger?.();
    nactStop(this.#ref);
  }

  /**
   * One batch a turn: the rest of the mailbox waits for the next one, so that other actors have theirs. Makes no
   * promise unless something is stored.
   */
  #handle(state: S): S | Promise<S> {
    this.#scheduled = false;
    if (this.#stopped) return state;
    try {
      const batch = this.#decideOrDrop(state);
      if (batch.changes.length > 0) return this.#committed(state, this.#begun(batch));
      return this.#turned(this.#performed(batch));
    } catch (error) {
      throw this.#crashing(error);
    }
  }

  #turned(state: S): S {
    this.state = state;
    if (this.#plan.mailbox.size() > 0) this.wake();
    return state;
  }

  #crashing(error: unknown): unknown {
    this.#stopped = true;
    this.#linger?.();
    queueMicrotask(() => this.#plan.crashed(crashOf(error)));
    return error;
  }

  /** Performs what goes out before the commit, once: the rest of the batch. */
  #begun(batch: Batch<S, M>): Batch<S, M> {
    const [early, rest] = splitEarly(batch);
    this.#plan.perform(early, batch.decidedMs);
    return rest;
  }

  #performed(batch: Batch<S, M>): S {
    this.#plan.perform(batch.effects, batch.decidedMs);
    for (const { onceStored } of batch.changes)
      if (onceStored !== undefined) this.#plan.perform(onceStored, batch.decidedMs);
    return batch.state;
  }

  async #committed(state: S, batch: Batch<S, M>): Promise<S> {
    try {
      let refused: readonly RefusedChange[];
      try {
        const isAwaited = batch.messages.some(expectsReply);
        refused = await this.#plan.committer.commit(this.#plan.lease(state), batch.changes, isAwaited);
      } catch (error) {
        return this.#turned(
          error instanceof DatabaseUnavailable
            ? await this.#inDoubt(state, batch, error instanceof NothingWritten ? UNAVAILABLE : IN_DOUBT)
            : this.#unstorable(state, batch, error),
        );
      }
      return this.#turned(
        refused.length === 0 ? this.#performed(batch) : await this.#afterRefusal(state, batch, refused),
      );
    } catch (error) {
      throw this.#crashing(error);
    }
  }

  /**
   * Unknown whether it was stored. Who waits is told to try again; facts are decided again on the state that the rows
   * have.
   */
  async #inDoubt(state: S, batch: Batch<S, M>, refusal: Refusal): Promise<S> {
    for (const message of batch.messages) this.#refuse(message, refusal);
    const facts = batch.messages.filter((message) => !expectsReply(message));
    this.#plan.mailbox.putBack(facts);
    if (refusal === UNAVAILABLE && facts.length > 0) await this.#pause(RECOVER_MS);
    return this.#recovered(state);
  }

  /**
   * One of these messages asks for what the database will never take. Nothing of the batch is stored: each is decided
   * again alone, and the one that fails alone crashes its actor once.
   */
  #unstorable(state: S, batch: Batch<S, M>, error: unknown): S {
    const [first] = batch.messages;
    if (first === undefined || batch.messages.length === 1) {
      if (first !== undefined) this.#refuse(first, INTERNAL_ERROR);
      throw new NotStorable(first?.type ?? null, error);
    }
    this.#plan.mailbox.putBack(batch.messages);
    this.#oneByOne = batch.messages.length;
    return state;
  }

  /** The state from rows, as soon as the database is back; a live session stays. */
  async #recovered(live: S): Promise<S> {
    const plan = this.#plan;
    for (;;) {
      try {
        await plan.committer.ready();
        const rows = await plan.reload();
        if (this.#stopped) return live;
        if (rows === null) {
          plan.vanished();
          return live;
        }
        if (plan.isMoved(rows)) {
          plan.moved();
          return live;
        }
        const state = plan.behaviour.refreshed(live, rows);
        const nowMs = plan.clock.nowMs();
        plan.perform(plan.behaviour.recoveryEffects(state, nowMs), nowMs);
        return state;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        await this.#pause(RECOVER_MS);
        if (this.#stopped) return live;
      }
    }
  }

  #decideOrDrop(state: S): Batch<S, M> {
    const plan = this.#plan;
    const messagesMax = this.#oneByOne > 0 ? 1 : undefined;
    this.#oneByOne = Math.max(0, this.#oneByOne - 1);
    try {
      return decideBatch(plan.behaviour, state, plan.mailbox, plan.clock.nowMs(), messagesMax);
    } catch (error) {
      if (error instanceof TransitionFailed) {
        plan.mailbox.putBack(error.before as M[]);
        this.#refuse(error.poison as M, INTERNAL_ERROR);
      }
      throw error;
    }
  }

  async #afterRefusal(before: S, batch: Batch<S, M>, refused: readonly RefusedChange[]): Promise<S> {
    const plan = this.#plan;
    // A step that was stored in parts may have lost its lease between them, whatever else was refused of it.
    const isStale = refused.some((one) => one.refusal === STALE_EPOCH);
    const refusal = isStale ? STALE_EPOCH : (refused[0]?.refusal ?? UNAVAILABLE);
    const [first] = batch.messages;
    if (batch.alone && first !== undefined && expectsReply(first)) {
      this.#refuse(first, refusal);
      return isStale ? before : this.#recovered(before);
    }
    if (isStale) {
      // Either the lease ran out while the database was away, and is renewed in a moment; or another admin took over,
      // and the ownership loop ends this actor.
      plan.mailbox.putBack(batch.messages);
      await this.#pause(STALE_MS);
      return before;
    }
    plan.perform(batch.effects, batch.decidedMs);
    const without = new Set(refused.map((one) => one.change));
    for (const change of batch.changes)
      if (change.onceStored !== undefined && !without.has(change)) plan.perform(change.onceStored, batch.decidedMs);
    plan.mailbox.putBack(refused.map((change) => plan.refused(change)));
    return this.#recovered(batch.state);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#plan.clock.after(ms, resolve);
    });
  }

  #refuse(message: M, refusal: Refusal): void {
    if (expectsReply(message)) this.#plan.perform([refuse(message.replyTo, refusal)], this.#plan.clock.nowMs());
  }
}
