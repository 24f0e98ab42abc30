/** An enrolment key as clients see it. */
import { z } from 'zod';
import type { EnrollmentKeyResource } from '../../actors/resources.ts';

/** An enrolment key: the fields of `EnrollmentKeyResource`. */
export const EnrollmentKeyView: z.ZodType<EnrollmentKeyResource> = z
  .object({
    id: z.uuid(),
    cluster_name: z.string(),
    name: z.string().nullable(),
    key: z.string().describe('All that a new agent needs. Masked in lists.'),
    expired_at: z.iso.datetime().nullable(),
    uses_remaining: z.int().nullable().describe('Null: unlimited.'),
    last_used_at: z.iso.datetime().nullable(),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'EnrollmentKey', description: 'What lets a new agent into a cluster.' });
