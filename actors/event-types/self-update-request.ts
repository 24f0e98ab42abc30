/** Events of self-update requests. */
import { z } from 'zod';
import { Targeting } from '../targeting-schema.ts';
import { eventType, id, instantText } from './definition.ts';
import { EXAMPLE_CLUSTER, EXAMPLE_IDS, EXAMPLE_TIMES } from './examples.ts';

const count = z.int().min(0);
const targeting = Targeting.strict() as unknown as z.ZodType<Targeting>; // read-only to the checker only

/** By type. Source: docs/events.md. */
export const SELF_UPDATE_REQUEST_EVENTS = {
  'edge.self_update_request.completed': eventType({
    description: 'Every node of a self-update request was triggered or failed.',
    data: z.strictObject({
      self_update_request_id: id('The request.'),
      status: z.literal('completed').describe('How far it is: always this.'),
      targeting: targeting.describe('Whom it was for, as it was asked.'),
      summary: z
        .strictObject({ total: count, triggered: count, failed: count })
        .describe('How many nodes it reached, and how it went.'),
      inserted_at: instantText('When it was asked.'),
      updated_at: instantText('When it was over.'),
    }),
    example: {
      time: EXAMPLE_TIMES.ended,
      data: {
        self_update_request_id: EXAMPLE_IDS.update,
        status: 'completed',
        targeting: { type: 'clusters', cluster_names: [EXAMPLE_CLUSTER] },
        summary: { total: 3, triggered: 2, failed: 1 },
        inserted_at: EXAMPLE_TIMES.created,
        updated_at: EXAMPLE_TIMES.ended,
      },
    },
  }),
};
