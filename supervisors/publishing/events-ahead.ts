/**
 * Events that webhooks are sent before they have rows for them: a delivery that succeeds at its first try is written
 * once. The channel's place stays behind whatever is not stored, so that nothing is lost with this memory (V1). Who is
 * too slow for that follows no more, and gets rows.
 */
import { deliveryId } from '../../actors/webhook/delivery-id.ts';
import type { DeliveryRef } from '../../actors/webhook/delivery.ts';
import type { EventType } from '../../actors/events.ts';
import { cursorAt, KeptEvents, type AheadEvent, type EventPlace, type KeptEvent } from './kept-events.ts';

/** Events ahead of the place of the channel, at most: some 10 MiB. */
export const EVENTS_AHEAD_MAX = 20_000;

/** A webhook that was given nothing, and stored nothing, for so long while an event waits follows no more, in ms. */
export const FOLLOWER_QUIET_MS_MAX = 2_000;

/**
 * One whose oldest event is not stored for so long follows no more, whatever else it stores, in ms: longer than a try
 * takes by default; behind one of the same subject that is tried again an event may wait for hours.
 */
export const FOLLOWER_HELD_UP_MS_MAX = 15_000;

/** A webhook, as far as events ahead concern it. Events are numbered since the channel was taken up. */
interface Follower {
  isFollowing: boolean;
  /** Number of the last time that it began to follow: who read its rows for an earlier one knows nothing. */
  turn: number;
  types: ReadonlySet<EventType>;
  /** Events of older transactions are not for it; null: that is being read. */
  since: bigint | null;
  /** All before this number are stored, or not for it. */
  low: number;
  /** When that was found to have moved, by a monotonic clock. */
  lowAtMs: number;
  /** Numbers behind it that are stored. */
  readonly stored: Set<number>;
  /** When it was given or stored something last, by a monotonic clock. */
  movedMs: number;
  /** Whether there are no rows that it does not know of. */
  hasAllRows: boolean;
}

/** What a webhook is sent next. */
export interface Taken {
  readonly deliveries: readonly DeliveryRef[];
  readonly more: boolean;
  /** Ids of those that may have a row. */
  readonly doubtful: ReadonlySet<string>;
  /** All behind `after` and up to this cursor are among them, or finished. */
  readonly to: string;
}

/** Which part of it. */
export interface TakeOptions {
  /** Behind this cursor; null: from the beginning. */
  readonly after: string | null;
  readonly limit: number;
  /** Whoever asks knows nothing yet: what is known to be stored comes as well, as it may have to be sent again. */
  readonly isFirst: boolean;
}

/** How far the channel may go, and who follows from there. */
export interface Settled {
  readonly to: EventPlace;
  /** They have all rows up to there, or need none: no others are made for them. */
  readonly followers: readonly string[];
}

/** Before all events. */
const NOWHERE: EventPlace = { txid: '0', seq: '0' };

/** At first nobody follows, and nothing is ahead. */
export class EventsAhead {
  readonly #attemptsMax: number;
  readonly #monotonicMs: () => number;
  #place: EventPlace | null = null;
  #events = new KeptEvents();
  /** Those who follow, and those who stored something that is ahead. */
  readonly #followers = new Map<string, Follower>();
  #isOld = true;
  #turns = 0;

  /** `attemptsMax`: tries of each delivery, as set. */
  constructor(attemptsMax: number, monotonicMs: () => number) {
    this.#attemptsMax = attemptsMax;
    this.#monotonicMs = monotonicMs;
  }

  /** The channel is taken up at this place: nothing of before counts. Null: it is not held. */
  begin(place: EventPlace | null): void {
    this.#place = place;
    this.#events = new KeptEvents();
    this.#followers.clear();
    this.#isOld = true;
  }

  /** Where the channel is; null: it is not held. */
  get place(): EventPlace | null {
    return this.#place;
  }

