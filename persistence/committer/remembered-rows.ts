/** Answers kept under an Idempotency-Key, sealed because they may hold a secret shown once. */
import type { PoolClient } from 'pg';
import type { Vault } from '../vault.ts';
import type { Remembered } from '../../actors/asker.ts';

/**
 * Where the hash of the body stands in a row: sealed with the answer. A plain one, of a body with a password in it,
 * could be guessed at far faster than Argon2id lets anyone (E3).
 */
const SEALED = 'sealed';

/** What is stored of an answer. */
export function sealRemembered(
  vault: Vault,
  { scope, key, bodyHash, answer }: Remembered,
): { readonly bodyHash: string; readonly sealedAnswer: string } {
  return {
    bodyHash: SEALED,
    sealedAnswer: vault.seal(JSON.stringify({ bodyHash, answer }), rememberedName(scope, key)),
  };
}

/** An answer as it was stored. Rows of earlier versions have the hash beside it. */
export function openRemembered(
  vault: Vault,
  {
    scope,
    key,
    bodyHash,
    sealedAnswer,
  }: { readonly scope: string; readonly key: string; readonly bodyHash: string; readonly sealedAnswer: string },
): { readonly bodyHash: string; readonly answer: unknown } {
  const opened = JSON.parse(vault.open(sealedAnswer, rememberedName(scope, key))) as unknown;
  return bodyHash === SEALED
    ? (opened as { readonly bodyHash: string; readonly answer: unknown })
    : { bodyHash, answer: opened };
}

/** What the sealed text is bound to. */
function rememberedName(scope: string, key: string): string {
  return `idempotency_key:${scope}:${key}`;
}

/** Stores an answer. False when the key is taken: the create that took it won. */
export async function insertRemembered(
  client: Pick<PoolClient, 'query'>,
  vault: Vault,
  remembered: Remembered,
): Promise<boolean> {
  const { bodyHash, sealedAnswer } = sealRemembered(vault, remembered);
  const { rowCount } = await client.query({
    name: 'insert-remembered',
    text: 'insert into idempotency_key (scope, key, body_hash, sealed_answer) values ($1, $2, $3, $4) on conflict do nothing',
    values: [remembered.scope, remembered.key, bodyHash, sealedAnswer],
  });
  return rowCount === 1;
}
