/** An enrolment key as clients see it. */
import { z } from 'zod';
import { nodeLabels } from './node.ts';
import { resource, stored } from './resource.ts';

/** An enrolment key. */
export const EnrollmentKeyResource = resource('EnrollmentKey', 'What lets a new agent into a cluster.', {
  id: z.uuid(),
  cluster_name: z.string(),
  name: z.string().nullable(),
  key: z.string().describe('All that a new agent needs. Masked in lists.'),
  expired_at: z.iso.datetime().nullable(),
  uses_remaining: z.int().nullable().describe('Null: unlimited.'),
  last_used_at: z.iso.datetime().nullable(),
  labels: nodeLabels.describe('Labels of every node that it lets in.'),
  ...stored,
});
export type EnrollmentKeyResource = z.output<typeof EnrollmentKeyResource>;
