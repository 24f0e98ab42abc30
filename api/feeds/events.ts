/** `events.watch`: every stored event from a place in the log on, read once for all subscribers. */
import { envelope, type Envelope, type EventType, type StoredEvent } from '../../actors/events.ts';
import { EVENTS_PER_READ, EVENTS_POLL_MS, FEED_INTERVAL_MS, FEED_RETRY_MS, REMEMBERED_EVENTS_MAX } from './limits.ts';
import { createPacer } from './pace.ts';
import type { FeedPorts } from './ports.ts';
import { createWaiters, patiently, type Subscriber, type Tracked } from './subscription.ts';

/**
 * First `started`, which says from where on; then events in commit order. `events` may be empty: then only the place
 * moved.
 */
export type EventsMessage =
  | { readonly type: 'started' }
  | { readonly type: 'events'; readonly events: readonly Envelope[] };

/** The feed behind `events.watch`. */
export interface EventsFeed {
  /**
   * All types when `types` is empty. The ids are cursors into the stored events, good for as long as events are kept.
   */
  watch(types: readonly EventType[], subscriber: Subscriber): AsyncGenerator<Tracked<EventsMessage>, void, undefined>;
  close(): void;
}

/** Looks for events that were told of and cannot be read yet. */
const LOOKS_MAX = 10;

/** A stretch of the log: what came after `from`, up to `to`. */
interface Stretch {
  readonly from: string;
  readonly to: string;
  readonly events: readonly StoredEvent[];
}

/** The feed of all events. One reader follows the table; only a subscriber that is far behind reads on its own. */
export function createEventsFeed({ bus, reads, clock, log, coreName }: FeedPorts): EventsFeed {
  const waiters = createWaiters();
  const messages = new WeakMap<Stretch, Map<string, EventsMessage>>();
  /** By where they begin, oldest first. */
  const recent = new Map<string, Stretch>();
  let recentEvents = 0;
  let cursor: string | null = null;
  let subscribers = 0;
  /** How often to look again before waiting for the next news. */
  let looks = 0;
  let stopListening: (() => void) | null = null;
  const pacer = createPacer(
    clock,
    FEED_INTERVAL_MS,
    follow,
    (error) => log.warn({ error }, 'events could not be read; trying again'),
    FEED_RETRY_MS,
  );

  async function follow(): Promise<void> {
    if (cursor === null) return;
    const from = cursor;
    const read = await reads.eventsAfter(from, EVENTS_PER_READ);
    if (cursor !== from) return;
    if (read.cursor === from) {
      // What was stored is told once no older transaction runs any more: soon.
      if (looks > 0) pacer.wake();
      looks -= 1;
      return;
    }
    looks = 0;
    cursor = read.cursor;
    recent.set(from, { from, to: read.cursor, events: read.events });
    recentEvents += read.events.length;
    for (const [oldest, { events }] of recent) {
      if (recentEvents <= REMEMBERED_EVENTS_MAX && recent.size <= REMEMBERED_EVENTS_MAX) break;
      recent.delete(oldest);
      recentEvents -= events.length;
    }
    waiters.wake();
    if (read.events.length === EVENTS_PER_READ) pacer.wake();
  }

  // The end of the log is asked for once, by the first subscriber; those who come meanwhile wait for the same answer.
  let starting: Promise<string> | null = null;
  function start(): Promise<string> {
    if (starting !== null) return starting;
    const asked: Promise<string> = reads.eventsAfter(null, EVENTS_PER_READ).then(
      (read) => {
        if (starting === asked) cursor = read.cursor;
        pacer.wake();
        return read.cursor;
      },
      (error: unknown) => {
        if (starting === asked) starting = null;
        throw error;
      },
    );
    starting = asked;
    return asked;
  }

  function listen(): void {
    if (stopListening !== null) return;
    const unsubscribe = bus.subscribe((notices) => {
      if (!notices.some((notice) => notice.type === 'events-stored')) return;
      looks = LOOKS_MAX;
      pacer.wake();
    });
    let cancelPoll = (): void => {};
    const poll = (): void => {
      cancelPoll = clock.after(EVENTS_POLL_MS, () => {
        pacer.wake();
        poll();
      });
    };
    poll();
    stopListening = () => {
      unsubscribe();
      cancelPoll();
    };
  }

  function leave(): void {
    subscribers -= 1;
    if (subscribers > 0) return;
    stopListening?.();
    stopListening = null;
    recent.clear();
    recentEvents = 0;
    cursor = null;
    starting = null;
  }

  async function next(at: string): Promise<Stretch | null> {
    if (at === cursor) return null;
    const kept = recent.get(at);
    if (kept !== undefined) return kept;
    const read = await reads.eventsAfter(at, EVENTS_PER_READ);
    // Cut where the shared reader once stood: from there on this subscriber reads along with the others.
    const met = read.events.findLastIndex((event) => event.cursor === cursor || recent.has(event.cursor));
    if (met >= 0)
      return { from: at, to: read.events[met]?.cursor ?? read.cursor, events: read.events.slice(0, met + 1) };
    return read.cursor === at ? null : { from: at, to: read.cursor, events: read.events };
  }

  function serializedMessage(stretch: Stretch, types: readonly EventType[], key: string): EventsMessage {
    const known = messages.get(stretch) ?? new Map<string, EventsMessage>();
    messages.set(stretch, known);
    const message = known.get(key) ?? {
      type: 'events',
      events: stretch.events
        .filter(({ type }) => types.length === 0 || types.includes(type))
        .map((event) => envelope(event, coreName)),
    };
    known.set(key, message);
    return message;
  }

  return {
    async *watch(types, { lastEventId, signal }) {
      const key = types.toSorted().join();
      subscribers += 1;
      listen();
      try {
        const end = await patiently(clock, signal, start);
        if (end === null) return;
        let at = lastEventId ?? cursor ?? end;
        yield { id: at, data: { type: 'started' } };
        while (!signal.aborted) {
          const before = cursor;
          const from = at;
          const stretch = await patiently(clock, signal, () => next(from));
          if (stretch === null) {
            // News that came while this one read would be slept through.
            if (cursor === before && !(await waiters.wait(signal))) return;
            continue;
          }
          at = stretch.to;
          const message = serializedMessage(stretch, types, key);
          const isEmpty = message.type === 'events' && message.events.length === 0;
          if (!isEmpty || stretch.events.length >= EVENTS_PER_READ) yield { id: at, data: message };
        }
      } finally {
        leave();
      }
    },
    close() {
      pacer.stop();
      stopListening?.();
    },
  };
}
