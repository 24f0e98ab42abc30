/** Events and their catalogue as clients see them. */
import { z } from 'zod';
import type { EventTypeResource } from '../../actors/event-catalogue.ts';
import { EVENT_TYPES, type Envelope } from '../../actors/events.ts';

/** An event as it is published. */
export const EnvelopeView: z.ZodType<Envelope> = z.object({
  specversion: z.literal('1.0'),
  id: z.uuid(),
  source: z.string(),
  type: z.enum(EVENT_TYPES),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  corename: z.string(),
  data: z.record(z.string(), z.unknown()),
}).meta({ id: 'Event', description: 'A CloudEvents 1.0 envelope.' });

/** An entry of the event catalogue. */
export const EventTypeView: z.ZodType<EventTypeResource> = z.object({
  type: z.enum(EVENT_TYPES),
  description: z.string(),
  example: z.object({
    specversion: z.literal('1.0'),
    id: z.uuid(),
    source: z.string(),
    type: z.enum(EVENT_TYPES),
    time: z.iso.datetime(),
    datacontenttype: z.literal('application/json'),
    corename: z.string(),
    data: z.record(z.string(), z.unknown()),
  }),
}).meta({ id: 'EventType', description: 'A type of event, with an example of its envelope.' });
