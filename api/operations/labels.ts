/** Labels of nodes. */
import { z } from 'zod';
import { ok, refuse } from '../../actors/refusal.ts';
import { LabelledNodesResource } from '../../actors/resources/labelled-nodes.ts';
import { NodeResource } from '../../actors/resources/node.ts';
import { LabelKey, Labels, LABELS_MAX } from '../../transport/protocol/labels.ts';
import { FORWARD_MS_MAX } from '../forwarding/deadline.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { labelled } from '../labelling.ts';
import { operation } from '../operation.ts';
import { targetingInput } from '../inputs/targeting-input.ts';
import { targetsOf } from '../targeted-nodes.ts';
import { askNode } from './nodes.ts';

/** Nodes that one call labels, at most: each is asked for itself, some thousands a second. */
export const LABELLED_NODES_MAX = 10_000;

const newLabels = Labels.refine((labels) => Object.keys(labels).length > 0, 'must not be empty').meta({
  minProperties: 1,
});

export const set_node_labels = operation({
  name: 'set_node_labels',
  kind: 'mutation',
  summary: `Set labels of a node. Those that are not named stay. A node has at most ${LABELS_MAX}.`,
  rest: { method: 'PATCH', path: '/nodes/:id/labels', status: 200 },
  input: z.strictObject({ id: NodeIdInput, labels: newLabels }),
  output: NodeResource,
  ownedBy: ({ id }) => ({ kind: 'node', id }),
  repeatable: true,
  handle: ({ id, labels }, call) =>
    askNode<NodeResource>(id, call, (replyTo) => ({ type: 'set-labels', replyTo, labels, removed: [] })),
});

export const remove_node_label = operation({
  name: 'remove_node_label',
  kind: 'mutation',
  summary: 'Remove a label of a node.',
  rest: { method: 'DELETE', path: '/nodes/:id/labels/:key', status: 204 },
  input: z.strictObject({ id: NodeIdInput, key: LabelKey }),
  output: z.null(),
  ownedBy: ({ id }) => ({ kind: 'node', id }),
  repeatable: true,
  handle: ({ id, key }, call) => askNode<null>(id, call, (replyTo) => ({ type: 'remove-label', replyTo, key })),
});

export const label_nodes = operation({
  name: 'label_nodes',
  kind: 'mutation',
  summary: `Set and remove labels of all nodes that a targeting reaches now, at most ${LABELLED_NODES_MAX}.`,
  rest: { method: 'POST', path: '/nodes/labels', status: 200 },
  hints: { destructive: true, idempotent: true },
  input: z
    .strictObject({
      targeting: targetingInput,
      set: newLabels.optional().describe('Labels that each of the nodes gets.'),
      remove: z
        .array(LabelKey)
        .min(1)
        .max(LABELS_MAX)
        .optional()
        .describe('Keys of labels that each of the nodes loses, unless they are set.'),
    })
    .refine(({ set, remove }) => set !== undefined || remove !== undefined, {
      path: ['set'],
      error: 'is required where remove is not given',
    })
    .meta({ anyOf: [{ required: ['set'] }, { required: ['remove'] }] }),
  output: LabelledNodesResource,
  handle: async ({ targeting, set = {}, remove = [] }, call) => {
    const untilMs = call.ports.clock.nowMs() + FORWARD_MS_MAX;
    const reached = await targetsOf(call.ports.reads, targeting);
    if (!reached.ok) return reached;
    const targets = reached.value;
    if (targets.length > LABELLED_NODES_MAX)
      return refuse('validation_failed', 'Validation failed', {
        targeting: [`reaches ${targets.length} nodes, and at most ${LABELLED_NODES_MAX} are labelled at once`],
      });
    return ok(await labelled(targets, { labels: set, removed: remove }, call, untilMs));
  },
});
