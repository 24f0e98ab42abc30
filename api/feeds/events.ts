/** `events.watch`: every stored event from a place in the log on, read once for all subscribers. */
import { envelope, type Envelope, type EventsRead, type EventType, type StoredEvent } from '../../actors/events.ts';
import {
  EVENTS_NET_MS,
  EVENTS_PER_READ,
  EVENTS_POLL_MS,
  FEED_INTERVAL_MS,
  FEED_RETRY_MS,
  REMEMBERED_EVENTS_BYTES_MAX,
  REMEMBERED_EVENTS_MAX,
} from './limits.ts';
import { createPacer, type Pacer } from './pace.ts';
import type { FeedPorts } from './ports.ts';
import { createWaiters, patiently, type Subscriber, type Tracked } from './subscription.ts';

/**
 * First `started`, which says from where on; then events in commit order. `events` may be empty: then only the place
 * moved.
 */
export type EventsMessage =
  | { readonly type: 'started' }
  | { readonly type: 'events'; readonly events: readonly Envelope[] };

/** What one subscriber asks for. */
export interface WatchedEvents {
  /** Empty: all. */
  readonly types: readonly EventType[];
  /** So many of before come first, fewer where the log does not have them (`Reads.beforeLatest`). */
  readonly latest: number;
}

/** Looks for events that were told of and cannot be read yet. */
const LOOKS_MAX = 10;

/** A stretch of the log: what came after `from`, up to `to`. */
interface Stretch {
  readonly from: string;
  readonly to: string;
  readonly events: readonly StoredEvent[];
  /** Of their data, as text. */
  readonly bytes: number;
  /** There may be more behind it. */
  readonly more: boolean;
}

