/** What nodes are described by, each in a table of its own: the row of a node is written far more often. */
import { defineEntity, p } from '@mikro-orm/core';
import type { NodeFacts as Facts } from '../../transport/protocol/facts.ts';
import type { Labels } from '../../transport/protocol/labels.ts';
import { Node } from './node.ts';

/** The labels of a node. Each has a row: a trigger makes it with the node. */
export const NodeLabels = defineEntity({
  name: 'NodeLabels',
  tableName: 'node_labels',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    labels: p.json<Labels>(),
  },
});

/** What the agent of a node says of its machine. No row: nothing. */
export const NodeFacts = defineEntity({
  name: 'NodeFacts',
  tableName: 'node_facts',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    facts: p.json<Facts>(),
  },
});
