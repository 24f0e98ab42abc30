/**
 * What a diagnosis of a node starts from, and the last report of each node. No cluster owns reports: any admin may
 * store one, because nothing is decided by it.
 */
import type { Pool } from 'pg';
import { z } from 'zod';
import type { NodeStanding } from '../../transport/diagnoses/ports.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';
import { DiagnosisCheck } from '../../transport/protocol/diagnosis.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { rowsOf, sql } from './sql.ts';

/** Standings and reports on this pool. Every call rejects with DatabaseUnavailable when the database is away. */
export interface DiagnosisRows {
  /** Null: there is no such node. */
  standing(node: NodeId): Promise<NodeStanding | null>;
  /** Ranges of the VPN of a node's cluster; null: there is no such node. */
  ranges(node: NodeId): Promise<readonly string[] | null>;
  /** Keeps a report in place of an older one. Of a node that is gone nothing is kept. */
  store(node: NodeId, checks: readonly DiagnosisCheck[], atMs: number): Promise<void>;
}

const Checks = z.array(DiagnosisCheck);

interface StandingRow {
  readonly status: NodeStatus;
  readonly last_seen_at: Date | null;
  readonly version: string;
  readonly http_port: number;
  readonly owner_id: string | null;
  readonly owner_name: string | null;
  readonly ranges: readonly string[];
  readonly collected_at: Date | null;
  readonly checks: unknown;
}

/** The rows behind diagnoses. */
export function diagnosisRows(pool: Pool): DiagnosisRows {
  return {
    async standing(node) {
      const [row] = await rowsOf<StandingRow>(
        pool,
        'looking at a node',
        sql`
        select n.status, n.last_seen_at, n.version, n.http_port, a.id as owner_id, a.name as owner_name, array[c.ipv4_range::text, c.ipv6_range::text] as ranges, d.collected_at, d.checks
        from node n join cluster c on c.id = n.cluster_id
        left join cluster_ownership w on w.cluster_id = c.id and w.lease_until > clock_timestamp()
        left join admin a on a.id = w.admin_id
        left join node_diagnosis d on d.node_id = n.id
        where n.id = ${node}::uuid`,
      );
      return row === undefined ? null : standingOf(row);
    },
    async ranges(node) {
      const [row] = await rowsOf<Pick<StandingRow, 'ranges'>>(
        pool,
        'looking up the ranges of a cluster',
        sql`
        select array[c.ipv4_range::text, c.ipv6_range::text] as ranges from node n join cluster c on c.id = n.cluster_id where n.id = ${node}::uuid`,
      );
      return row?.ranges ?? null;
    },
    async store(node, checks, atMs) {
      await rowsOf(
        pool,
        'storing a diagnosis',
        sql`
        insert into node_diagnosis (node_id, collected_at, checks)
        select id, ${new Date(atMs)}::timestamptz, ${JSON.stringify(checks)}::jsonb from node where id = ${node}::uuid for key share
        on conflict (node_id) do update set collected_at = excluded.collected_at, checks = excluded.checks where node_diagnosis.collected_at <= excluded.collected_at`,
      );
    },
  };
}

function standingOf(row: StandingRow): NodeStanding {
  const checks = Checks.safeParse(row.checks);
  return {
    status: row.status,
    lastSeenAtMs: row.last_seen_at?.getTime() ?? null,
    version: row.version,
    apiPort: row.http_port,
    owner: row.owner_id === null || row.owner_name === null ? null : { id: row.owner_id, name: row.owner_name },
    ranges: row.ranges,
    report:
      row.collected_at === null || !checks.success
        ? null
        : { collectedAtMs: row.collected_at.getTime(), checks: checks.data },
  };
}
