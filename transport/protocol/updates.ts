/** Self-updates on the wire: what an agent says of its updater. */
import { z } from 'zod';
import { Uuid } from './ids.ts';
import { UPDATE_ERROR_CHARS_MAX, UPDATE_VERSION_CHARS_MAX } from './limits.ts';
import { foreignText, wireText } from './text.ts';

/** Whether the updater of this machine took the signal for a request; when it did not, why. */
export const UpdateAnswer = z.object({
  request: Uuid,
  accepted: z.boolean(),
  error: foreignText().max(UPDATE_ERROR_CHARS_MAX).nullable(),
});
export type UpdateAnswer = z.infer<typeof UpdateAnswer>;

/** What came of an update: `from` and `to` are versions; `error` says why the updater went back. */
export const UpdateOutcome = z.object({
  request: Uuid,
  outcome: z.enum(['updated', 'rolled_back', 'unchanged']),
  from: wireText().max(UPDATE_VERSION_CHARS_MAX),
  to: wireText().max(UPDATE_VERSION_CHARS_MAX),
  error: foreignText().max(UPDATE_ERROR_CHARS_MAX).nullable(),
});
export type UpdateOutcome = z.infer<typeof UpdateOutcome>;
