/** What machines show to be let in, and whose it is: enrolment keys, tokens, and the ids of nodes. */
import type { Pool } from 'pg';
import type { Reads } from '../../api/ports.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { batched } from './batch.ts';
import {
  ENROLLMENT_KEY_COLUMNS,
  enrollmentKeyRecord,
  NODE_COLUMNS,
  nodeRecord,
  type EnrollmentKeyRow,
  type NodeRow,
} from './record-rows.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

type Credentials = Pick<
  Reads,
  'enrollmentKeyByNonce' | 'enrollmentKey' | 'nodeForEnrollment' | 'nodeByToken' | 'deletedByToken'
>;

/**
 * Between two queries for the nodes of tokens, in ms: a fleet that comes back asks thousands of times a second, and
 * a query for a few of them costs far more than they do (docs/performance.md).
 */
const TOKENS_APART_MS = 10;

/** Those that a whole fleet asks for when it reconnects share queries. */
export function credentials(pool: Pool): Credentials {
  return {
    enrollmentKeyByNonce: (nonceHash) => enrollmentKey(pool, sql`k.nonce_hash = ${Buffer.from(nonceHash)}`),
    enrollmentKey: (id) => enrollmentKey(pool, sql`k.id = ${id}::uuid`),
    nodeForEnrollment: (id) => nodeForEnrollment(pool, id),
    nodeByToken: batched((hashes: readonly Uint8Array[]) => nodesByToken(pool, hashes), { apartMs: TOKENS_APART_MS }),
    deletedByToken: batched((hashes: readonly Uint8Array[]) => deletedByToken(pool, hashes)),
  };
}

async function enrollmentKey(pool: Pool, where: Sql): ReturnType<Reads['enrollmentKey']> {
  const [row] = await rowsOf<EnrollmentKeyRow>(
    pool,
    'finding an enrolment key',
    sql`select ${ENROLLMENT_KEY_COLUMNS} from enrollment_key k join cluster c on c.id = k.cluster_id where ${where}`,
  );
  return row === undefined ? null : enrollmentKeyRecord(row);
}

async function nodeForEnrollment(pool: Pool, id: NodeId): ReturnType<Reads['nodeForEnrollment']> {
  const [row] = await rowsOf<
    NodeRow & { machine_secret_hash: Buffer | null; recovery_key_hash: Buffer | null; aliases: readonly string[] }
  >(
    pool,
    'finding a node',
    sql`select ${NODE_COLUMNS}, n.machine_secret_hash, (select r.key_hash from recovery_key r where r.node_id = n.id) as recovery_key_hash, coalesce((select array_agg(a.name order by a.name) from alias a where a.node_id = n.id), '{}') as aliases from node n join cluster c on c.id = n.cluster_id where n.id = ${id}::uuid`,
  );
  return row === undefined
    ? null
    : {
        node: nodeRecord(row),
        everConnected: row.last_seen_at !== null,
        machineSecretHash: row.machine_secret_hash,
        recoveryKeyHash: row.recovery_key_hash,
        aliases: row.aliases,
      };
}

/** By the place of each, so that no hash comes back. One by one, as a join of a thousand would read all nodes. */
async function nodesByToken(
  pool: Pool,
  hashes: readonly Uint8Array[],
): Promise<readonly ({ readonly node: NodeId; readonly cluster: ClusterId } | null)[]> {
  const rows = await rowsOf<{ place: number; node: NodeId; cluster: ClusterId }>(
    pool,
    'finding the nodes of tokens',
    sql`
    select v.place::int, n.id as node, n.cluster_id as cluster from unnest(${hashes.map((hash) => Buffer.from(hash))}::bytea[]) with ordinality as v (hash, place)
    cross join lateral (select id, cluster_id from node where token_hash = v.hash limit 1) n`,
  );
  const found = new Map(rows.map(({ place, node, cluster }) => [place, { node, cluster }]));
  return hashes.map((_, index) => found.get(index + 1) ?? null);
}

async function deletedByToken(pool: Pool, hashes: readonly Uint8Array[]): Promise<readonly boolean[]> {
  const rows = await rowsOf<{ token_hash: Buffer }>(
    pool,
    'finding deleted nodes of tokens',
    sql`select token_hash from deleted_node where token_hash = any(${hashes.map((hash) => Buffer.from(hash))}::bytea[])`,
  );
  const deleted = new Set(rows.map(({ token_hash }) => token_hash.toString('hex')));
  return hashes.map((hash) => deleted.has(Buffer.from(hash).toString('hex')));
}
