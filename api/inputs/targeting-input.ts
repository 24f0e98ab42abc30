/** The targeting of a command, as clients write it. */
import { z } from 'zod';
import { TARGET_FILTERS, type FilterField } from '../../actors/filters.ts';
import type { PlainTargeting, Targeting } from '../../actors/targeting-schema.ts';
import { ClusterName } from '../../transport/protocol/cluster-names.ts';
import { NodeIdInput } from './inputs.ts';
import { parameterSchema, parametersOf, selectorText, timeText } from './list-input.ts';

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

/** Name of a saved group: that of a cluster could be. */
export const GroupName = ClusterName;

const lists = {
  node_ids: z.array(NodeIdInput).min(1).max(TARGET_NODES_MAX).optional().describe('Required when type is nodes.'),
  cluster_names: z
    .array(ClusterName)
    .min(1)
    .max(TARGET_CLUSTERS_MAX)
    .optional()
    .describe('Required when type is clusters.'),
};
const narrowing = {
  labels: selectorText.optional(),
  cluster_filters: filtersOf(TARGET_FILTERS.cluster_filters).optional(),
  node_filters: filtersOf(TARGET_FILTERS.node_filters).optional(),
};

/** Which field belongs to which type; it is required there, and refused elsewhere. */
const FIELD_OF_TYPE = { nodes: 'node_ids', clusters: 'cluster_names', group: 'group' } as const;

/**
 * A targeting: unknown keys are refused, names and ids deduplicated, and only the list that belongs to the type may be
 * given.
 */
export const targetingInput = refined(
  z.strictObject({
    type: z.enum(['all', 'nodes', 'clusters', 'group']),
    ...lists,
    group: GroupName.optional().describe('Name of a saved group. Required when type is group.'),
    ...narrowing,
  }),
  ['node_ids', 'cluster_names', 'group'],
);

/** The targeting of a group: one that names no other group. */
export const plainTargetingInput = refined(
  z.strictObject({ type: z.enum(['all', 'nodes', 'clusters']), ...lists, ...narrowing }),
  ['node_ids', 'cluster_names'],
) as unknown as z.ZodType<PlainTargeting, PlainTargeting>;

type TypedField = (typeof FIELD_OF_TYPE)[keyof typeof FIELD_OF_TYPE];
type Given = { readonly type: string } & { readonly [F in TypedField]?: unknown };

function refined(schema: z.ZodType<Given>, fields: readonly TypedField[]): z.ZodType<Targeting, Targeting> {
  const types = Object.entries(FIELD_OF_TYPE).filter(([, field]) => fields.includes(field));
  return schema
    .superRefine((targeting, context) => {
      for (const [type, field] of types) {
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
      oneOf: ['all', ...types.map(([type]) => type)].map((type) => {
        const own = types.find(([one]) => one === type)?.[1];
        const others = fields.filter((field) => field !== own).map((field) => ({ required: [field] }));
        return {
          properties: { type: { const: type } },
          ...(own !== undefined && { required: [own] }),
          not: others.length === 1 ? others[0] : { anyOf: others },
        };
      }),
    })
    .transform((given): Targeting => {
      const targeting = given as Targeting;
      return {
        ...targeting,
        ...(targeting.node_ids === undefined ? {} : { node_ids: [...new Set(targeting.node_ids)] }),
        ...(targeting.cluster_names === undefined ? {} : { cluster_names: [...new Set(targeting.cluster_names)] }),
      };
    }) as unknown as z.ZodType<Targeting, Targeting>;
}
