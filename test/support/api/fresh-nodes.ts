/** Nodes as the database gives them: each row with texts and objects of its own, for tests of what they cost. */
import { createHash } from 'node:crypto';
import type { FeedReads } from '../../../api/feeds/ports.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { PORTS } from '../actors.ts';

/** Clusters of such a fleet. */
const SITES = 40;

/**
 * Ordered by their ids. Every second one has an alias, and all of them facts, labels and what their status rests on.
 */
export function freshNode(n: number): NodeResource {
  const hash = createHash('sha256').update(String(n)).digest('hex');
  const id = uuidOf(n.toString(16).padStart(8, '0') + hash.slice(0, 24));
  const cluster = `site-${n % SITES}`;
  const hostname = `edge-${n}.${cluster}.example.net`;
  const sinceMs = Date.UTC(2026, 9, 1) + (n % 10_000) * 7_919_000;
  const at = (ms: number): string => new Date(sinceMs + ms).toISOString();
  const hasAlias = n % 2 === 0;
  return parsed({
    id,
    name: hasAlias ? `gateway-${n}` : hostname,
    cluster_name: cluster,
    status: 'healthy',
    status_since: at(0),
    status_reason: null,
    status_evidence: {
      observed_at: at(0),
      session: { connected_at: at(-1_234) },
      last_report_at: at(-17),
      services: [],
      vpn: { handshake_age_ms: 10_000 + n, path: 'direct' },
    },
    version: '1.12.3',
    id_type: 'persistent',
    vpn_hostname: `node-${id}.${cluster}.edge.internal`,
    aliases: hasAlias
      ? [
          {
            id: uuidOf(hash.slice(0, 32)),
            name: `gateway-${n}`,
            vpn_hostname: `gateway-${n}.${cluster}.edge.internal`,
          },
        ]
      : [],
    ...PORTS,
    self_update_enabled: true,
    enrollment_key_id: uuidOf((n % SITES).toString(16).padStart(32, '0')),
    facts: {
      hostname,
      os: 'debian',
      os_version: '12',
      os_name: 'Debian GNU/Linux 12 (bookworm)',
      kernel: '6.1.0-18-amd64',
      arch: 'x86_64',
      cpu_model: 'Intel(R) Celeron(R) J4125 CPU @ 2.00GHz',
      cpu_count: 4,
      memory_bytes: 8_123_456_000 + (n % 7) * 4_096,
      virtualization: 'none',
      boot_id: uuidOf(hash.slice(32)),
      time_zone: 'Europe/Berlin',
      ssh_host_key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${hash.slice(0, 43)}`,
    },
    labels: {
      env: n % 3 === 0 ? 'lab' : 'prod',
      site: cluster,
      role: 'gateway',
      tier: `t${n % 5}`,
      rack: `r${n % 200}`,
    },
    last_seen_at: at(100_000 + n),
    inserted_at: at(-1_000_000 - n),
    updated_at: at(0),
  });
}

/** So many of them, each made anew whenever it is read. */
export function readsOfFresh(count: number): Pick<FeedReads, 'list' | 'nodesAfter'> {
  const rows = (from: number, limit: number): readonly NodeResource[] =>
    Array.from({ length: Math.max(0, Math.min(limit, count - from)) }, (_none, at) => freshNode(from + at));
  return {
    list: (async (_name: string, { pageSize }: { readonly pageSize: number }) => {
      await Promise.resolve();
      return { rows: rows(0, pageSize), totalCount: count };
    }) as FeedReads['list'],
    async nodesAfter(_filters, after, limit) {
      await Promise.resolve();
      const page = rows(after === null ? 0 : Number.parseInt(after.slice(0, 8), 16) + 1, limit);
      return { rows: page, next: page.length < limit ? null : (page.at(-1)?.id ?? null) };
    },
  };
}

function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Nothing in it is part of anything else. */
function parsed(node: NodeResource): NodeResource {
  return JSON.parse(JSON.stringify(node)) as NodeResource;
}