  /** Where events are read on; null: it is not held. */
  get readTo(): EventPlace | null {
    return this.#events.last ?? this.#place;
  }

  /** So many events more may be read. */
  get room(): number {
    return EVENTS_AHEAD_MAX - this.#events.size;
  }

  /** Whether there are events of which the rows do not know. */
  get isOpen(): boolean {
    return this.#events.size > 0;
  }

  /** Events were read. `areAll`: there were no others then. */
  read(events: readonly AheadEvent[], areAll: boolean): void {
    const readAtMs = this.#monotonicMs();
    for (const event of events) {
      this.#events.add({ ...event, transaction: BigInt(event.txid), readAtMs, isOld: this.#isOld });
    }
    if (areAll) this.#isOld = false;
  }

  /** Whether this webhook follows, and knows of all its rows. */
  knowsAllRows(webhook: string): boolean {
    const follower = this.#followers.get(webhook);
    return follower?.isFollowing === true && follower.hasAllRows;
  }

  /**
   * From the place of the channel on, events are given to this webhook, and become no rows by themselves. Answers its
   * turn.
   */
  follow(webhook: string, types: readonly EventType[]): number {
    this.#turns += 1;
    if (this.#place === null) return this.#turns;
    const follower = this.#known(webhook);
    follower.turn = this.#turns;
    if (!follower.isFollowing) follower.movedMs = follower.lowAtMs = this.#monotonicMs();
    follower.types = new Set(types);
    follower.isFollowing = true;
    follower.hasAllRows = false;
    return follower.turn;
  }

  /** What is not stored for this webhook becomes rows as the channel goes on. */
  unfollow(webhook: string): void {
    const follower = this.#followers.get(webhook);
    if (follower !== undefined) follower.isFollowing = false;
  }

  /** Whether this is its turn still, though it may follow no more. */
  isTurn(webhook: string, turn: number): boolean {
    return this.#followers.get(webhook)?.turn === turn;
  }

  /** Its rows were read in this turn. `since`: the transaction of the webhook. */
  rowsRead(
    webhook: string,
    turn: number,
    { since, areAll }: { readonly since: string; readonly areAll: boolean },
  ): void {
    const follower = this.#followers.get(webhook);
    if (follower?.turn !== turn) return;
    follower.since = BigInt(since);
    follower.hasAllRows = areAll;
  }

  /** Whether this webhook follows. */
  follows(webhook: string): boolean {
    return this.#followers.get(webhook)?.isFollowing === true;
  }

  /** What is not stored for this webhook, in order. Nothing for one that does not follow: there are rows then. */
  take(webhook: string, { after, limit, isFirst }: TakeOptions): Taken {
    const follower = this.#followers.get(webhook);
    const doubtful = new Set<string>();
    if (follower?.isFollowing !== true)
      return { deliveries: [], more: true, doubtful, to: after ?? cursorAt(this.#place ?? NOWHERE) };
    const deliveries: DeliveryRef[] = [];
    const low = isFirst ? this.#events.first : Math.max(follower.low, this.#events.first);
    let number = Math.max(low, after === null ? 0 : (this.#events.numberOf(after) ?? -1) + 1);
    for (; number < this.#events.end && deliveries.length < limit; number += 1) {
      if (!this.#isFor(follower, number) || (!isFirst && follower.stored.has(number))) continue;
      const event = this.#events.at(number);
      const delivery = this.#deliveryOf(webhook, event);
      deliveries.push(delivery);
      if (event.isOld || isFirst) doubtful.add(delivery.id);
    }
    if (deliveries.length > 0) follower.movedMs = this.#monotonicMs();
    const more = number < this.#events.end;
    const to = more ? this.#events.at(number - 1).cursor : cursorAt(this.readTo ?? NOWHERE);
    return { deliveries, more, doubtful, to };
  }

  /** The delivery of the event at this cursor has its row. */
  stored(webhook: string, cursor: string): void {
    const number = this.#events.numberOf(cursor);
    if (number === null) return;
    const follower = this.#known(webhook);
    if (number >= follower.low) follower.stored.add(number);
    follower.movedMs = this.#monotonicMs();
  }

  /** How far all who follow have got. Who holds up the others follows no more. Null: the channel is not held. */
  settled(): Settled | null {
    if (this.#place === null) return null;
    const nowMs = this.#monotonicMs();
    for (const [, follower] of this.#following()) {
      this.#advance(follower, nowMs);
      const waiting = follower.low < this.#events.end ? this.#events.at(follower.low) : null;
      if (waiting !== null && isLate(follower, waiting, nowMs)) follower.isFollowing = false;
    }
    this.#leaveLaggards();
    const following = this.#following();
    const low = following.reduce((lowest, [, follower]) => Math.min(lowest, follower.low), this.#events.end);
    const { txid, seq } = low === this.#events.first ? this.#place : this.#events.at(low - 1);
    return { to: { txid, seq }, followers: following.map(([id]) => id) };
  }

  /** The channel is at this place now. */
  moved(place: EventPlace): void {
    this.#place = place;
    this.#events.dropTo(place);
    for (const [id, follower] of this.#followers) {
      if (follower.low < this.#events.first) {
        follower.low = this.#events.first;
        for (const number of follower.stored) if (number < follower.low) follower.stored.delete(number);
      }
      const knowsMore = follower.low > this.#events.first || follower.stored.size > 0;
      if (!follower.isFollowing && !knowsMore) this.#followers.delete(id);
    }
  }

  /** Where there is no room, and somebody waits for more, those who are far behind follow no more. */
  #leaveLaggards(): void {
    const following = this.#following();
    if (this.room > 0 || following.every(([, { low }]) => low < this.#events.end)) return;
    for (const [, follower] of following)
      if (follower.low - this.#events.first < EVENTS_AHEAD_MAX / 2) follower.isFollowing = false;
  }

  #advance(follower: Follower, nowMs: number): void {
    if (follower.since === null) return;
    const before = follower.low;
    while (
      follower.low < this.#events.end &&
      (follower.stored.delete(follower.low) || !this.#isFor(follower, follower.low))
    )
      follower.low += 1;
    if (follower.low > before) follower.lowAtMs = nowMs;
  }

  #isFor({ types, since }: Follower, number: number): boolean {
    const { type, transaction } = this.#events.at(number);
    return since !== null && types.has(type) && transaction > since;
  }

  #known(webhook: string): Follower {
    const known = this.#followers.get(webhook);
    if (known !== undefined) return known;
    const follower = {
      isFollowing: false,
      turn: 0,
      types: new Set<EventType>(),
      since: null,
      low: this.#events.first,
      lowAtMs: this.#monotonicMs(),
      stored: new Set<number>(),
      movedMs: this.#monotonicMs(),
      hasAllRows: false,
    };
    this.#followers.set(webhook, follower);
    return follower;
  }

  #following(): (readonly [string, Follower])[] {
    return [...this.#followers].filter(([, { isFollowing }]) => isFollowing);
  }

  #deliveryOf(webhook: string, { id, seq, type, subject, cursor, storedAtMs }: KeptEvent): DeliveryRef {
    return {
      id: deliveryId(webhook, { id, seq, storedAtMs }),
      cursor,
      eventId: id,
      subject,
      attempts: 0,
      attemptsMax: this.#attemptsMax,
      dueAtMs: null,
      unstored: { eventType: type, storedAtMs },
    };
  }
}

function isLate({ movedMs, lowAtMs }: Follower, { readAtMs }: KeptEvent, nowMs: number): boolean {
  const isQuiet = nowMs - Math.max(movedMs, readAtMs) > FOLLOWER_QUIET_MS_MAX;
  return isQuiet || nowMs - Math.max(lowAtMs, readAtMs) > FOLLOWER_HELD_UP_MS_MAX;
}
