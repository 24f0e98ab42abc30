/** The targeting of a command, as clients write it. */
import { z } from 'zod';
import { TARGET_FILTERS, type FilterField } from '../actors/filters.ts';
import type { Targeting } from '../actors/targeting.ts';
import { ClusterName } from '../transport/protocol/cluster-names.ts';
import { NodeIdInput } from './inputs.ts';
import { parameterSchema, parametersOf, timeText } from './list-input.ts';

/** Most nodes and clusters that one targeting names. A body of 1 MiB holds no more ids. */
export const TARGET_NODES_MAX = 27_000;
export const TARGET_CLUSTERS_MAX = 10_000;

/** Filters keep the values that the client gave: they are evaluated once, in the database (C2). */
function filtersOf(fields: Readonly<Record<string, FilterField>>) {
  return z.strictObject(
    Object.fromEntries(
      parametersOf(fields).map(({ name, field, op }) => [
        name,
        (field.kind === 'time' ? timeText : parameterSchema(field.kind, op)).optional(),
      ]),
    ),
  );
}

/**
 * A targeting: unknown keys are refused, names and ids deduplicated, and only the list that belongs to the type may be
 * given.
 */
export const targetingInput: z.ZodType<Targeting, Targeting> = z
  .strictObject({
    type: z.enum(['all', 'nodes', 'clusters']),
    node_ids: z.array(NodeIdInput).min(1).max(TARGET_NODES_MAX).optional().describe('Required when type is nodes.'),
    cluster_names: z
      .array(ClusterName)
      .min(1)
      .max(TARGET_CLUSTERS_MAX)
      .optional()
      .describe('Required when type is clusters.'),
    cluster_filters: filtersOf(TARGET_FILTERS.cluster_filters).optional(),
    node_filters: filtersOf(TARGET_FILTERS.node_filters).optional(),
  })
  .superRefine((targeting, context) => {
    for (const { field, type } of [
      { field: 'node_ids', type: 'nodes' },
      { field: 'cluster_names', type: 'clusters' },
    ] as const) {
      const isGiven = targeting[field] !== undefined;
      if (isGiven === (targeting.type === type)) continue;
      context.addIssue({
        code: 'custom',
        path: [field],
        message: isGiven ? `is only for type ${type}` : `is required when type is ${type}`,
      });
    }
  })
  .meta({
    oneOf: [
      {
        properties: { type: { const: 'all' } },
        not: { anyOf: [{ required: ['node_ids'] }, { required: ['cluster_names'] }] },
      },
      { properties: { type: { const: 'nodes' } }, required: ['node_ids'], not: { required: ['cluster_names'] } },
      { properties: { type: { const: 'clusters' } }, required: ['cluster_names'], not: { required: ['node_ids'] } },
    ],
  })
  .transform((targeting): Targeting => ({
    ...(targeting as Targeting),
    ...(targeting.node_ids === undefined ? {} : { node_ids: [...new Set(targeting.node_ids)] }),
    ...(targeting.cluster_names === undefined ? {} : { cluster_names: [...new Set(targeting.cluster_names)] }),
  })) as unknown as z.ZodType<Targeting, Targeting>;
