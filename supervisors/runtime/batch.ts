/** A batch: the messages that an actor decides before one commit. Pure. */
import { isHot } from '../../actors/writes.ts';
import type { Behaviour } from '../../actors/behaviour.ts';
import { BATCH_MESSAGES_MAX } from '../../actors/limits.ts';
import type { Mailbox } from './mailbox.ts';
import type { ReplyTo } from '../../actors/reply-to.ts';
import type { Change, Effect, Step } from '../../actors/step.ts';

/** What a message must look like for the kit: it has a type, and perhaps someone who waits. */
export interface KitMessage {
  readonly type: string;
  readonly replyTo?: ReplyTo | null;
}

export interface Batch<S, M> {
  readonly state: S;
  readonly changes: readonly Change[];
  readonly effects: readonly Effect[];
  readonly messages: readonly M[];
  /** The batch is one message that someone waits for, or one cold write: a refusal belongs to it alone. */
  readonly alone: boolean;
  /** When it was decided, in Unix ms. */
  readonly decidedMs: number;
}

/** A transition threw: a bug. The message is out of the mailbox, so that it crashes its actor once. */
export class TransitionFailed<M> extends Error {
  override readonly name = 'TransitionFailed';
  readonly poison: M;
  readonly before: readonly M[];
  constructor(poison: M, before: readonly M[], cause: unknown) {
    super('a transition threw', { cause });
    this.poison = poison;
    this.before = before;
  }
}

/**
 * Decides waiting messages one after another, each on the state that the one before left, and gathers their changes for
 * one commit.
 * A message that someone waits for and a cold write stand alone, so that their refusal has one owner.
 */
export function decideBatch<S, M extends KitMessage>(
  behaviour: Behaviour<S, M>,
  state: S,
  mailbox: Mailbox<M>,
  nowMs: number,
  messagesMax: number = BATCH_MESSAGES_MAX,
): Batch<S, M> {
  const messages: M[] = [];
  let changes: readonly Change[] = [];
  let effects: readonly Effect[] = [];
  let next = state;
  for (let message = mailbox.peek(); message !== undefined && messages.length < messagesMax; message = mailbox.peek()) {
    const isAwaited = expectsReply(message);
    if (isAwaited && messages.length > 0) break;
    const decided = decide(behaviour, next, message, nowMs, mailbox, messages);
    const alone = isAwaited || decided.changes.some((change) => !isHot(change.write));
    if (alone && messages.length > 0) break;
    mailbox.shift();
    messages.push(message);
    next = decided.state;
    changes = join(changes, decided.changes);
    effects = join(effects, decided.effects);
    if (alone) return settled(behaviour, { state: next, changes, effects, messages, alone, decidedMs: nowMs });
  }
  return settled(behaviour, { state: next, changes, effects, messages, alone: false, decidedMs: nowMs });
}

/** With what is left to do after all of them. */
function settled<S, M>(behaviour: Behaviour<S, M>, batch: Batch<S, M>): Batch<S, M> {
  const last = batch.messages.at(-1);
  if (behaviour.settled === undefined || last === undefined) return batch;
  try {
    const { state, changes, effects } = behaviour.settled(batch.state, batch.decidedMs);
    return { ...batch, state, changes: join(batch.changes, changes), effects: join(batch.effects, effects) };
  } catch (cause) {
    throw new TransitionFailed(last, batch.messages.slice(0, -1), cause);
  }
}

/** Whether somebody waits for what comes of it. */
export function expectsReply<M extends KitMessage>(message: M): message is M & { readonly replyTo: ReplyTo } {
  return message.replyTo !== undefined && message.replyTo !== null;
}

/** What of a batch goes out before it is stored, and the batch without it. */
export function splitEarly<S, M>(batch: Batch<S, M>): readonly [readonly Effect[], Batch<S, M>] {
  const early = batch.effects.filter(isEarly);
  if (early.length === 0) return [early, batch];
  return [early, { ...batch, effects: batch.effects.filter((effect) => !isEarly(effect)) }];
}

function isEarly(effect: Effect): boolean {
  return effect.type === 'send' && effect.isEarly === true;
}

function decide<S, M extends KitMessage>(
  behaviour: Behaviour<S, M>,
  state: S,
  message: M,
  nowMs: number,
  mailbox: Mailbox<M>,
  before: readonly M[],
): Step<S> {
  try {
    return behaviour.transition(state, message, nowMs);
  } catch (cause) {
    mailbox.shift();
    throw new TransitionFailed(message, before, cause);
  }
}

function join<T>(a: readonly T[], b: readonly T[]): readonly T[] {
  if (b.length === 0) return a;
  return a.length === 0 ? b : [...a, ...b];
}
