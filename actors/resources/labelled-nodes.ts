/** What came of labelling many nodes, as clients see it. */
import { z } from 'zod';
import { resource } from './resource.ts';

/** Nodes that are named with what stopped them, at most. */
export const FAILED_NODES_MAX = 100;

const count = z.int().min(0);

/** Counts of one call. */
export const LabelledNodesResource = resource('LabelledNodes', 'What came of labelling the nodes of a targeting.', {
  node_count: count.describe('Nodes that the targeting reached.'),
  labelled_count: count.describe('Those that have, or lack, the labels now as was asked.'),
  failed_count: count.describe('The others.'),
  failed: z
    .array(z.object({ node_id: z.uuid(), code: z.string(), message: z.string() }))
    .max(FAILED_NODES_MAX)
    .describe(`Why, of at most ${FAILED_NODES_MAX} of them.`),
});
export type LabelledNodesResource = z.output<typeof LabelledNodesResource>;
