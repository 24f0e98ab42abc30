/** Who has a public key, by the rows: for the observer and for relays. Those that wait together are one query. */
import type { Pool } from 'pg';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { batched } from '../reads/batch.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** An answer is good for this long, in ms: both ports of an observer ask within it. */
export const ANSWER_MS_MAX = 3_000;

/** Answers that are kept at once; the oldest goes first. Strangers' keys are among them. */
export const ANSWERS_MAX = 4_096;

/** Which node has a key, and in which cluster's VPN. */
export interface VpnMemberOfKey {
  readonly node: NodeId;
  readonly cluster: ClusterId;
}

/**
 * The member with this public key (base64); null when none has it. The look-up of every handshake with the observer, so
 * what was answered lately is not asked again. Rejects with DatabaseUnavailable, and does not keep
 * that.
 */
export function vpnMemberLookUp(
  pool: Pool,
  monotonicMs: () => number,
): (publicKey: string) => Promise<VpnMemberOfKey | null> {
  const lookUp = batched((keys: readonly string[]) => membersOf(pool, keys));
  const answers = new Map<string, { readonly answer: Promise<VpnMemberOfKey | null>; readonly atMs: number }>();

  return (publicKey) => {
    const nowMs = monotonicMs();
    const known = answers.get(publicKey);
    if (known !== undefined && nowMs - known.atMs < ANSWER_MS_MAX) return known.answer;
    const answer = lookUp(publicKey);
    answers.delete(publicKey); // so that insertion order stays the order of age
    if (answers.size >= ANSWERS_MAX) answers.delete(answers.keys().next().value ?? '');
    answers.set(publicKey, { answer, atMs: nowMs });
    answer.catch(() => {
      if (answers.get(publicKey)?.answer === answer) answers.delete(publicKey);
    });
    return answer;
  };
}

async function membersOf(pool: Pool, keys: readonly string[]): Promise<readonly (VpnMemberOfKey | null)[]> {
  const rows = await rowsOf<{ public_key: string; node_id: NodeId; cluster_id: ClusterId }>(
    pool,
    'finding members by their keys',
    sql`
    select public_key, node_id, cluster_id from mesh_member where public_key = any(${keys}::text[])`,
  );
  const members = new Map(rows.map((row) => [row.public_key, { node: row.node_id, cluster: row.cluster_id }]));
  return keys.map((key) => members.get(key) ?? null);
}

/**
 * The clusters in whose VPNs a WireGuard public key is; none: it is nobody's. A gateway's key may be in several.
 * Rejects with DatabaseUnavailable.
 */
export function relayClustersLookUp(pool: Pool): (publicKey: string) => Promise<readonly string[]> {
  return batched((keys: readonly string[]) => clustersOf(pool, keys));
}

async function clustersOf(pool: Pool, keys: readonly string[]): Promise<readonly (readonly string[])[]> {
  const rows = await rowsOf<{ public_key: string; clusters: string[] }>(
    pool,
    'finding who may use a relay',
    sql`
    select public_key, array_agg(cluster_id::text) as clusters
    from (select public_key, cluster_id from mesh_member where public_key = any(${keys}::text[])
          union select public_key, cluster_id from mesh_gateway where public_key = any(${keys}::text[])) as known
    group by public_key`,
  );
  const found = new Map(rows.map((row) => [row.public_key, row.clusters]));
  return keys.map((key) => found.get(key) ?? []);
}
