/**
 * The catalogue of events: every type with what it means, the fields of its `data` and a full example. Clients read it,
 * and the AsyncAPI document and its page are made from it.
 */
import { z } from 'zod';
import { COMMAND_EXECUTION_EVENTS, type ExecutionSnapshot } from './event-types/command-execution.ts';
import { CORE_EVENTS } from './event-types/core.ts';
import { CREDENTIAL_EVENTS } from './event-types/credential.ts';
import type { EventDefinition } from './event-types/definition.ts';
import { NODE_EVENTS } from './event-types/node.ts';
import { SELF_UPDATE_REQUEST_EVENTS } from './event-types/self-update-request.ts';
import { envelope, EVENT_SOURCE, EVENT_TYPES, type Envelope, type EventType } from './events.ts';

/** One entry of the catalogue. */
export interface EventTypeResource {
  readonly type: EventType;
  /** When it fires, in one or two sentences. */
  readonly description: string;
  readonly example: Envelope;
}

/** Every definition, by type. */
export const EVENT_DEFINITIONS = {
  ...NODE_EVENTS,
  ...COMMAND_EXECUTION_EVENTS,
  ...SELF_UPDATE_REQUEST_EVENTS,
  ...CREDENTIAL_EVENTS,
  ...CORE_EVENTS,
} as const satisfies Record<EventType, EventDefinition>;

/**
 * `data` of each type, as what emits it must word it. Of executions any snapshot is taken: what each of their types
 * fixes is certain only at run time, and held by tests.
 */
export type EventData = {
  readonly [T in EventType]: T extends `edge.command_execution.${string}`
    ? ExecutionSnapshot
    : Readonly<z.output<(typeof EVENT_DEFINITIONS)[T]['data']>>;
};

/** Id of every example envelope: a UUID v4, as real ones are. */
const EXAMPLE_ID = '7f3d2c1a-9b8e-4f6d-8a5b-1c2d3e4f5a6b';

/** The whole catalogue, in the order of docs/events.md. `coreName` is that of the examples. */
export function eventCatalogue(coreName: string): readonly EventTypeResource[] {
  return EVENT_TYPES.map((type) => explainEventType(type, coreName));
}

/** One entry of the catalogue. */
export function explainEventType(type: EventType, coreName: string): EventTypeResource {
  const {
    description,
    example: { time, data },
  } = EVENT_DEFINITIONS[type];
  return {
    type,
    description,
    example: envelope({ cursor: '', id: EXAMPLE_ID, type, subject: '', time, data }, coreName),
  };
}

/** The envelope of any event, `data` unread: what clients get that take every type. Source: docs/events.md. */
export const ENVELOPE = z.strictObject({
  specversion: z.literal('1.0').describe('Version of CloudEvents.'),
  id: z.uuidv4().describe('Unique to each event and the same on every try to deliver it: drop what you have seen.'),
  source: z.literal(EVENT_SOURCE).describe('Always the same.'),
  type: z.enum(EVENT_TYPES).describe('What happened. Also the subject, routing key, channel or topic.'),
  time: z.iso.datetime({ precision: 3 }).describe('When it happened.'),
  datacontenttype: z.literal('application/json').describe('Always the same.'),
  corename: z.string().describe('Which installation it comes from: CORE_NAME there.'),
  data: z.record(z.string(), z.unknown()).describe('The whole object at that moment.'),
});

/** The envelope of one type, with the fields of its `data`. */
export function envelopeOf(type: EventType): z.ZodObject {
  return ENVELOPE.extend({ type: z.literal(type).describe('What happened.'), data: EVENT_DEFINITIONS[type].data });
}
