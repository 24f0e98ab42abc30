/** Names of clusters and of nodes in them. */
import { wireText } from './text.ts';

/** Lower-case letters, digits, hyphens; alphanumeric at both ends; at most 24. Source: spec, change-cluster request. */
export const ClusterName = wireText()
  .max(24)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, and start and end with a letter or digit',
  );

/** Alias of a node. Source: docs/api.md, Resources. */
export const AliasName = wireText()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, and start and end with a letter or digit',
  );
