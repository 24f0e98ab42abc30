/** Events and their catalogue as clients see them. */
import { z } from 'zod';
import { ENVELOPE, type EventTypeResource } from '../../actors/event-catalogue.ts';
import { EVENT_TYPES, type Envelope } from '../../actors/events.ts';

/** An event as it is published. */
export const EnvelopeView: z.ZodType<Envelope> = ENVELOPE.meta({
  id: 'Event',
  description: 'A CloudEvents 1.0 envelope.',
});

/** An entry of the event catalogue. */
export const EventTypeView: z.ZodType<EventTypeResource> = z
  .object({
    type: z.enum(EVENT_TYPES),
    description: z.string(),
    example: ENVELOPE,
  })
  .meta({ id: 'EventType', description: 'A type of event, with an example of its envelope.' });
