/** Answers kept under an Idempotency-Key, sealed because they may hold a secret shown once. */
import type { PoolClient } from 'pg';
import type { Vault } from '../../actors/kit/ports.ts';
import type { Remembered } from '../../actors/kit/asker.ts';

/** What the sealed answer is bound to. */
export function rememberedName(scope: string, key: string): string {
  return `idempotency_key:${scope}:${key}`;
}

/** Stores an answer. False when the key is taken: the create that took it won. */
export async function insertRemembered(client: Pick<PoolClient, 'query'>, vault: Vault, remembered: Remembered): Promise<boolean> {
  const sealed = vault.seal(JSON.stringify(remembered.answer), rememberedName(remembered.scope, remembered.key));
  const { rowCount } = await client.query({
    name: 'insert-remembered',
    text: 'insert into idempotency_key (scope, key, body_hash, sealed_answer) values ($1, $2, $3, $4) on conflict do nothing',
    values: [remembered.scope, remembered.key, remembered.bodyHash, sealed],
  });
  return rowCount === 1;
}