/** The feed of all events. One reader follows the table; only a subscriber that is far behind reads on its own. */
export class EventsFeed {
  readonly #ports: FeedPorts;
  readonly #waiters = createWaiters();
  readonly #messages = new WeakMap<Stretch, Map<string, EventsMessage>>();
  /** By where they begin, oldest first. */
  readonly #recent = new Map<string, Stretch>();
  /** Being read for those who are behind: after a restart all come back to a few places. */
  readonly #missed = new Map<string, Promise<Stretch>>();
  readonly #pacer: Pacer;
  #recentEvents = 0;
  #recentBytes = 0;
  #cursor: string | null = null;
  #subscribers = 0;
  /** How often to look again before waiting for the next news. */
  #looks = 0;
  #starting: Promise<string> | null = null;
  #stopListening: (() => void) | null = null;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
    this.#pacer = createPacer(
      ports.clock,
      FEED_INTERVAL_MS,
      () => this.#follow(),
      (error) => ports.log.warn({ error }, 'events could not be read; trying again'),
      FEED_RETRY_MS,
    );
  }

  /** The ids are cursors into the stored events, good for as long as events are kept. */
  async *watch(
    { types, latest }: WatchedEvents,
    { lastEventId, signal }: Subscriber,
  ): AsyncGenerator<Tracked<EventsMessage>, void, undefined> {
    const { clock } = this.#ports;
    const key = types.toSorted().join();
    this.#subscribers += 1;
    this.#listen();
    try {
      const end = await patiently(clock, signal, () => this.#start());
      if (end === null) return;
      const place = lastEventId ?? (await this.#beginning({ types, latest }, end, signal));
      if (place === null) return;
      let at = place;
      yield { id: at, data: { type: 'started' } };
      let passed = 0;
      while (!signal.aborted) {
        const before = this.#cursor;
        const from = at;
        const stretch = await patiently(clock, signal, () => this.#next(from));
        if (stretch === null) {
          // News that came while this one read would be slept through.
          if (this.#cursor === before && !(await this.#waiters.wait(signal))) return;
          continue;
        }
        at = stretch.to;
        const message = this.#messageOf(stretch, types, key);
        passed += stretch.events.length;
        const isEmpty = message.type === 'events' && message.events.length === 0;
        // Who waits for a rare event is told the place now and then: it comes back with it, and reads on from there.
        if (isEmpty && !stretch.more && passed < EVENTS_PER_READ) continue;
        passed = 0;
        yield { id: at, data: message };
      }
    } finally {
      this.#leave();
    }
  }

  close(): void {
    this.#pacer.stop();
    this.#stopListening?.();
  }

  #listen(): void {
    if (this.#stopListening !== null) return;
    const unsubscribe = this.#ports.news.subscribe((notices) => {
      if (!notices.some((notice) => notice.type === 'events-stored')) return;
      this.#looks = LOOKS_MAX;
      this.#pacer.wake();
    });
    const { clock, areAllEventsTold } = this.#ports;
    let cancelPoll = (): void => {};
    const poll = (): void => {
      cancelPoll = clock.after(areAllEventsTold() ? EVENTS_NET_MS : EVENTS_POLL_MS, () => {
        this.#pacer.wake();
        poll();
      });
    };
    poll();
    this.#stopListening = () => {
      unsubscribe();
      cancelPoll();
    };
  }

  // The end of the log is asked for once, by the first subscriber; those who come meanwhile wait for the same answer.
  #start(): Promise<string> {
    if (this.#starting !== null) return this.#starting;
    const asked: Promise<string> = this.#ports.reads.eventsAfter(null, EVENTS_PER_READ).then(
      (read) => {
        if (this.#starting === asked) this.#cursor = read.cursor;
        this.#pacer.wake();
        return read.cursor;
      },
      (error: unknown) => {
        if (this.#starting === asked) this.#starting = null;
        throw error;
      },
    );
    this.#starting = asked;
    return asked;
  }

  // Where one begins who did not say where it was; null: it left meanwhile.
  #beginning({ types, latest }: WatchedEvents, end: string, signal: AbortSignal): Promise<string | null> | string {
    if (latest === 0) return this.#cursor ?? end;
    return patiently(this.#ports.clock, signal, () => this.#ports.reads.beforeLatest(types, latest));
  }

  async #next(at: string): Promise<Stretch | null> {
    if (at === this.#cursor) return null;
    const kept = this.#recent.get(at);
    if (kept !== undefined) return kept;
    const read = await this.#missedAfter(at);
    return read.to === at ? null : read;
  }

  // Whoever comes while it is read waits for the same, unless the shared reader moved meanwhile: that would be missing.
  #missedAfter(at: string): Promise<Stretch> {
    const key = `${at} ${this.#cursor}`;
    const begun = this.#missed.get(key);
    if (begun !== undefined) return begun;
    const reading = this.#ports.reads
      .missedEvents(at, EVENTS_PER_READ)
      .then((read) => this.#upToOthers(stretchOf(at, read)))
      .finally(() => this.#missed.delete(key));
    this.#missed.set(key, reading);
    return reading;
  }

  // Cut where the shared reader once stood: from there on these subscribers read along with the others.
  #upToOthers(read: Stretch): Stretch {
    const met = read.events.findLastIndex((event) => event.cursor === this.#cursor || this.#recent.has(event.cursor));
    return met < 0 ? read : { ...read, to: read.events[met]?.cursor ?? read.to, events: read.events.slice(0, met + 1) };
  }

  #messageOf(stretch: Stretch, types: readonly EventType[], key: string): EventsMessage {
    const known = this.#messages.get(stretch) ?? new Map<string, EventsMessage>();
    this.#messages.set(stretch, known);
    const message = known.get(key) ?? {
      type: 'events',
      events: stretch.events
        .filter(({ type }) => types.length === 0 || types.includes(type))
        .map((event) => envelope(event, this.#ports.coreName)),
    };
    known.set(key, message);
    return message;
  }

  #leave(): void {
    this.#subscribers -= 1;
    if (this.#subscribers > 0) return;
    this.#stopListening?.();
    this.#stopListening = null;
    this.#recent.clear();
    this.#recentEvents = 0;
    this.#recentBytes = 0;
    this.#cursor = null;
    this.#starting = null;
  }

  async #follow(): Promise<void> {
    if (this.#cursor === null) return;
    const from = this.#cursor;
    const read = stretchOf(from, await this.#ports.reads.eventsAfter(from, EVENTS_PER_READ));
    if (this.#cursor !== from) return;
    if (read.to === from) {
      // What was stored is told once no older transaction runs any more: soon.
      if (this.#looks > 0) this.#pacer.wake();
      this.#looks -= 1;
      return;
    }
    this.#looks = 0;
    this.#cursor = read.to;
    this.#remember(read);
    this.#waiters.wake();
    if (read.more) this.#pacer.wake();
  }

  #remember(stretch: Stretch): void {
    this.#recent.set(stretch.from, stretch);
    this.#recentEvents += stretch.events.length;
    this.#recentBytes += stretch.bytes;
    for (const [oldest, { events, bytes }] of this.#recent) {
      if (!this.#isTooMuch()) break;
      this.#recent.delete(oldest);
      this.#recentEvents -= events.length;
      this.#recentBytes -= bytes;
    }
  }

  #isTooMuch(): boolean {
    if (this.#recentBytes > REMEMBERED_EVENTS_BYTES_MAX) return true;
    return this.#recentEvents > REMEMBERED_EVENTS_MAX || this.#recent.size > REMEMBERED_EVENTS_MAX;
  }
}

function stretchOf(from: string, { cursor: to, ...read }: EventsRead): Stretch {
  return { from, to, ...read };
}
