/** Host names of nodes and aliases, as people write them. Source: docs/names.md. Pure. */
import { NodeId } from '../transport/protocol/ids.ts';

/**
 * What a host name may mean, most likely first: a label `cluster-x` is the cluster of that name before it is the
 * cluster `x`.
 */
export type NodeName =
  | { readonly kind: 'node'; readonly node: NodeId; readonly cluster: string }
  | { readonly kind: 'alias'; readonly alias: string; readonly cluster: string };

/** A label of a host name. Source: RFC 1123. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;

const NODE_PREFIX = 'node-';
const CLUSTER_PREFIX = 'cluster-';

/**
 * Meanings of a host name below `domain`, in any case, with or without a dot at its end; none when it is no name of a
 * node.
 */
export function nodeNames(hostName: string, domain: string): readonly NodeName[] {
  const name = hostName.toLowerCase().replace(/\.$/u, '');
  if (!name.endsWith(`.${domain}`)) return [];
  const labels = name.slice(0, -domain.length - 1).split('.');
  const [host, cluster] = labels;
  if (labels.length !== 2 || host === undefined || cluster === undefined || !LABEL.test(host) || !LABEL.test(cluster))
    return [];
  const clusters = cluster.startsWith(CLUSTER_PREFIX) ? [cluster, cluster.slice(CLUSTER_PREFIX.length)] : [cluster];
  const node = host.startsWith(NODE_PREFIX) ? NodeId.safeParse(host.slice(NODE_PREFIX.length)) : undefined;
  return clusters.map((named) =>
    node?.success === true
      ? { kind: 'node', node: node.data, cluster: named }
      : { kind: 'alias', alias: host, cluster: named },
  );
}
