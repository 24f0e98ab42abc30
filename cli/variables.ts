/** Variables that `edge` reads, and those of the same beginning that mean something to others. */
import { unknownVariables } from '../settings/unknown-variables.ts';

/** Source: docs/settings.md, edge. */
const OWN = [
  'EDGE_URL',
  'EDGE_API_KEY',
  'EDGE_CONTEXT',
  'EDGE_PROXY_URL',
  'EDGE_PROXY_KEY',
  'EDGE_SOCKS5_URL',
] as const;

/**
 * Settings of edge-admin, which may stand in the same file, names of its topics, what commands on nodes are given, and
 * the variable from which assistants take their key (the guide's page for them).
 */
const OF_OTHERS = [
  'EDGE_VPN_DEFAULT_DOMAIN',
  'EDGE_VPN_API_URL',
  'EDGE_VPN_MASTER_KEY',
  'EDGE_VPN_MASTER_KEY_FILE',
  'EDGE_COMMANDS_EVENTS',
  'EDGE_CORE_EVENTS',
  'EDGE_NODES_EVENTS',
  'EDGE_SELF_UPDATES_EVENTS',
  'EDGE_SSH_EVENTS',
  'EDGE_NODE_ID',
  'EDGE_EXECUTION_ID',
  'EDGE_MCP_KEY',
] as const;

/**
 * A sentence for each variable that is one of these misspelt. Others may use the beginning too: they are left alone.
 */
export function misspeltVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return unknownVariables(env, { known: [...OWN, ...OF_OTHERS], own: [], shared: ['EDGE_'] });
}
