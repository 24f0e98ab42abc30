/** Events as they are stored and sent: every type of docs/events.md, and the envelope that all of them have. */
import { z } from 'zod';
import type { Given } from './resources/resource.ts';

/** A login by SSH, let in or refused. */
export const LOGIN_EVENT_TYPE = 'edge.ssh_username.verified';

/** All types, in the order of docs/events.md. */
export const EVENT_TYPES = [
  'edge.node.registered',
  'edge.node.reregistered',
  'edge.node.version_changed',
  'edge.node.status_changed',
  'edge.node.cluster_changed',
  'edge.node.update_triggered',
  'edge.command_execution.created',
  'edge.command_execution.sent',
  'edge.command_execution.completed',
  'edge.command_execution.cancelled',
  'edge.command_execution.expired',
  'edge.command_execution.pruned',
  'edge.self_update_request.completed',
  'edge.enrollment_key.verified',
  LOGIN_EVENT_TYPE,
  'edge.core.test',
] as const;
/** One of them. */
export type EventType = (typeof EVENT_TYPES)[number];

/** Types whose subject is a node: what happens to it, and who tried to log in to it. */
export const NODE_EVENT_TYPES = EVENT_TYPES.filter(
  (type) => type.startsWith('edge.node.') || type === LOGIN_EVENT_TYPE,
);

/** An event as stored: what feeds, webhooks and brokers publish. `cursor` orders events by commit. */
export interface StoredEvent {
  readonly cursor: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly time: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A stretch of the stored events. */
export interface EventsRead {
  readonly events: readonly StoredEvent[];
  /** Where to go on. */
  readonly cursor: string;
  /** Of their data, as text. */
  readonly bytes: number;
  /** There may be more at once. */
  readonly more: boolean;
}

/** Constant `source` of every envelope. */
export const EVENT_SOURCE = '/edge-fleet-control';

/** The envelope of any event, `data` unread: what clients get that take every type. Source: docs/events.md. */
export const Envelope = z.strictObject({
  specversion: z.literal('1.0').describe('Version of CloudEvents.'),
  id: z.uuidv4().describe('Unique to each event and the same on every try to deliver it: drop what you have seen.'),
  source: z.literal(EVENT_SOURCE).describe('Always the same.'),
  type: z.enum(EVENT_TYPES).describe('What happened. Also the subject, routing key, channel or topic.'),
  time: z.iso.datetime({ precision: 3 }).describe('When it happened.'),
  datacontenttype: z.literal('application/json').describe('Always the same.'),
  corename: z.string().describe('Which installation it comes from: CORE_NAME there.'),
  data: z.record(z.string(), z.unknown()).describe('The whole object at that moment.'),
});
export type Envelope = Given<typeof Envelope>;

/** The same as a resource of the API. */
export const EventResource = Envelope.meta({ id: 'Event', description: 'A CloudEvents 1.0 envelope.' });

/** Wraps a stored event for the world. */
export function envelope(event: StoredEvent, coreName: string): Envelope {
  return {
    specversion: '1.0',
    id: event.id,
    source: EVENT_SOURCE,
    type: event.type,
    time: event.time,
    datacontenttype: 'application/json',
    corename: coreName,
    data: event.data,
  };
}

/**
 * The envelope as JSON text around data that is JSON text already: what webhooks and brokers send. Equal to the JSON of
 * `envelope`.
 */
export function envelopeText(
  event: Pick<StoredEvent, 'id' | 'type' | 'time'>,
  dataText: string,
  coreName: string,
): string {
  return `{"specversion":"1.0","id":"${event.id}","source":"${EVENT_SOURCE}","type":"${event.type}","time":"${event.time}","datacontenttype":"application/json","corename":${JSON.stringify(coreName)},"data":${dataText}}`;
}
