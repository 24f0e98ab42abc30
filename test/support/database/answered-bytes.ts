/** How much a database answers. */
import type { Socket } from 'node:net';
import type { Pool, PoolClient } from 'pg';

/** Bytes that were answered, in all, and at most while a connection was taken out once: by one statement of a pool. */
export interface AnsweredBytes {
  readonly total: number;
  readonly most: number;
}

/** Counts what the database answers to this pool from now on, but for what is being asked already. */
export function countAnsweredBytes(pool: Pool): () => AnsweredBytes {
  const before = new Map<PoolClient, number>();
  let total = 0;
  let most = 0;
  pool.on('acquire', (client) => before.set(client, bytesRead(client)));
  pool.on('release', (_error, client) => {
    const start = before.get(client);
    if (start === undefined) return;
    before.delete(client);
    const bytes = bytesRead(client) - start;
    total += bytes;
    most = Math.max(most, bytes);
  });
  return () => ({ total, most });
}

/** From the socket that `pg` has in a client, which its types do not tell. */
function bytesRead(client: PoolClient): number {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream.bytesRead;
}
