/** Events of the service itself. */
import { z } from 'zod';
import { eventType, instantText } from './definition.ts';
import { EXAMPLE_TIMES } from './examples.ts';

/** Words of every test event. */
export const TEST_MESSAGE = 'This is a test event.';

/** By type. */
export const CORE_EVENTS = {
  'edge.core.test': eventType({
    description: 'Someone published a test event.',
    data: z.strictObject({
      message: z.string().describe('That it is only a test.'),
      requested_at: instantText('When it was asked for.'),
    }),
    example: { time: EXAMPLE_TIMES.created, data: { message: TEST_MESSAGE, requested_at: EXAMPLE_TIMES.created } },
  }),
};
