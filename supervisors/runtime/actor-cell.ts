/**
 * The cell of one actor: its mailbox and its past outlive every actor that it starts. It is there from the first
 * message on, while the rows are still read.
 */
import type { Behaviour, Lease } from '../../actors/behaviour.ts';
import { Mailbox } from './mailbox.ts';
import { Performer } from './perform.ts';
import type { EffectPorts } from './perform.ts';
import type { Clock } from '../../actors/ports.ts';
import { spawnActor } from './spawn.ts';
import type { Crash } from './crash.ts';
import type { ActorPlan, RunningActor } from './spawn.ts';
import type { Effect } from '../../actors/step.ts';
import type { Address, Message } from '../../actors/messages.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { LastCrash } from '../../actors/inspection.ts';
import type { Slot } from './family.ts';
import type { Kind } from './kinds.ts';
import type { HeldLeases } from '../ownership/held.ts';
import type { Committer, RefusedChange } from '../ports.ts';

/** Any kind, where its types do not matter. */
export type AnyKind = Kind<unknown, Message>;

/** What all cells of one directory share. */
export interface ActorContext {
  readonly committer: Committer;
  readonly clock: Clock;
  readonly held: HeldLeases;
  readonly effects: EffectPorts;
  crashed(cell: ActorCell, crash: Crash): void;
  vanished(cell: ActorCell): void;
  moved(cell: ActorCell): void;
}

const NO_CRASHES: readonly number[] = [];

/** A class, because there is one for each of 10,000 nodes. */
export class ActorCell implements ActorPlan<unknown, Message> {
  readonly address: Address;
  readonly mailbox = new Mailbox<Message>();
  readonly kind: AnyKind;
  readonly #context: ActorContext;
  #actor: RunningActor | null = null;
  #performer: Performer | null = null;
  #slot: Slot | null = null;
  #cluster: ClusterId | null = null;
  /** State of the actor before, for the one that starts next. */
  #live: { readonly state: unknown } | null = null;
  /** Times of crashes that still count, in Unix ms. */
  crashesMs: readonly number[] = NO_CRASHES;
  /** How often it crashed since it came here, and how it did last. */
  crashes = 0;
  lastCrash: LastCrash | null = null;
  /** Crashed too often: whoever asks is refused at once until it starts again. */
  resting = false;

  constructor(address: Address, kind: AnyKind, context: ActorContext) {
    this.address = address;
    this.kind = kind;
    this.#context = context;
  }

  get behaviour(): Behaviour<unknown, Message> {
    return this.kind.behaviour;
  }

  get committer(): Committer {
    return this.#context.committer;
  }

  get clock(): Clock {
    return this.#context.clock;
  }

  /** The cluster whose lease it lives under; null for none, or before it is known: one that is created has none yet. */
  get cluster(): ClusterId | null {
    if (this.#actor !== null) this.#cluster ??= this.kind.cluster(this.#actor.state);
    return this.#cluster;
  }

  /** Of its actor; undefined when none runs. */
  get state(): unknown {
    return this.#actor?.state;
  }

  get isRunning(): boolean {
    return this.#actor !== null;
  }

  /** Starts its actor. */
  start(slot: Slot, state: unknown): void {
    this.#slot = slot;
    this.#cluster = this.kind.cluster(state);
    this.#performer = new Performer(this.address, this.#context.effects);
    const known = this.#live === null ? state : this.behaviour.refreshed(this.#live.state, state);
    this.#live = null;
    this.#actor = spawnActor<unknown, Message>(this, slot, known);
  }

  /** Ends its actor; the next one is told its `live` state, and may be under another lease. */
  outlive(live: unknown): void {
    this.vacate();
    this.#cluster = null;
    this.#live = { state: live };
  }

  /** Ends its actor; the mailbox stays. */
  vacate(): void {
    this.#actor?.stop();
    this.#actor = null;
    this.#slot?.leave();
    this.#slot = null;
    this.#performer?.end(); // but it stays: who waits for what is being stored just now is still answered
  }

  wake(): void {
    this.#actor?.wake();
  }

  lease(state: unknown): Lease | null {
    const cluster = this.kind.cluster(state);
    return cluster === null ? null : this.#context.held.leaseOf(cluster);
  }

  reload(): Promise<unknown> {
    return this.kind.load(this.address.id);
  }

  refused({ change, refusal }: RefusedChange): Message {
    return { type: 'refused', write: change.write, refusal };
  }

  perform(effects: readonly Effect[], decidedMs: number): void {
    this.#performer?.perform(effects, decidedMs);
  }

  vanished(): void {
    this.#context.vanished(this);
  }

  isMoved(rows: unknown): boolean {
    return this.cluster !== null && this.kind.cluster(rows) !== this.cluster;
  }

  moved(): void {
    this.#context.moved(this);
  }

  crashed(crash: Crash): void {
    this.#context.crashed(this, crash);
  }
}
