/** One running actor: nact schedules and supervises it, a bounded mailbox feeds it, and each round is decided, committed, then performed. */
import { dispatch, spawn as nactSpawn, stop as nactStop } from 'nact';
import type { ActorSystemRef, Ref } from 'nact';
import type { Refusal } from '../refusal.ts';
import { UNAVAILABLE } from '../refusal.ts';
import type { Behaviour, Lease } from './behaviour.ts';
import type { Mailbox } from './mailbox.ts';
import { DatabaseUnavailable } from './ports.ts';
import type { Clock, Committer, RefusedChange } from './ports.ts';
import { TransitionFailed, decideRound } from './round.ts';
import type { KitMessage, Round } from './round.ts';
import type { Asker } from './asker.ts';
import type { Effect } from './step.ts';
import { refuseAsker } from './step.ts';

/** Why an actor ended without being asked to. */
export interface Crash {
  readonly cause: unknown;
  /** The type of the message that did it; its content is never logged, it may hold secrets. */
  readonly messageType: string | null;
}

/** Wait between two tries to read rows while the database is away, in ms. */
const RECOVER_MS = 100;

/** Wait before a write that was refused for a stale lease is tried again, in ms. A quarter of the ownership loop's round. */
const STALE_MS = 250;

const INTERNAL_ERROR: Refusal = { code: 'internal_error', message: 'Something went wrong. The log has it under the request id.' };

/** A write was refused because another admin owns the cluster now. */
export const STALE_EPOCH: Refusal = { code: 'service_unavailable', message: 'Another admin owns this cluster now. Try again shortly.', retryAfterSeconds: 1 };

/** All that one actor needs: its behaviour, its state as loaded, where it writes, and whom it tells of its end. */
export interface ActorPlan<S, M extends KitMessage> {
  readonly parent: ActorSystemRef | Ref<unknown>;
  readonly name: string;
  readonly behaviour: Behaviour<S, M>;
  readonly state: S;
  readonly mailbox: Mailbox<M>;
  readonly committer: Committer;
  readonly clock: Clock;
  lease(state: S): Lease | null;
  /** The state as its rows have it now; null when they are gone. */
  reload(): Promise<S | null>;
  /** A message that tells the behaviour of a refused write, after the reload. */
  refused(change: RefusedChange): M;
  perform(effects: readonly Effect[]): void;
  /** Its rows are gone, or were never stored. */
  vanished(): void;
  crashed(crash: Crash): void;
}

/** A started actor, as its supervisor holds it. */
export interface RunningActor {
  /** Says that the mailbox has something. */
  wake(): void;
  stop(): void;
}

