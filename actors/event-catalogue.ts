/**
 * The catalogue of events: every type with what it means, the fields of its `data` and a full example. Clients read it,
 * the AsyncAPI document and its page are made from it, and what a change emits is typed by it.
 */
import { z } from 'zod';
import { COMMAND_EXECUTION_EVENTS, type ExecutionSnapshot } from './event-types/command-execution.ts';
import { CORE_EVENTS } from './event-types/core.ts';
import { CREDENTIAL_EVENTS } from './event-types/credential.ts';
import type { EventDefinition } from './event-types/definition.ts';
import { NODE_EVENTS } from './event-types/node.ts';
import { SELF_UPDATE_REQUEST_EVENTS } from './event-types/self-update-request.ts';
import { envelope, Envelope, EVENT_TYPES, type EventType } from './events.ts';
import { resource } from './resources/resource.ts';

/** One entry of the catalogue: when a type fires, in one or two sentences, and an example. */
export const EventTypeResource = resource('EventType', 'A type of event, with an example of its envelope.', {
  type: z.enum(EVENT_TYPES),
  description: z.string(),
  example: Envelope,
});
export type EventTypeResource = z.output<typeof EventTypeResource>;

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

/**
 * One event, written in the transaction of its change (V1). `subject` is the entity, `data` its full snapshot, `atMs`
 * when the change happened. It gets its id when it is stored, but for one that may be told of again: that brings its
 * own (event-id.ts).
 */
export type DomainEvent<T extends EventType = EventType> = {
  readonly [Type in T]: {
    readonly id?: string;
    readonly type: Type;
    readonly subject: string;
    readonly atMs: number;
    readonly data: EventData[Type];
  };
}[T];

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

/** The envelope of one type, with the fields of its `data`. */
export function envelopeOf(type: EventType): z.ZodObject {
  return Envelope.extend({ type: z.literal(type).describe('What happened.'), data: EVENT_DEFINITIONS[type].data });
}
