/** Answers kept under an Idempotency-Key, sealed because they may hold a secret shown once. */
import type { PoolClient } from 'pg';
import type { Vault } from '../vault.ts';
import type { IdempotencyRecord } from '../../actors/records.ts';
import { idempotencyRecord as boundTo } from '../../actors/sealed-columns.ts';

/**
 * Where the hash of the body stands in a row: sealed with the answer. A plain one, of a body with a password in it,
 * could be guessed at far faster than Argon2id lets anyone (E3).
 */
const SEALED = 'sealed';

/** What is stored of an answer. */
export function sealIdempotencyRecord(
  vault: Vault,
  { scope, key, bodyHash, answer }: IdempotencyRecord,
): { readonly bodyHash: string; readonly sealedAnswer: string } {
  return {
    bodyHash: SEALED,
    sealedAnswer: vault.seal(JSON.stringify({ bodyHash, answer }), boundTo(scope, key)),
  };
}

/** An answer as it was stored. Rows of earlier versions have the hash beside it. */
export function openIdempotencyRecord(
  vault: Vault,
  {
    scope,
    key,
    bodyHash,
    sealedAnswer,
  }: { readonly scope: string; readonly key: string; readonly bodyHash: string; readonly sealedAnswer: string },
): { readonly bodyHash: string; readonly answer: unknown } {
  const opened = JSON.parse(vault.open(sealedAnswer, boundTo(scope, key))) as unknown;
  return bodyHash === SEALED
    ? (opened as { readonly bodyHash: string; readonly answer: unknown })
    : { bodyHash, answer: opened };
}

/** Stores an answer. False when the key is taken: the create that took it won. */
export async function insertIdempotencyRecord(
  client: Pick<PoolClient, 'query'>,
  vault: Vault,
  idempotencyRecord: IdempotencyRecord,
): Promise<boolean> {
  const { bodyHash, sealedAnswer } = sealIdempotencyRecord(vault, idempotencyRecord);
  const { rowCount } = await client.query({
    name: 'insert-idempotency-record',
    text: 'insert into idempotency_key (scope, key, body_hash, sealed_answer) values ($1, $2, $3, $4) on conflict do nothing',
    values: [idempotencyRecord.scope, idempotencyRecord.key, bodyHash, sealedAnswer],
  });
  return rowCount === 1;
}