/** Starts an actor. What its mailbox already holds is handled at once. */
export function spawnActor<S, M extends KitMessage>(plan: ActorPlan<S, M>): RunningActor {
  let scheduled = false;
  let stopped = false;
  /** So many rounds hold one message each, to find the one that cannot be stored. */
  let oneByOne = 0;

  const ref: Ref<'wake'> = nactSpawn(plan.parent as ActorSystemRef, (state: S, _wake: 'wake') => handle(state), plan.name, {
    initialState: plan.state,
    // Never nact's own policy: it prints the message, which may hold secrets. The supervisor starts another actor on the same mailbox.
    onCrash: (_message, _error, context) => context.stop,
  });

  async function handle(state: S): Promise<S> {
    scheduled = false;
    if (stopped) return state;
    try {
      return await drain(state);
    } catch (error) {
      stopped = true;
      queueMicrotask(() => plan.crashed(crashOf(error)));
      throw error;
    }
  }

  async function drain(state: S): Promise<S> {
    const round = decideOrDrop(state);
    const next = round.changes.length === 0 ? performed(round) : await committed(state, round);
    // One round a turn: the rest of the mailbox waits for the next one, so that other actors have theirs.
    if (plan.mailbox.size() > 0) wake();
    return next;
  }

  function performed(round: Round<S, M>): S {
    plan.perform(round.effects);
    return round.state;
  }

  async function committed(state: S, round: Round<S, M>): Promise<S> {
    let refused: readonly RefusedChange[];
    try {
      refused = await plan.committer.commit(plan.lease(state), round.changes);
    } catch (error) {
      return error instanceof DatabaseUnavailable ? inDoubt(state, round) : unstorable(state, round, error);
    }
    return refused.length === 0 ? performed(round) : afterRefusal(state, round, refused);
  }

  /** Unknown whether it was stored. Who waits is told to try again; facts are decided again on the state that the rows have. */
  function inDoubt(state: S, round: Round<S, M>): Promise<S> {
    for (const message of round.messages) answerAsker(message, UNAVAILABLE);
    plan.mailbox.putBack(round.messages.filter((message) => !isAsked(message)));
    return recovered(state);
  }

  /** One of these messages asks for what the database will never take. Nothing of the round is stored: each is decided again alone, and the one that fails alone crashes its actor once. */
  function unstorable(state: S, round: Round<S, M>, error: unknown): S {
    const [first] = round.messages;
    if (first === undefined || round.messages.length === 1) {
      if (first !== undefined) answerAsker(first, INTERNAL_ERROR);
      throw new NotStorable(first?.type ?? null, error);
    }
    plan.mailbox.putBack(round.messages);
    oneByOne = round.messages.length;
    return state;
  }

  /** The state from rows, as soon as the database is back; a live session stays. */
  async function recovered(live: S): Promise<S> {
    for (;;) {
      try {
        await plan.committer.ready();
        const rows = await plan.reload();
        if (stopped) return live;
        if (rows === null) {
          plan.vanished();
          return live;
        }
        const state = plan.behaviour.refreshed(live, rows);
        plan.perform(plan.behaviour.owed(state, plan.clock.nowMs()));
        return state;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        await pause(RECOVER_MS);
        if (stopped) return live;
      }
    }
  }

  function decideOrDrop(state: S): Round<S, M> {
    const messagesMax = oneByOne > 0 ? 1 : undefined;
    oneByOne = Math.max(0, oneByOne - 1);
    try {
      return decideRound(plan.behaviour, state, plan.mailbox, plan.clock.nowMs(), messagesMax);
    } catch (error) {
      if (error instanceof TransitionFailed) {
        plan.mailbox.putBack(error.before as M[]);
        answerAsker(error.poison as M, INTERNAL_ERROR);
      }
      throw error;
    }
  }

  async function afterRefusal(before: S, round: Round<S, M>, refused: readonly RefusedChange[]): Promise<S> {
    const refusal = refused[0]?.refusal ?? UNAVAILABLE;
    const [first] = round.messages;
    const isStale = refusal === STALE_EPOCH;
    if (round.alone && first !== undefined && isAsked(first)) {
      answerAsker(first, refusal);
      return isStale ? before : recovered(before);
    }
    if (isStale) {
      // Either the lease ran out while the database was away, and is renewed in a moment; or another admin took over, and the ownership loop ends this actor.
      plan.mailbox.putBack(round.messages);
      await pause(STALE_MS);
      return before;
    }
    plan.perform(round.effects);
    plan.mailbox.putBack(refused.map((change) => plan.refused(change)));
    return recovered(round.state);
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      plan.clock.after(ms, resolve);
    });
  }

  function answerAsker(message: M, refusal: Refusal): void {
    if (isAsked(message)) plan.perform([refuseAsker(message.asker, refusal)]);
  }

  function wake(): void {
    if (scheduled || stopped) return;
    scheduled = true;
    dispatch(ref, 'wake');
  }

  if (plan.mailbox.size() > 0) wake();
  return {
    wake,
    stop() {
      if (stopped) return;
      stopped = true;
      nactStop(ref);
    },
  };
}

/** The database took a change for wrong: a bug. The message is out of the mailbox, so that it crashes its actor once. */
class NotStorable extends Error {
  override readonly name = 'NotStorable';
  readonly messageType: string | null;
  constructor(messageType: string | null, cause: unknown) {
    super('a change cannot be stored', { cause });
    this.messageType = messageType;
  }
}

function isAsked<M extends KitMessage>(message: M): message is M & { readonly asker: Asker } {
  return message.asker !== undefined && message.asker !== null;
}

function crashOf(error: unknown): Crash {
  if (error instanceof NotStorable) return { cause: error.cause, messageType: error.messageType };
  if (error instanceof TransitionFailed) return { cause: error.cause, messageType: (error.poison as KitMessage).type };
  return { cause: error, messageType: null };
}
