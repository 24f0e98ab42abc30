/** Everything that is sealed, row by row: looked through in the order of its keys, and sealed anew. */
import type { Pool } from 'pg';
import {
  enrollmentKeyBlob,
  idempotencyRecord,
  nodeProxyPassword,
  webhookHeaders,
  webhookSecret,
} from '../../actors/sealed-columns.ts';
import { asUnavailable } from '../connections/availability.ts';
import type { Keyring } from '../vault.ts';

/** A column of sealed texts. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Columns of its primary key, each with its type. */
  readonly key: readonly { readonly name: string; readonly type: 'uuid' | 'text' }[];
  /** The name that the text of the row with these keys is bound to. */
  boundTo(...key: readonly string[]): string;
  /** Rows in one batch: some 10 ms of work, and a few MB at most. */
  readonly rowsMax: number;
}

const ID = [{ name: 'id', type: 'uuid' }] as const;

/** All of them; a test compares them with the schema. The check of the key itself is changed where keys are. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'webhook', column: 'sealed_secret', key: ID, boundTo: (id = '') => webhookSecret(id), rowsMax: 200 },
  { table: 'webhook', column: 'sealed_headers', key: ID, boundTo: (id = '') => webhookHeaders(id), rowsMax: 200 },
  { table: 'enrollment_key', column: 'sealed_key', key: ID, boundTo: (id = '') => enrollmentKeyBlob(id), rowsMax: 200 },
  {
    table: 'node',
    column: 'sealed_proxy_password',
    key: ID,
    boundTo: (id = '') => nodeProxyPassword(id),
    rowsMax: 200,
  },
  {
    table: 'idempotency_key',
    column: 'sealed_answer',
    key: [
      { name: 'scope', type: 'text' },
      { name: 'key', type: 'text' },
    ],
    boundTo: (scope = '', key = '') => idempotencyRecord(scope, key),
    rowsMax: 20, // an answer may be as large as the body of a create
  },
];

/** A row of such a column. */
export interface SealedRow {
  readonly key: readonly string[];
  readonly sealed: string;
}

/** The rows behind this key, in the order of keys; null: from the first. Rejects with DatabaseUnavailable. */
export async function sealedRowsAfter(
  pool: Pool,
  { table, column, key, rowsMax }: SealedColumn,
  after: readonly string[] | null,
): Promise<readonly SealedRow[]> {
  const names = key.map(({ name }) => `"${name}"`).join(', ');
  const places = key.map(({ type }, index) => `$${index + 2}::${type}`).join(', ');
  const text = `select array[${key.map(({ name }) => `"${name}"::text`).join(', ')}] as key, "${column}" as sealed from "${table}"
    ${after === null ? '' : `where (${names}) > (${places})`} order by ${names} limit $1::int`;
  try {
    return (await pool.query<SealedRow>(text, [rowsMax, ...(after ?? [])])).rows;
  } catch (error) {
    throw asUnavailable(error, 'looking through what is sealed');
  }
}

/** What a look at one batch came to. */
export interface LookedAt {
  /** Null: it was the last one. */
  readonly last: readonly string[] | null;
  /** Stored under the key that seals now. */
  readonly sealed: number;
  /** That are under another key still: somebody else had them, or changed them meanwhile. */
  readonly left: number;
  /** That no key here opens. */
  readonly unreadable: number;
}

/**
 * Seals a batch anew where it is not under the key that seals now. One statement; a row that somebody holds is left.
 */
export async function sealBatchAnew(
  pool: Pool,
  vault: Keyring,
  column: SealedColumn,
  after: readonly string[] | null,
): Promise<LookedAt> {
  const rows = await sealedRowsAfter(pool, column, after);
  const anew: (SealedRow & { readonly anew: string })[] = [];
  let unreadable = 0;
  for (const row of rows) {
    const name = column.boundTo(...row.key);
    if (vault.keyOf(row.sealed, name) === null) {
      unreadable += 1;
      continue;
    }
    const text = vault.sealedAnew(row.sealed, name);
    if (text !== null) anew.push({ ...row, anew: text });
  }
  const sealed = anew.length === 0 ? 0 : await stored(pool, column, anew);
  return {
    last: rows.length < column.rowsMax ? null : (rows.at(-1)?.key ?? null),
    sealed,
    left: anew.length - sealed,
    unreadable,
  };
}

/**
 * Rows that another transaction holds are left out: waiting for them, while holding others, could be a deadlock. What
 * was changed since it was read is not touched. Answers how many were stored.
 */
async function stored(
  pool: Pool,
  { table, column, key }: SealedColumn,
  rows: readonly (SealedRow & { readonly anew: string })[],
): Promise<number> {
  const names = key.map(({ name }) => `"${name}"`).join(', ');
  const arrays = [...key.map(({ type }) => type), 'text', 'text'].map((type, index) => `$${index + 1}::${type}[]`);
  const same = key.map(({ name }) => `t."${name}" = v."${name}"`).join(' and ');
  const text = `with v as (select * from unnest(${arrays.join(', ')}) as v(${names}, was, anew)),
    free as materialized (select t.* from "${table}" t join v on ${same} and t."${column}" = v.was for no key update of t skip locked)
    update "${table}" t set "${column}" = v.anew from v join free using (${names}) where ${same} and t."${column}" = v.was returning 1`;
  const keys = key.map((_, index) => rows.map((row) => row.key[index]));
  try {
    const values = [...keys, rows.map(({ sealed }) => sealed), rows.map(({ anew }) => anew)];
    return (await pool.query(text, values)).rowCount ?? 0;
  } catch (error) {
    throw asUnavailable(error, 'sealing secrets anew');
  }
}

/** Rows that no key of this vault opens, by column; empty: all are opened. Looks through all of them. */
export async function unreadableRows(
  pool: Pool,
  vault: Keyring,
): Promise<readonly { readonly column: string; readonly rows: number }[]> {
  const found: { column: string; rows: number }[] = [];
  for (const column of SEALED_COLUMNS) {
    let rows = 0;
    for (let after: readonly string[] | null = null; ;) {
      const page: readonly SealedRow[] = await sealedRowsAfter(pool, column, after);
      rows += page.filter(({ key, sealed }) => vault.keyOf(sealed, column.boundTo(...key)) === null).length;
      if (page.length < column.rowsMax) break;
      after = page.at(-1)?.key ?? null;
    }
    if (rows > 0) found.push({ column: `${column.table}.${column.column}`, rows });
  }
  return found;
}
