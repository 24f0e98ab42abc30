/** Nodes as the API shows them, for tests that need no service. */
import type { NodeResource } from '../../../actors/resources/node.ts';

/** The time at which such nodes are looked at, in Unix ms. */
export const NOW_MS = Date.UTC(2026, 0, 15, 10);

/** A healthy one of this name. */
export function node(name: string, over: Partial<NodeResource> = {}): NodeResource {
  return {
    id: `id-of-${name}`,
    name,
    cluster_name: 'prod',
    status: 'healthy',
    status_since: new Date(NOW_MS - 7_200_000).toISOString(),
    status_reason: null,
    status_evidence: null,
    version: '1.0.0',
    id_type: 'persistent',
    vpn_hostname: `node-${name}.prod.edge.internal`,
    aliases: [],
    http_port: 44_000,
    ssh_port: 40_022,
    host_metrics_port: 49_100,
    wireguard_metrics_port: 49_586,
    http_proxy_port: 43_128,
    socks5_proxy_port: 41_080,
    self_update_enabled: false,
    enrollment_key_id: null,
    facts: null,
    labels: {},
    last_seen_at: null,
    inserted_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    ...over,
  };
}
