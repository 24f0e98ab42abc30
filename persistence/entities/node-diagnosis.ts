/** Reports of nodes on themselves. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { Node } from './node.ts';

/** The last report of a node. */
export const NodeDiagnosis = defineEntity({
  name: 'NodeDiagnosis',
  tableName: 'node_diagnosis',
  properties: {
    node: () => p.oneToOne(Node).primary().deleteRule('cascade').updateRule('no action'),
    collectedAt: instant(),
    checks: p.json(),
  },
});
