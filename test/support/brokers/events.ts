/** Events for tests of brokers. */
import { randomUUID } from 'node:crypto';
import { topicOf } from '../../../actors/event-topics.ts';
import type { EventType } from '../../../actors/events.ts';
import type { PublishedEvent } from '../../../actors/published-event.ts';

/** An event of a type about a subject, with an envelope as the publisher writes it; `data` goes into it. */
export function brokerEvent(type: EventType, subject: string, data: object = {}): PublishedEvent {
  const id = randomUUID();
  const text = JSON.stringify({
    specversion: '1.0',
    id,
    source: 'urn:edge:tests',
    type,
    time: '2026-01-02T03:04:05.678Z',
    datacontenttype: 'application/json',
    corename: 'tests',
    data,
  });
  return { id, type, subject, topic: topicOf(type), coreName: 'tests', text };
}

/**
 * Number, in `data.number`, of each event of a run of `count` over `subjects` subjects, in order; `data.subject` says
 * whose it is.
 */
export function numberedEvents(count: number, subjects: number, first = 0): PublishedEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const subject = `subject-${(first + index) % subjects}`;
    return brokerEvent('edge.command_execution.created', subject, { subject, number: first + index });
  });
}

/**
 * What a consumer got, without repeats (at least once is promised), as the numbers of each subject in the order of
 * arrival.
 */
export function numbersBySubject(envelopes: readonly string[]): Map<string, number[]> {
  const seen = new Set<string>();
  const found = new Map<string, number[]>();
  for (const text of envelopes) {
    const { id, data } = JSON.parse(text) as {
      readonly id: string;
      readonly data: { readonly subject: string; readonly number: number };
    };
    if (seen.has(id)) continue;
    seen.add(id);
    found.set(data.subject, [...(found.get(data.subject) ?? []), data.number]);
  }
  return found;
}
