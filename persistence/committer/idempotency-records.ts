/** Answers kept under an Idempotency-Key, sealed because they may hold a secret shown once. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Vault } from '../vault.ts';
import type { IdempotencyRecord } from '../../actors/records.ts';
import type { Refusal } from '../../actors/refusal.ts';
import { idempotencyRecord as boundTo } from '../../actors/sealed-columns.ts';
import { missedBy, type Client, type Statement } from './statement.ts';
import { GuardRefused } from './written.ts';

/** For how long an answer is remembered. Source: docs/api.md, Retried creates. */
export const IDEMPOTENCY_RECORD_HOURS = 24;

/** The key has an answer, or gets that of a create that came first. */
export const KEY_TAKEN: Refusal = {
  code: 'idempotency_conflict',
  message: 'Another request with this Idempotency-Key came first.',
};

/**
 * Where the hash of the body stands in a row: sealed with the answer. A plain one, of a body with a password in it,
 * could be guessed at far faster than Argon2id lets anyone (E3).
 */
const SEALED = 'sealed';

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
  return {
    name: 'insert-idempotency-record',
    wanted: new Set([idempotencyRecord.key]),
    text: insertWith('$1', '$2', '$3', '$4'),
    values: sealedRow(vault, idempotencyRecord),
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

/** Stores an answer in the transaction of a cold write. Throws GuardRefused when the key is taken. */
export async function insertColdIdempotencyRecord(
  em: EntityManager,
  vault: Vault,
  idempotencyRecord: IdempotencyRecord,
): Promise<void> {
  const stored = await em.execute<unknown[]>(insertWith('?', '?', '?', '?'), sealedRow(vault, idempotencyRecord));
  if (stored.length === 0) throw new GuardRefused(KEY_TAKEN);
}

/** A key whose answer is remembered no longer is free, also where nobody has swept it yet. */
function insertWith(...places: readonly [scope: string, key: string, bodyHash: string, sealedAnswer: string]): string {
  return `insert into idempotency_key (scope, key, body_hash, sealed_answer) values (${places.join(', ')})
    on conflict (scope, key) do update set body_hash = excluded.body_hash, sealed_answer = excluded.sealed_answer, inserted_at = excluded.inserted_at
    where idempotency_key.inserted_at <= now() - interval '${IDEMPOTENCY_RECORD_HOURS} hours' returning key`;
}

function sealedRow(vault: Vault, { scope, key, bodyHash, answer }: IdempotencyRecord): string[] {
  return [scope, key, SEALED, vault.seal(JSON.stringify({ bodyHash, answer }), boundTo(scope, key))];
}
