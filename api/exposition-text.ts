/** Text of an exposition for clients that read it whole, as models do: bounded, and saying when it was cut. */
import { z } from 'zod';

/**
 * Text in one answer, in bytes: some 16,000 tokens of a model. All of it is at the raw routes, which have no such
 * bound.
 */
export const EXPOSITION_TEXT_BYTES_MAX = 65_536;

/** An exposition as an answer. */
export const ExpositionView = z
  .object({
    text: z
      .string()
      .describe(
        `Prometheus text exposition format 0.0.4: its first ${EXPOSITION_TEXT_BYTES_MAX} bytes at most, whole lines.`,
      ),
    truncated: z.boolean().describe('There is more. All of it is at the raw route, over HTTP.'),
    size_bytes: z.int().describe('Of all of it.'),
  })
  .meta({ id: 'Exposition', description: 'Metrics as Prometheus reads them.' });

/** Such an answer. */
export type Exposition = z.infer<typeof ExpositionView>;

/** The first lines of an exposition. */
export function expositionOf(whole: Buffer): Exposition {
  const truncated = whole.length > EXPOSITION_TEXT_BYTES_MAX;
  const end = truncated ? whole.lastIndexOf(LINE_FEED, EXPOSITION_TEXT_BYTES_MAX - 1) + 1 : whole.length;
  return { text: whole.toString('utf8', 0, end), truncated, size_bytes: whole.length };
}

const LINE_FEED = 10;
