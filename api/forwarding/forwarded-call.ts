/**
 * One operation on its way to the owner of what it is about: tried until it is done, refused for good, or out of time.
 * What is tried again was not done before, or is known to bear it.
 */
import type { Idempotency } from '../../actors/node/messages.ts';
import { NOT_KNOWN, ok, refuse, type Refusal, type Result } from '../../actors/refusal.ts';
import { traceparentOf } from '../../transport/protocol/trace-context.ts';
import type { ForwardingCounters } from './counters.ts';
import { askedInTime } from './deadline.ts';
import type { OwnedBy, Owner, PeerCall, PeerOutcome } from './ports.ts';
import type { Forwardable, ForwardingPorts } from './forwardable.ts';

/** Waits between two tries, in ms: the first is made at once, those after it wait longer each, up to the last. */
const PAUSES_MS = [0, 50, 100, 200];

/** A call that takes longer than this is watched, in ms: most are answered by then, and cost nothing for it. */
const WATCHED_AFTER_MS = 50;

/** An owner that handed over what it is asked about answers within this time, in ms: it had more before. */
const ANSWER_AFTER_CHANGE_MS = 100;

/** The owner is another admin, and was another process or had another lease when this was asked. */
interface Asked {
  readonly admin: string;
  readonly epoch: number;
}

/** The tries of one operation. */
export class ForwardedCall<T> {
  /** It was handed to another admin at least once. */
  wasSent = false;
  /** An answer was lost, so that it may have been done, whatever comes now. */
  mayBeDone = false;
  readonly #ports: ForwardingPorts;
  readonly #counters: ForwardingCounters;
  readonly #asked: Forwardable<T>;
  readonly #owned: OwnedBy;
  readonly #callId: string;
  #idempotency: Idempotency | null;
  /** Who may have done it: as long as that one owns it, only it can say. */
  #doubtful: Asked | null = null;
  /** One that owns it no more may have done it, and no row says whether it did. */
  #isLeftOpen = false;
  #lost = 0;
  #pauses = 0;
  /** What is said when the time is up and nothing was done. */
  #refusal: Refusal = OWNERLESS;

  constructor(ports: ForwardingPorts, counters: ForwardingCounters, asked: Forwardable<T>, owned: OwnedBy) {
    this.#ports = ports;
    this.#counters = counters;
    this.#asked = asked;
    this.#owned = owned;
    this.#callId = ports.newCallId();
    this.#idempotency = asked.idempotency;
  }

