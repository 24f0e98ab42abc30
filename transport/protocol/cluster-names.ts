/** Names of clusters, of their networks and of nodes in them. */
import { wireText } from './text.ts';

/** Lower-case letters, digits, hyphens; alphanumeric at both ends; at most 24. */
export const ClusterName = wireText()
  .max(24)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, and start and end with a letter or digit',
  );

/**
 * What the names of our networks begin with; the rest is that of the cluster. Whatever is called otherwise is not ours
 * and never touched.
 */
export const NETWORK_PREFIX = 'cluster-';

/** The name of a cluster's network. */
export function networkOf(cluster: string): string {
  return `${NETWORK_PREFIX}${cluster}`;
}

/** Alias of a node. Source: docs/api.md, Resources. */
export const AliasName = wireText()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, and start and end with a letter or digit',
  );
