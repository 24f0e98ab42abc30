/** Sessions of the console as rows. Their ages are by the database's clock (O2). */
import type { Pool } from 'pg';
import type { NewSession, SessionLimits, SessionRows, StoredSession } from '../api/console/ports.ts';
import { rowsOf, sql } from './reads/sql.ts';

interface Row {
  readonly id: string;
  readonly token_hash: Buffer;
  readonly key_proof: Buffer;
  readonly address: string;
  readonly user_agent: string;
  readonly inserted_at: Date;
  readonly last_used_at: Date;
  readonly age_ms: number;
  readonly idle_ms: number;
}

/** All admins that share the database have the same ones. */
export function consoleSessionRows(pool: Pool): SessionRows {
  return {
    create: (session, limits) => store(pool, session, limits),
    async find(tokenHashes) {
      if (tokenHashes.length === 0) return [];
      const rows = await rowsOf<Row>(
        pool,
        'looking for sessions',
        sql`select ${COLUMNS} from console_session where token_hash = any(${tokenHashes}::bytea[])`,
      );
      return rows.map(stored);
    },
    async mark({ idleMsMax, ageMsMax }) {
      const [row] = await rowsOf<{ mark: string }>(
        pool,
        'looking whether sessions changed',
        sql`select count(*) || ' ' || coalesce(sum(uuid_hash_extended(id, 0)), 0) as mark from console_session where ${AGE} < ${ageMsMax}::float8 and ${IDLE} < ${idleMsMax}::float8`,
      );
      return row?.mark ?? '';
    },
    async living(ids, { idleMsMax, ageMsMax }) {
      if (ids.length === 0) return [];
      const rows = await rowsOf<Pick<Row, 'id'>>(
        pool,
        'looking whether sessions live',
        sql`select id from console_session where id = any(${ids}::uuid[]) and ${AGE} < ${ageMsMax}::float8 and ${IDLE} < ${idleMsMax}::float8`,
      );
      return rows.map(({ id }) => id);
    },
    async touch(id) {
      await rowsOf(
        pool,
        'noting that a session is used',
        sql`update console_session set last_used_at = greatest(last_used_at, now()) where id = ${id}::uuid`,
      );
    },
    async list() {
      const rows = await rowsOf<Row>(
        pool,
        'listing sessions',
        sql`select ${COLUMNS} from console_session order by last_used_at desc, id desc`,
      );
      return rows.map(stored);
    },
    async remove(id) {
      const rows = await rowsOf(
        pool,
        'ending a session',
        sql`delete from console_session where id = ${id}::uuid returning 1`,
      );
      return rows.length === 1;
    },
  };
}

/** With it, those that are over go, and beyond the limit those that were longest unused. */
async function store(pool: Pool, session: NewSession, limits: SessionLimits): Promise<void> {
  const { id, tokenHash, keyProof, address, userAgent } = session;
  const { idleMsMax, ageMsMax, sessionsMax } = limits;
  await rowsOf(
    pool,
    'storing a session',
    sql`
    with old as (
      delete from console_session where id in (
        select id from console_session order by (${AGE} >= ${ageMsMax}::float8 or ${IDLE} >= ${idleMsMax}::float8), last_used_at desc
          offset least(${sessionsMax}::int - 1, (select count(*) from console_session where ${AGE} < ${ageMsMax}::float8 and ${IDLE} < ${idleMsMax}::float8))
          for update skip locked))
    insert into console_session (id, token_hash, key_proof, address, user_agent, inserted_at, last_used_at)
      values (${id}::uuid, ${tokenHash}::bytea, ${keyProof}::bytea, ${address}, ${userAgent}, now(), now())`,
  );
}

/** Both in ms. */
const AGE = sql`(extract(epoch from now() - inserted_at) * 1000)::float8`;
const IDLE = sql`(extract(epoch from now() - last_used_at) * 1000)::float8`;

const COLUMNS = sql`id, token_hash, key_proof, address, user_agent, inserted_at, last_used_at, ${AGE} as age_ms, ${IDLE} as idle_ms`;

function stored(row: Row): StoredSession {
  return {
    id: row.id,
    tokenHash: row.token_hash,
    keyProof: row.key_proof,
    address: row.address,
    userAgent: row.user_agent,
    insertedAt: row.inserted_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    ageMs: row.age_ms,
    idleMs: row.idle_ms,
  };
}