  /** Tries until it is done. Rejects with DatabaseUnavailable, and as what is done here does. */
  async done(): Promise<Result<T>> {
    const { owners } = this.#ports;
    // What a delete finds missing at its second try has to have been there at its first.
    const mayRemember = this.#asked.afterLoss !== 'missing';
    for (let lately = mayRemember ? owners.lately(this.#owned) : null; this.#leftMs() > 0; lately = null) {
      const owner = lately ?? (await owners.of(this.#owned));
      const result = (await this.#settled(owner)) ?? (await this.#tried(owner));
      if (result !== null) return result;
    }
    return this.#refused(this.#refusal);
  }

  /** Nobody can say whether it was done. */
  inDoubt(): Result<T> {
    const { operation, requestId } = this.#asked;
    this.#ports.log.warn(
      { operation, request_id: requestId },
      'it is not known whether an operation was done: the admin that owns it did not answer in time',
    );
    return { ok: false, refusal: IN_DOUBT };
  }

  /**
   * Whoever may have done it owns it no more, so it cannot be done there any more either (O1): what the rows say now is
   * final. Null: it is to be tried, again or for the first time.
   */
  async #settled(owner: Owner): Promise<Result<T> | null> {
    const doubtful = this.#doubtful;
    if (doubtful === null || owner.type === 'nobody') return null;
    // Nobody took it over: its owner may have it back, so the rows are not final.
    if (owner.type === 'no_room') return this.#asked.afterLoss === null ? this.inDoubt() : null;
    if (owner.type === 'elsewhere' && owner.admin === doubtful.admin && owner.epoch === doubtful.epoch) return null;
    this.#doubtful = null;
    switch (this.#asked.afterLoss) {
      case 'again':
        this.#isLeftOpen = true;
        return null;
      case 'missing':
        return owner.type === 'missing' ? DELETED : null;
      case 'record':
        return this.#recorded();
      case null:
        return this.inDoubt();
      default:
        return this.#asked.afterLoss satisfies never;
    }
  }

  /** Null: it is to be tried again. */
  async #tried(owner: Owner): Promise<Result<T> | null> {
    switch (owner.type) {
      case 'nobody':
        if (this.#owned.kind === 'webhooks' && this.#owned.orHere === true) return this.#here();
        await this.#changed();
        return null;
      case 'missing':
        return this.#missing();
      case 'no_room': // deletes and moves of nodes take it for the moment, whatever else says why it is not done
      case 'here':
        return this.#here();
      case 'elsewhere':
        return this.#elsewhere(owner);
      default:
        return owner satisfies never;
    }
  }

  async #missing(): Promise<Result<T>> {
    const result = await this.#handled();
    return result === null ? this.inDoubt() : this.#finished(result);
  }

  async #here(): Promise<Result<T> | null> {
    const result = await this.#handled();
    if (result === null) return this.inDoubt();
    if (result.ok || result.refusal.notOwner !== true) return this.#finished(result);
    this.#refusal = result.refusal;
    await this.#pause();
    return null;
  }

  /** Null: the time was up first, and nobody knows what comes of it. */
  async #handled(): Promise<Result<T> | null> {
    const handled = this.#asked.handle(this.#idempotency, this.mayBeDone);
    const result = await askedInTime(handled, this.#leftMs(), this.#ports.clock);
    if (result === null) this.mayBeDone = true;
    return result;
  }

  async #elsewhere(owner: Asked): Promise<Result<T> | null> {
    const outcome = await this.#call(owner);
    this.#counters.tried(outcome);
    switch (outcome.type) {
      case 'answered':
        this.#doubtful = null; // it was asked again, and nobody else
        return this.#finished(outcome.result as Result<T>);
      case 'overloaded':
        return this.#refused(TOO_MANY);
      case 'other_version':
      case 'unknown_operation':
        return this.#refused(OTHER_VERSION);
      case 'in_doubt':
        this.mayBeDone = true;
        return (this.#asked.afterLoss === 'record' ? await this.#recorded() : null) ?? this.inDoubt();
      case 'not_owner':
      case 'busy':
      case 'lost':
        if (outcome.type === 'lost' && !outcome.sure) this.#lose(owner);
        this.#refusal = UNREACHED;
        await this.#pause();
        return null;
      default:
        return outcome satisfies never;
    }
  }

