/** Labels of many nodes, each of which decides for itself, at the owner of its cluster. */
import { z } from 'zod';
import { IN_DOUBT, ok, type Refusal, type Result } from '../actors/refusal.ts';
import { FAILED_NODES_MAX, type LabelledNodesResource } from '../actors/resources/labelled-nodes.ts';
import type { Target } from '../actors/targeting-schema.ts';
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
  handle: ({ nodes, ...change }, call) => labelHere(nodes, change, call, new Set()),
});

/**
 * Where a whole batch could not be asked, what is left is not tried; nor after `untilMs`, when what was not answered
 * yet may be done or not.
 */
export async function labelled(
  targets: readonly Target[],
  change: LabelChange,
  call: Call,
  untilMs: number,
): Promise<LabelledNodesResource> {
  const failed: FailedNode[] = [];
  let tried = 0;
  const { clock } = call.ports;
  const over = Promise.withResolvers<Result<never>>();
  const cancel = clock.after(untilMs - clock.nowMs(), () => over.resolve({ ok: false, refusal: IN_DOUBT }));
  try {
    while (tried < targets.length && clock.nowMs() < untilMs) {
      const batch = targets.slice(tried, tried + LABELLED_AT_ONCE_MAX);
      const failedNow = (
        await Promise.all(
          [...Map.groupBy(batch, ({ cluster }) => cluster)].map(([cluster, nodes]) => {
            const ids = nodes.map(({ node }) => node);
            return labelOfCluster(cluster, ids, change, call, over.promise);
          }),
        )
      ).flat();
      tried += batch.length;
      failed.push(...failedNow);
      if (failedNow.length === batch.length && failedNow.every(({ code }) => code === 'service_unavailable')) break;
    }
  } finally {
    cancel();
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
  over: Promise<Result<never>>,
): Promise<readonly FailedNode[]> {
  const done = new Set<NodeId>();
  const asked = call.forward<readonly FailedNode[]>({
    operation: label_given_nodes.name,
    input: { cluster, nodes, ...change },
    afterLoss: 'again',
    ownedBy: () => ({ kind: 'cluster', id: cluster }),
    handle: () => labelHere(nodes, change, call, done),
  });
  const answered = await Promise.race([asked, over]);
  if (answered.ok) return answered.value;
  const reason = reasonOf(answered.refusal);
  return nodes.flatMap((node_id) => (done.has(node_id) ? [] : { node_id, ...reason }));
}

/**
 * Nodes of a cluster that is owned elsewhere now are all asked of that owner; a single one that moved away has failed.
 * Each is in `done` as soon as it is.
 */
async function labelHere(
  nodes: readonly NodeId[],
  { labels, removed }: LabelChange,
  call: Call,
  done: Set<NodeId>,
): Promise<Result<FailedNode[]>> {
  const results: readonly Result<unknown>[] = await Promise.all(
    nodes.map(async (node) => {
      const result = await askNode(node, call, (replyTo) => ({ type: 'set-labels', replyTo, labels, removed }));
      if (result.ok) done.add(node);
      return result;
    }),
  );
  const elsewhere = results.find((result) => !result.ok && result.refusal.notOwner === true);
  if (elsewhere?.ok === false && results.every((result) => !result.ok && result.refusal.notOwner === true))
    return elsewhere;
  return ok(
    results.flatMap((result, index) => (result.ok ? [] : { node_id: nodes[index] ?? '', ...reasonOf(result.refusal) })),
  );
}

function reasonOf({ code, message, details = {} }: Refusal): { code: string; message: string } {
  const wrong = Object.values(details).flat();
  return { code, message: wrong.length > 0 ? wrong.join('; ') : message };
}
