/** Saved groups as rows. No actor holds them: whoever uses one reads it then. */
import type { Pool } from 'pg';
import type { Groups } from '../api/ports.ts';
import { ok, refuse, type Result } from '../actors/refusal.ts';
import type { GroupResource } from '../actors/resources/group.ts';
import { instant } from '../actors/resources/instant.ts';
import { insertIdempotencyRecord, KEY_TAKEN } from './committer/idempotency-records.ts';
import { rowsOf, sql } from './reads/sql.ts';
import { inTransaction } from './connections/transaction.ts';
import type { Vault } from './vault.ts';

/** The Groups port over this pool. */
export function createGroups(pool: Pool, vault: Vault): Groups {
  return {
    create: async ({ id, name, description, targeting, atMs, idempotency }) => {
      const at = instant(atMs);
      const group: GroupResource = { id, name, description, targeting, inserted_at: at, updated_at: at };
      return inTransaction(pool, 'creating a group', async (client): Promise<Result<GroupResource>> => {
        const [stored] = await rowsOf(
          client,
          'creating a group',
          sql`
          insert into node_group (id, name, description, targeting, inserted_at, updated_at)
          values (${id}::uuid, ${name}, ${description}::text, ${JSON.stringify(targeting)}::jsonb, ${at}::timestamptz, ${at}::timestamptz)
          on conflict (name) do nothing returning 1`,
        );
        if (stored === undefined) return refuse('conflict', 'A group with this name exists already.');
        if (idempotency === null || (await insertIdempotencyRecord(client, vault, { ...idempotency, answer: group })))
          return ok(group);
        await client.query('delete from node_group where id = $1', [id]);
        return { ok: false, refusal: KEY_TAKEN };
      });
    },
    update: async (name, { description, targeting }, atMs) => {
      const [row] = await rowsOf<{ id: string }>(
        pool,
        'changing a group',
        sql`
        update node_group set description = ${description === undefined ? sql`description` : sql`${description}::text`},
          targeting = ${targeting === undefined ? sql`targeting` : sql`${JSON.stringify(targeting)}::jsonb`}, updated_at = ${instant(atMs)}::timestamptz
        where name = ${name} returning id`,
      );
      return row !== undefined;
    },
    remove: async (name) => {
      const [row] = await rowsOf(
        pool,
        'deleting a group',
        sql`delete from node_group where name = ${name} returning 1`,
      );
      return row !== undefined;
    },
  };
}
