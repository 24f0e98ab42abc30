/** The list of enrolment keys. */
import { hash } from 'node:crypto';
import { LISTS } from '../../actors/filters.ts';
import type { EnrollmentKeyResource } from '../../actors/resources/enrollment-key.ts';
import { enrollmentKeyBlob } from '../../actors/sealed-columns.ts';
import { decodeEnrollmentBlob } from '../../transport/protocol/enrollment.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

/** What lists show instead of the blob. */
export const MASKED_KEY = '********';

/** The list, with its SQL of each filter. The key itself is opened only for a single read. */
export const ENROLLMENT_KEYS: Source<EnrollmentKeyResource> = {
  spec: LISTS.enrollment_keys,
  counted: null,
  table: sql`enrollment_key k`,
  id: sql`k.id`,
  joinCluster: sql`join cluster c on c.id = k.cluster_id`,
  fields: {
    key: { matches: ({ value }) => isKey(String(value)) },
    cluster_name: { column: sql`c.name`, cluster: true },
    name: { column: sql`k.name` },
    has_name: { column: sql`(k.name is not null)` },
    is_unlimited: { column: sql`(k.uses_remaining is null)` },
    is_spent: { column: sql`coalesce(k.uses_remaining = 0, false)` },
    is_expired: { column: sql`coalesce(k.expired_at <= now(), false)` },
    is_never_used: { column: sql`(k.last_used_at is null)` },
    has_expiry: { column: sql`(k.expired_at is not null)` },
    uses_remaining: { column: sql`k.uses_remaining` },
    expired_at: { column: sql`k.expired_at` },
    last_used_at: { column: sql`k.last_used_at` },
    inserted_at: { column: sql`k.inserted_at`, creation: true },
    updated_at: { column: sql`k.updated_at` },
  },
  creation: [sql`k.inserted_at`, sql`k.id`],
  resources,
};

/**
 * A whole key is found as an enrolment finds it: by the hash of its nonce, which has an index. What is no key is
 * nobody's.
 */
function isKey(text: string): Sql {
  const blob = decodeEnrollmentBlob(text);
  return blob === null ? sql`false` : sql`k.nonce_hash = ${hash('sha256', blob.nonce, 'buffer')}::bytea`;
}

interface Row extends RowOf<typeof EnrollmentKeyResource, 'key'> {
  readonly sealed_key: string;
}

async function resources(
  { pool, vault }: Reading,
  ids: readonly string[],
  single: boolean,
): Promise<EnrollmentKeyResource[]> {
  const rows = await rowsOf<Row>(
    pool,
    'reading enrolment keys',
    sql`
    select k.id, c.name as cluster_name, k.name, k.sealed_key, k.expired_at, k.uses_remaining, k.last_used_at, k.labels, k.inserted_at, k.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join enrollment_key k on k.id = page.id join cluster c on c.id = k.cluster_id order by page.place`,
  );
  return rows.map(({ id, cluster_name, name, sealed_key, ...rest }) => ({
    id,
    cluster_name,
    name,
    key: single ? vault.open(sealed_key, enrollmentKeyBlob(id)) : MASKED_KEY,
    ...withIsoTimes(rest),
  }));
}