  #lose({ admin, epoch }: Asked): void {
    this.mayBeDone = true;
    this.#doubtful = { admin, epoch };
    this.#lost += 1;
  }

  async #call({ admin, epoch }: Asked): Promise<PeerOutcome> {
    const { calls, clock } = this.#ports;
    const moved = new AbortController();
    const ended = { stop: clock.after(WATCHED_AFTER_MS, () => (ended.stop = this.#watch(epoch, moved))) };
    if (this.#asked.afterLoss === 'record' && this.#idempotency === null)
      this.#idempotency = { scope: `${this.#asked.operation}:forwarded`, key: this.#callId, bodyHash: OWN_KEY };
    this.wasSent = true;
    const outcome = await calls.call(admin, this.#message(epoch), moved.signal);
    ended.stop();
    return outcome;
  }

  /** Aborts soon after the owner changes: one that is frozen would never answer, one that handed it over does. */
  #watch(epoch: number, moved: AbortController): () => void {
    const { owners, clock } = this.#ports;
    const ended = new AbortController();
    void owners
      .changed(this.#owned, epoch, ended.signal)
      .then(() => clock.after(ANSWER_AFTER_CHANGE_MS, () => moved.abort()));
    return () => ended.abort(ANSWERED); // a reason of its own saves the making of an error
  }

  #message(epoch: number): PeerCall {
    const { operation, input, principal, surface, requestId, trace } = this.#asked;
    return {
      call_id: this.#callId,
      operation,
      input,
      target: this.#owned,
      epoch,
      principal,
      surface,
      request_id: requestId,
      traceparent: trace === null ? null : traceparentOf(trace),
      idempotency:
        this.#idempotency === null
          ? null
          : { scope: this.#idempotency.scope, key: this.#idempotency.key, body_hash: this.#idempotency.bodyHash },
      remaining_ms: this.#leftMs(),
      attempt: this.#lost + 1,
    };
  }

  /** What the first try did is success, also where a second one finds it done, and open where that one cannot say. */
  async #finished(result: Result<T>): Promise<Result<T>> {
    if (!this.mayBeDone || result.ok) return result;
    const { code } = result.refusal;
    if (this.#asked.afterLoss === 'missing' && code === 'not_found') return DELETED;
    const isNotNow = code === 'service_unavailable' || code === 'degraded_mode';
    const isOpen = isNotNow && (this.#isLeftOpen || this.#doubtful !== null);
    const mayBeStored = isOpen || code === 'conflict' || code === 'idempotency_conflict';
    const recorded = this.#asked.afterLoss === 'record' && mayBeStored ? await this.#recorded() : null;
    return recorded ?? (isOpen ? this.inDoubt() : result);
  }

  /** The answer that a create stored with what it created; null: it was not done. */
  async #recorded(): Promise<Result<T> | null> {
    if (this.#idempotency === null) return null;
    const { scope, key } = this.#idempotency;
    const stored = await this.#ports.reads.idempotencyRecord(scope, key);
    return stored === null ? null : ok(stored.answer as T);
  }

  #refused(refusal: Refusal): Result<T> {
    return this.mayBeDone ? this.inDoubt() : { ok: false, refusal };
  }

  #leftMs(): number {
    return this.#asked.deadline.leftMs();
  }

  /** Resolves when somebody owns it, or the time is up. */
  async #changed(): Promise<void> {
    const over = new AbortController();
    const cancel = this.#ports.clock.after(this.#leftMs(), () => over.abort());
    await this.#ports.owners.changed(this.#owned, null, over.signal);
    cancel();
  }

  async #pause(): Promise<void> {
    const ms = Math.min(PAUSES_MS[this.#pauses] ?? PAUSES_MS.at(-1) ?? 0, this.#leftMs());
    this.#pauses += 1;
    if (ms > 0)
      await new Promise<void>((resolve) => {
        this.#ports.clock.after(ms, resolve);
      });
  }
}

/** Why nobody waits for another owner any more. */
const ANSWERED = 'answered';

/** The answer of every delete that was done. */
const DELETED: { readonly ok: true; readonly value: never } = { ok: true, value: null as never };

/** Stands for a body under a key that this service made: nobody sends it with another body. */
const OWN_KEY = 'forwarded';

function passing(message: string): Refusal {
  return { ...refuse('service_unavailable', message).refusal, retryAfterSeconds: 1 };
}

/** The owner may have done it. */
export const IN_DOUBT = passing(`${NOT_KNOWN}: the admin that owns it did not answer in time.`);
const UNREACHED = passing('The admin that owns this cannot be reached now. Nothing was done; try again shortly.');
const OWNERLESS = passing('No admin has taken this over yet. Nothing was done; try again shortly.');
const TOO_MANY = passing('Too many calls wait for the admin that owns this. Nothing was done; try again shortly.');
const OTHER_VERSION = passing('Another admin owns this, and is of a version that cannot be asked. Try again shortly.');
