/** Answers kept under an Idempotency-Key, sealed because they may hold a secret shown once. */
import type { Vault } from '../vault.ts';
import type { IdempotencyRecord } from '../../actors/records.ts';
import { idempotencyRecord as boundTo } from '../../actors/sealed-columns.ts';
import { missedBy, type Client, type Statement } from './statement.ts';

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

/** Stores an answer, and wants its key to be free: the create that took it won. */
export function idempotencyStatement(vault: Vault, idempotencyRecord: IdempotencyRecord): Statement {
  const { scope, key } = idempotencyRecord;
  const { bodyHash, sealedAnswer } = sealIdempotencyRecord(vault, idempotencyRecord);
  return {
    name: 'insert-idempotency-record',
    wanted: new Set([key]),
    text: 'insert into idempotency_key (scope, key, body_hash, sealed_answer) values ($1, $2, $3, $4) on conflict do nothing returning key',
    values: [scope, key, bodyHash, sealedAnswer],
  };
}

/** Stores an answer. False when the key is taken. */
export async function insertIdempotencyRecord(
  client: Client,
  vault: Vault,
  idempotencyRecord: IdempotencyRecord,
): Promise<boolean> {
  return (await missedBy(client, idempotencyStatement(vault, idempotencyRecord))).length === 0;
}
