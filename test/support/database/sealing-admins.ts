/** Admins of one database as far as their encryption keys go, and what they sealed in it. */
import type { ExecutionContext } from 'ava';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { idempotencyRecord, webhookHeaders, webhookSecret } from '../../../actors/sealed-columns.ts';
import { EncryptionKeys } from '../../../persistence/sealing/encryption-keys.ts';
import { KeyRotation } from '../../../persistence/sealing/rotation.ts';
import type { Keyring } from '../../../persistence/vault.ts';
import { recordingLog } from '../log.ts';

/** An admin as far as its keys go, in the list of admins where it has a name. */
export function adminOf(t: ExecutionContext, pool: Pool, vault: Keyring, { isWeak = false, inFlightMsMax = -1 } = {}) {
  const [log, instanceId] = [recordingLog(), randomUUID()];
  const keys = new EncryptionKeys({ pool, vault, instanceId, isWeak, log });
  const rotation = new KeyRotation({ pool, vault, keys, log, inFlightMsMax });
  return {
    vault,
    keys,
    log,
    rotation,
    /** As it starts. */
    async start(name: string) {
      await keys.settle();
      await keys.announce();
      await pool.query(
        `insert into admin (id, name, url, admin_cluster_name, version, max_wireguard_peers, started_at, last_checked_in, instance_id)
          values ($1, $2, $2, 'default', '1', 1, now(), clock_timestamp(), $1)
          on conflict (name) do update set instance_id = excluded.instance_id`,
        [instanceId, name],
      );
      await keys.confirm();
    },
    leave: () => pool.query('delete from admin where instance_id = $1', [instanceId]),
    /** Sweeps until it says that it is done. */
    async rotate() {
      for (let step = 0; step < 1_000 && !rotation.readings().isDone; step += 1) await rotation.step();
      t.true(rotation.readings().isDone);
    },
  };
}

/** Webhooks with sealed columns, and answers under idempotency keys. */
export async function storeSecrets(pool: Pool, vault: Keyring, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    await pool.query(
      `insert into webhook (id, url, subscribed_events, sealed_secret, sealed_headers, inserted_at, updated_at) values ($1, 'https://x', '{a}', $2, $3, now(), now())`,
      [id, vault.seal(`secret ${id}`, webhookSecret(id)), vault.seal('{}', webhookHeaders(id))],
    );
    await pool.query(
      `insert into idempotency_key (scope, key, body_hash, sealed_answer) values ('s', $1, 'sealed', $2)`,
      [id, vault.seal(`answer ${id}`, idempotencyRecord('s', id))],
    );
  }
  return ids;
}

/** What these rows open to. */
export async function opened(pool: Pool, vault: Keyring, ids: readonly string[]) {
  const { rows } = await pool.query<{ id: string; secret: string; answer: string }>(
    'select w.id, sealed_secret as secret, sealed_answer as answer from webhook w join idempotency_key k on k.key = w.id::text',
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const { secret = '', answer = '' } = byId.get(id) ?? {};
    return [vault.open(secret, webhookSecret(id)), vault.open(answer, idempotencyRecord('s', id))];
  });
}
