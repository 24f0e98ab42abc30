/** The health of an admin as clients see it. */
import { z } from 'zod';
import { resource, type Given } from '../../actors/resources/resource.ts';

const check = z.object({
  name: z.string(),
  healthy: z.boolean(),
  duration_ms: z.number(),
  error: z.string().nullable(),
});
/** What one subsystem check found. `error` is one sentence for an operator, null when healthy. */
export type SubsystemCheck = Given<typeof check>;

/** The subsystem checks and their sum. */
export const HealthView = resource('AdminHealth', 'Every subsystem check, and whether all passed.', {
  healthy: z.boolean(),
  checks: z.array(check),
});
