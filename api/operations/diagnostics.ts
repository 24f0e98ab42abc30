/** What is wrong with a node. */
import { z } from 'zod';
import { NodeIdInput } from '../inputs/inputs.ts';
import { operation } from '../operation.ts';
import { NodeDiagnosisResource } from '../../actors/resources/node-diagnosis.ts';

export const get_node_diagnostics = operation({
  name: 'get_node_diagnostics',
  kind: 'query',
  summary:
    "Diagnose a node: network and VPN first, then its agent's services. Asked live; a node that is away answers with its last report. Never changes its status.",
  rest: { method: 'GET', path: '/nodes/:id/diagnostics', status: 200 },
  hints: { destructive: false, idempotent: true, openWorld: true },
  input: z.strictObject({ id: NodeIdInput }),
  output: NodeDiagnosisResource,
  handle: ({ id }, { ports }) => ports.nodeDiagnoses.get(id),
});
