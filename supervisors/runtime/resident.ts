/** One who lives in the directory, or is on the way: its mailbox and its past outlive every actor that it starts. */
import type { Lease } from '../../actors/behaviour.ts';
import type { Behaviour } from '../../actors/behaviour.ts';
import { createMailbox } from './mailbox.ts';
import type { Mailbox } from './mailbox.ts';
import { Performer } from './perform.ts';
import type { EffectPorts } from './perform.ts';
import type { Clock } from '../../actors/ports.ts';
import { spawnActor } from './spawn.ts';
import type { ActorPlan, Crash, RunningActor } from './spawn.ts';
import type { Effect } from '../../actors/step.ts';
import type { Address, Message } from '../../actors/messages.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { LastCrash } from '../../actors/sights.ts';
import type { Place } from './family.ts';
import type { Kind } from './kinds.ts';
import type { HeldLeases } from '../ownership/held.ts';
import type { Committer, RefusedChange } from '../ports.ts';

/** Any kind, where its types do not matter. */
export type AnyKind = Kind<unknown, Message>;

/** What all residents of one directory share. */
export interface Household {
  readonly committer: Committer;
  readonly clock: Clock;
  readonly held: HeldLeases;
  readonly effects: EffectPorts;
  crashed(resident: Resident, crash: Crash): void;
  vanished(resident: Resident): void;
}

const NO_CRASHES: readonly number[] = [];

/** A class, because there is one for each of 10,000 nodes. */
export class Resident implements ActorPlan<unknown, Message> {
  readonly address: Address;
  readonly mailbox: Mailbox<Message> = createMailbox();
  readonly #kind: AnyKind;
  readonly #household: Household;
  #actor: RunningActor | null = null;
  #performer: Performer | null = null;
  #place: Place | null = null;
  /** The cluster whose lease it lives under; null for none, or before it is known. */
  cluster: ClusterId | null = null;
  /** Times of crashes that still count, in Unix ms. */
  crashesMs: readonly number[] = NO_CRASHES;
  /** How often it crashed since it came here, and how it did last. */
  crashes = 0;
  lastCrash: LastCrash | null = null;
  /** Crashed too often: whoever asks is refused at once until it starts again. */
  resting = false;

  constructor(address: Address, kind: AnyKind, household: Household) {
    this.address = address;
    this.#kind = kind;
    this.#household = household;
  }

  get behaviour(): Behaviour<unknown, Message> {
    return this.#kind.behaviour;
  }

  get committer(): Committer {
    return this.#household.committer;
  }

  get clock(): Clock {
    return this.#household.clock;
  }

  /** Of its actor; undefined when none runs. */
  get state(): unknown {
    return this.#actor?.state;
  }

  get isRunning(): boolean {
    return this.#actor !== null;
  }

  /** Starts its actor. */
  start(place: Place, state: unknown): void {
    this.#place = place;
    this.cluster = this.#kind.cluster(state);
    this.#performer = new Performer(this.address, this.#household.effects);
    this.#actor = spawnActor<unknown, Message>(this, place, state);
  }

  /** Ends its actor; the mailbox stays. */
  vacate(): void {
    this.#actor?.stop();
    this.#actor = null;
    this.#place?.leave();
    this.#place = null;
    this.#performer?.end(); // but it stays: who waits for what is being stored just now is still answered
  }

  wake(): void {
    this.#actor?.wake();
  }

  lease(state: unknown): Lease | null {
    const cluster = this.#kind.cluster(state);
    return cluster === null ? null : this.#household.held.leaseOf(cluster);
  }

  reload(): Promise<unknown> {
    return this.#kind.load(this.address.id);
  }

  refused({ change, refusal }: RefusedChange): Message {
    return { type: 'refused', write: change.write, refusal };
  }

  perform(effects: readonly Effect[]): void {
    this.#performer?.perform(effects);
  }

  vanished(): void {
    this.#household.vanished(this);
  }

  crashed(crash: Crash): void {
    this.#household.crashed(this, crash);
  }
}
