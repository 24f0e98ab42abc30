/** Effects, once their step is stored. The only place where a decision touches the outside. */
import { actorFields, type Address, type Addressed, type Message } from '../../actors/messages.ts';
import type { Asks } from './asks.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { unreachable, type DomainEffect, type Effect, type RuntimeEffect } from '../../actors/step.ts';
import type { Tracer } from '../../actors/tracer.ts';
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Committer, SessionLink } from '../ports.ts';
import type { Performers, Requester } from './domain-effects.ts';

type Deliver = Extract<AdminFrameBody, { type: 'deliver' }>;

/** What effects reach. Every call returns at once; what comes of it later comes back as a message. */
export interface EffectPorts {
  readonly asks: Asks;
  readonly clock: Clock;
  readonly committer: Pick<Committer, 'ready'>;
  readonly sessions: SessionLink;
  readonly domains: Performers;
  readonly tracer: Pick<Tracer, 'ended'>;
  readonly log: Log;
  /**
   * False: its mailbox is full, or it takes nothing now. `cluster`: the one that it belongs to, where that is known.
   */
  tell(addressed: Addressed, cluster?: ClusterId): boolean;
  /**
   * Runs while this admin holds the lease behind an actor, by its own lease clock: now, when the lease is renewed, or
   * never.
   */
  whenOwned(address: Address, run: () => void): void;
  /** Starts an actor from its rows if it is not there. */
  revive(address: Address): void;
  /** Ends an actor that asked for it. */
  stop(address: Address): void;
  /** Starts an actor that asked for it again, from its rows with what of its live state outlives them. */
  restart(address: Address, live: unknown): void;
}

/** Performs the effects of one actor, in order. A class, because there is one for each of 10,000 actors. */
export class Performer implements Requester {
  readonly self: Address;
  readonly #ports: EffectPorts;
  /** Most actors never have one. */
  #reminders: Map<string, () => void> | null = null;
  #ended = false;

  constructor(self: Address, ports: EffectPorts) {
    this.self = self;
    this.#ports = ports;
  }

  get isOver(): boolean {
    return this.#ended;
  }

