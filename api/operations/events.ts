/** The event catalogue, and a test event. */
import { z } from 'zod';
import { eventCatalogue, EventTypeResource, explainEventType } from '../../actors/event-catalogue.ts';
import { TEST_MESSAGE } from '../../actors/event-types/core.ts';
import { envelope, EventResource, EVENT_TYPES, type EventType } from '../../actors/events.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { instant } from '../../actors/resources/instant.ts';
import { nothing, storableText } from '../inputs/inputs.ts';
import { inputOf } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { NOT_FOUND } from '../reading.ts';

export const list_event_types = operation({
  name: 'list_event_types',
  kind: 'query',
  summary: 'List the types of events, each with a full example.',
  rest: { method: 'GET', path: '/event_types', status: 200 },
  list: true,
  input: inputOf({ fields: {}, sortable: ['type'] }),
  output: EventTypeResource,
  handle: async ({ page, pageSize, sort: [sort] }, { ports }) => {
    const types = [...eventCatalogue(ports.settings.coreName)];
    if (sort !== undefined) types.sort((a, b) => (a.type < b.type ? -1 : 1) * (sort.descending ? -1 : 1));
    return ok({ rows: types.slice((page - 1) * pageSize, page * pageSize), totalCount: types.length });
  },
});

export const explain_event_type = operation({
  name: 'explain_event_type',
  kind: 'query',
  summary: 'Explain a type of event, with a full example.',
  rest: { method: 'GET', path: '/event_types/:type', status: 200 },
  input: z.strictObject({ type: storableText(128) }),
  output: EventTypeResource,
  handle: async ({ type }, { ports }) =>
    isEventType(type) ? ok(explainEventType(type, ports.settings.coreName)) : refuse('not_found', NOT_FOUND),
});

export const publish_test_event = operation({
  name: 'publish_test_event',
  kind: 'mutation',
  summary: 'Publish a test event. Answers its envelope once it is stored; delivery follows.',
  rest: { method: 'POST', path: '/events/test', status: 202 },
  input: nothing,
  output: EventResource,
  handle: async (_input, { ports }) => {
    const atMs = ports.clock.nowMs();
    const stored = await ports.records.publish({
      type: 'edge.core.test',
      subject: ports.newId(),
      atMs,
      data: { message: TEST_MESSAGE, requested_at: instant(atMs) },
    });
    return ok(envelope(stored, ports.settings.coreName));
  },
});

function isEventType(type: string): type is EventType {
  return (EVENT_TYPES as readonly string[]).includes(type);
}
