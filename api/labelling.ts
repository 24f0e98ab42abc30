/** Labels of many nodes, each of which decides for itself, at the owner of its cluster. */
import { z } from 'zod';
import { ok, type Result } from '../actors/refusal.ts';
import { FAILED_NODES_MAX, type LabelledNodesResource } from '../actors/resources/labelled-nodes.ts';
import type { Target } from '../actors/targeting.ts';
import { ClusterId, NodeId } from '../transport/protocol/ids.ts';
import { LabelKey, Labels } from '../transport/protocol/labels.ts';
import { operation, type Call } from './operation.ts';
import { askNode } from './operations/nodes.ts';

/** Nodes that are asked at once: as many changes as one commit takes well. */
export const LABELLED_AT_ONCE_MAX = 500;

/** What each of them gets and loses. */
export interface LabelChange {
  readonly labels: Labels;
  readonly removed: readonly string[];
}

const Failed = z.object({ node_id: z.string(), code: z.string(), message: z.string() });
type FailedNode = z.output<typeof Failed>;

/** Given nodes of one cluster, for other admins: what they have of a targeting is read where it was asked. */
export const label_given_nodes = operation({
  name: 'label_given_nodes',
  kind: 'mutation',
  summary: 'Set and remove labels of these nodes of a cluster.',
  rest: null,
  hints: { destructive: true, idempotent: true },
  input: z.strictObject({
    cluster: ClusterId,
    nodes: z.array(NodeId).max(LABELLED_AT_ONCE_MAX),
    labels: Labels,
    removed: z.array(LabelKey),
  }),
  output: z.array(Failed),
  ownedBy: ({ cluster: id }) => ({ kind: 'cluster', id }),
  repeatable: true,
  handle: ({ nodes, ...change }, call) => labelHere(nodes, change, call),
});

/** Where a whole batch could not be asked, what is left is not tried. */
export async function labelled(
  targets: readonly Target[],
  change: LabelChange,
  call: Call,
): Promise<LabelledNodesResource> {
  const failed: FailedNode[] = [];
  let tried = 0;
  while (tried < targets.length) {
    const batch = targets.slice(tried, tried + LABELLED_AT_ONCE_MAX);
    const failedNow = (
      await Promise.all(
        [...Map.groupBy(batch, ({ cluster }) => cluster)].map(([cluster, nodes]) =>
          labelOfCluster(
            cluster,
            nodes.map(({ node }) => node),
            change,
            call,
          ),
        ),
      )
    ).flat();
    tried += batch.length;
    failed.push(...failedNow);
    if (failedNow.length === batch.length && failedNow.every(({ code }) => code === 'service_unavailable')) break;
  }
  const failedCount = failed.length + targets.length - tried;
  return {
    node_count: targets.length,
    labelled_count: targets.length - failedCount,
    failed_count: failedCount,
    failed: failed.slice(0, FAILED_NODES_MAX),
  };
}

async function labelOfCluster(
  cluster: ClusterId,
  nodes: readonly NodeId[],
  change: LabelChange,
  call: Call,
): Promise<readonly FailedNode[]> {
  const done = await call.forward<readonly FailedNode[]>({
    operation: label_given_nodes.name,
    input: { cluster, nodes, ...change },
    afterLoss: 'again',
    ownedBy: () => ({ kind: 'cluster', id: cluster }),
    handle: () => labelHere(nodes, change, call),
  });
  return done.ok ? done.value : nodes.map((node_id) => ({ node_id, ...reasonOf(done) }));
}

/** Nodes of a cluster that is owned elsewhere now are all asked of that owner; a single one that moved away has failed. */
async function labelHere(
  nodes: readonly NodeId[],
  { labels, removed }: LabelChange,
  call: Call,
): Promise<Result<FailedNode[]>> {
  const results: readonly Result<unknown>[] = await Promise.all(
    nodes.map((node) => askNode(node, call, (replyTo) => ({ type: 'set-labels', replyTo, labels, removed }))),
  );
  const elsewhere = results.find((result) => !result.ok && result.refusal.notOwner === true);
  if (elsewhere?.ok === false && results.every((result) => !result.ok && result.refusal.notOwner === true))
    return elsewhere;
  return ok(
    results.flatMap((result, index) => (result.ok ? [] : { node_id: nodes[index] ?? '', ...reasonOf(result) })),
  );
}

function reasonOf({ refusal }: Extract<Result<unknown>, { ok: false }>): { code: string; message: string } {
  const details = Object.values(refusal.details ?? {}).flat();
  return { code: refusal.code, message: details.length > 0 ? details.join('; ') : refusal.message };
}