  /** `decidedMs`: Unix time when they were decided, in ms. What is to be sent may have waited for its commit since. */
  perform(effects: readonly Effect[], decidedMs: number): void {
    for (const effect of effects)
      if (isOfDomain(effect, this.#ports.domains)) this.#ofDomain(effect);
      else this.#ofRuntime(effect, decidedMs);
  }

  /** Forgets the reminders of this actor. What it posted is no news to the next one, which posts it again. */
  end(): void {
    this.#ended = true;
    for (const cancel of this.#reminders?.values() ?? []) cancel();
    this.#reminders = null;
  }

  #ofRuntime(effect: RuntimeEffect, decidedMs: number): void {
    const ports = this.#ports;
    switch (effect.type) {
      case 'tell':
        return void ports.tell(effect.told, effect.cluster);
      case 'answer':
        return ports.asks.answer(effect.to, effect.result);
      case 'send':
        return this.#send(effect, decidedMs);
      case 'hang-up':
        return ports.sessions.hangUp(effect.session, effect.code, effect.reason);
      case 'renew-session':
        return ports.sessions.renew(effect.session, effect.cluster);
      case 'remind':
        return this.#remind(effect.key, effect.afterMs, effect.message);
      case 'revive':
        return ports.revive(effect.address);
      case 'warn':
        return ports.log.warn({ ...effect.fields, ...actorFields(this.self) }, effect.message);
      case 'trace':
        return ports.tracer.ended(effect.span);
      case 'stop':
        return ports.stop(this.self);
      case 'restart':
        return ports.restart(this.self, effect.live);
      default:
        return unreachable(effect);
    }
  }

  /**
   * A paused owner that wakes after a takeover delivers nothing, nor lets anything start (O1): the new owner does. One
   * whose lease is only late decides again when it is renewed, and reads the rows again for what it was asked about:
   * what it would have sent may be cancelled or expired by then (C8).
   */
  #send({ session, frame, cluster }: Extract<Effect, { type: 'send' }>, decidedMs: number): void {
    // An agent that is asked twice to update answers what it has: nothing is to be decided anew for it.
    if (frame.type === 'update')
      return this.#ports.whenOwned(this.self, () => this.#ports.sessions.send(session, frame));
    if (frame.type === 'deliver')
      return this.#whenCertain(
        () => this.#ports.sessions.send(session, counted(frame, this.#ports.clock.nowMs() - decidedMs)),
        { type: 'delivery-withheld', session, executions: frame.deliveries.map(({ execution }) => execution) },
      );
    if (frame.type === 'still-open')
      return this.#whenCertain(() => this.#ports.sessions.send(session, frame), {
        type: 'executions-asked',
        session,
        ask: frame.ask,
        executions: frame.executions.map(({ execution }) => execution),
      });
    this.#ports.sessions.send(session, frame, cluster);
  }

  /**
   * Runs now, if it is known what time it is and whose the cluster. Else its actor is told `again` as soon as it is, or
   * nothing, if the cluster is lost.
   */
  #whenCertain(run: () => void, again: Message): void {
    const { clock } = this.#ports;
    let isLate = false;
    const known = (): void => this.#ports.whenOwned(this.self, () => (isLate ? this.tell(again) : run()));
    if (clock.whenKnown === undefined) known();
    else clock.whenKnown(known);
    isLate = true;
  }

  #remind(key: string, afterMs: number, message: Message): void {
    if (this.#ended) return; // a step of the same batch stopped it
    this.#reminders ??= new Map();
    this.#reminders.get(key)?.();
    this.#reminders.set(
      key,
      this.#ports.clock.after(afterMs, () => {
        this.#reminders?.delete(key);
        this.report(message);
      }),
    );
  }

  #ofDomain(effect: DomainEffect): void {
    const perform = this.#ports.domains[effect.type] as (effect: DomainEffect, actor: Requester) => unknown;
    void perform(effect, this);
  }

  /**
   * The rows, however long the database is away. Null when reading fails for another reason, which is a bug and logged.
   */
  async untilLoaded<T>(load: () => Promise<T>): Promise<T | null> {
    const { clock, committer, log } = this.#ports;
    for (;;) {
      try {
        return await load();
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) {
          log.error({ error, ...actorFields(this.self) }, 'rows of an actor could not be read');
          return null;
        }
        await new Promise<void>((resolve) => {
          clock.after(RELOAD_MS, resolve);
        });
        await committer.ready();
      }
    }
  }

  report(message: Message): void {
    if (this.#ended || this.#ports.tell({ to: this.self, message } as Addressed)) return;
    this.#ports.clock.after(TELL_AGAIN_MS, () => this.report(message));
  }

  tell(message: Message): void {
    if (this.#ports.tell({ to: this.self, message } as Addressed) || this.#ended) return;
    this.#ports.clock.after(TELL_AGAIN_MS, () => this.tell(message));
  }
}

/** The same deliveries, so much later than they were decided: each expires as much sooner. */
function counted(frame: Deliver, laterMs: number): Deliver {
  if (laterMs <= 0) return frame;
  const left = (ms: number | null): number | null => (ms === null ? null : Math.max(0, ms - laterMs));
  const deliveries = frame.deliveries.map((one) => ({ ...one, expires_in_ms: left(one.expires_in_ms) }));
  return { ...frame, deliveries };
}

/** The table has a performer for each effect of a domain: it does not compile without. */
function isOfDomain(effect: Effect, domains: Performers): effect is DomainEffect {
  return effect.type in domains;
}

/** Wait before a full mailbox is tried again, in ms. */
const TELL_AGAIN_MS = 250;

/** Wait between two reads while the database is away, in ms. */
const RELOAD_MS = 250;
