/** Watchers of events that are rows in memory. */
import type { EventType } from '../../../../actors/events.ts';
import type { EventsMessage } from '../../../../api/feeds/events.ts';
import { FEED_INTERVAL_MS } from '../../../../api/feeds/limits.ts';
import { AT, gather, idOf, settle, type Fixture } from '../../../support/api/rows.ts';

/** A watcher that has begun, and how it leaves. */
export async function watch(
  fixture: Fixture,
  {
    types = [],
    latest = 0,
    lastEventId,
  }: {
    readonly types?: readonly EventType[];
    readonly latest?: number;
    readonly lastEventId?: string | undefined;
  } = {},
) {
  const controller = new AbortController();
  const watching = gather((signal) =>
    fixture.feeds.events.watch(
      { types, latest },
      { lastEventId, signal: AbortSignal.any([signal, controller.signal]) },
    ),
  );
  await settle();
  return { ...watching, gone: () => controller.abort() };
}

/** Lets so many messages come. */
export async function turns(fixture: Fixture, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await settle();
    fixture.clock.advance(FEED_INTERVAL_MS);
    await settle();
  }
}

/** Stores events, and tells of them. */
export function store(fixture: Fixture, count: number, type: EventType = 'edge.node.registered'): void {
  for (let n = 0; n < count; n += 1) fixture.events.push(eventOf(fixture.events.length + 1, type));
  fixture.bus.publish([{ type: 'events-stored' }]);
}

/** Events whose data has so many bytes. */
export function storeSized(fixture: Fixture, sizes: readonly number[]): void {
  for (const size of sizes) {
    const event = eventOf(fixture.events.length + 1);
    const empty = JSON.stringify({ command_text: '' }).length;
    fixture.events.push({ ...event, data: { command_text: 'x'.repeat(Math.max(0, size - empty)) } });
  }
  fixture.bus.publish([{ type: 'events-stored' }]);
}

/** The event of that number. */
export function eventOf(n: number, type: EventType = 'edge.node.registered') {
  return { cursor: String(n), id: idOf(n), type, subject: idOf(0), time: AT, data: { n } };
}

/** Ids of all events that were told. */
export function eventIds(messages: readonly EventsMessage[]): string[] {
  return messages.flatMap((message) => (message.type === 'events' ? message.events.map(({ id }) => id) : []));
}
