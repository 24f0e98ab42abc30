/**
 * Recordings of SSH sessions as rows. No cluster owns them: any admin may store one, under no lease, because nothing is
 * decided by it.
 */
import type { Pool } from 'pg';
import type { Records } from '../../api/ports.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** The recordings of the Records port. */
export function recordingRows(pool: Pool): Pick<Records, 'storeRecording' | 'deleteRecording'> {
  return {
    storeRecording: async ({ id, node, description: told, content, sizeBytes, atMs }) => {
      // Its user may be gone; one that is there must be a user of this node, or what was done on one machine is laid to
      // somebody of another.
      const [foreign] = await rowsOf(
        pool,
        'finding the user of a recording',
        sql`select 1 from ssh_username where id = ${told.ssh_username_id}::uuid and node_id <> ${node}::uuid`,
      );
      if (foreign !== undefined) return 'foreign_user';
      const [stored] = await rowsOf(
        pool,
        'storing a recording',
        sql`
        insert into ssh_recording (id, node_id, cluster_name, ssh_username_id, username, command, started_at, duration_ms, width, height, truncated, size_bytes, content, inserted_at)
        select ${id}::uuid, n.id, c.name, ${told.ssh_username_id}::uuid, ${told.username}::text, ${told.command}::text, ${new Date(told.started_at_ms)}::timestamptz, ${told.duration_ms}::int,
          ${told.width}::int, ${told.height}::int, ${told.truncated}::boolean, ${sizeBytes}::int, ${content}::bytea, ${new Date(atMs)}::timestamptz
        from node n join cluster c on c.id = n.cluster_id where n.id = ${node}::uuid
        on conflict (id) do nothing returning 1`,
      );
      if (stored !== undefined) return 'stored';
      const [there] = await rowsOf<{ node_id: string }>(
        pool,
        'finding a recording',
        sql`select node_id from ssh_recording where id = ${id}::uuid`,
      );
      if (there === undefined) return 'no_node';
      return there.node_id === node ? 'known' : 'taken';
    },
    deleteRecording: async (id) => {
      const [gone] = await rowsOf(
        pool,
        'deleting a recording',
        sql`delete from ssh_recording where id = ${id}::uuid returning 1`,
      );
      return gone === undefined ? refuse('not_found', 'Resource not found') : ok(null);
    },
  };
}
