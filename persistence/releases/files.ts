/** Files of releases as rows: they come in pieces, are whole once their hash was checked, and are read by chunks. */
import type { Pool } from 'pg';
import type { FilePiece, FileState, PieceOutcome, ReleaseRows } from '../../transport/releases/ports.ts';
import { RELEASE_CHUNK_BYTES } from '../../transport/protocol/releases.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';

/** The files of the ReleaseRows port. */
export function releaseFileRows(
  pool: Pool,
): Pick<ReleaseRows, 'file' | 'append' | 'complete' | 'remove' | 'withdraw' | 'chunk' | 'texts'> {
  return {
    file: async (sha256) =>
      (
        await rowsOf<FileState>(
          pool,
          'finding a file',
          sql`select bytes, received, is_complete as "isComplete" from release_file where sha256 = ${sha256}::text`,
        )
      )[0] ?? null,
    append: (piece, bytesMax) => append(pool, piece, bytesMax),
    complete: async (sha256) => {
      await rowsOf(
        pool,
        'completing a file',
        sql`update release_file set is_complete = true, updated_at = now() where sha256 = ${sha256}::text and received = bytes`,
      );
    },
    remove: async (sha256s) => {
      await rowsOf(pool, 'removing files', REMOVE(sha256s));
    },
    withdraw: (sha256s, timestamp) =>
      inTransaction(pool, 'removing a release', async (client) => {
        await client.query('lock table release_metadata in share mode'); // nobody publishes meanwhile
        const [last] = await rowsOf<{ version: number | null }>(
          client,
          'asking what is published',
          sql`select max(version) as version from release_metadata where role = 'timestamp'`,
        );
        if ((last?.version ?? null) !== timestamp) return false;
        await rowsOf(client, 'removing files', REMOVE(sha256s));
        return true;
      }),
    chunk: async (sha256, index) =>
      (
        await rowsOf<{ content: Buffer }>(
          pool,
          'reading a file',
          sql`select content from release_chunk where sha256 = ${sha256}::text and index = ${index}::int`,
        )
      )[0]?.content ?? null,
    texts: async (sha256s) => {
      const rows = await rowsOf<{ sha256: string; content: Buffer }>(
        pool,
        'reading descriptions',
        sql`select c.sha256, c.content from release_chunk c join release_file f on f.sha256 = c.sha256
          where f.is_complete and c.index = 0 and c.sha256 = any(${[...sha256s]}::text[])`,
      );
      return new Map(rows.map(({ sha256, content }) => [sha256, content.toString()]));
    },
  };
}

const REMOVE = (sha256s: readonly string[]) => sql`
  with chunks as (delete from release_chunk where sha256 = any(${[...sha256s]}::text[]))
  delete from release_file where sha256 = any(${[...sha256s]}::text[])`;

/** The row is locked, so that two who bring the same file at once take turns. */
function append(pool: Pool, { sha256, bytes, offset, content }: FilePiece, bytesMax: number): Promise<PieceOutcome> {
  return inTransaction<PieceOutcome>(pool, 'storing a piece of a file', async (client) => {
    const find = async () =>
      (
        await rowsOf<FileState>(
          client,
          'finding a file',
          sql`select bytes, received, is_complete as "isComplete" from release_file where sha256 = ${sha256}::text for update`,
        )
      )[0];
    let file = await find();
    if (file === undefined) {
      // All together are counted: nobody else may begin a file meanwhile.
      await client.query('lock table release_file in share row exclusive mode');
      const [sum] = await rowsOf<{ bytes: string }>(
        client,
        'counting files',
        sql`select coalesce(sum(bytes), 0)::text as bytes from release_file`,
      );
      const storedBytes = Number(sum?.bytes ?? 0);
      if (storedBytes + bytes > bytesMax) return { type: 'full', storedBytes };
      await rowsOf(
        client,
        'beginning a file',
        sql`insert into release_file (sha256, bytes, received, is_complete, updated_at) values (${sha256}::text, ${bytes}::int, 0, false, now()) on conflict do nothing`,
      );
      file = await find();
    }
    if (file === undefined) throw new Error('A file that was begun is not there.');
    if (file.bytes !== bytes) return { type: 'other_size', file };
    if (file.isComplete || file.received !== offset) return { type: 'misplaced', file };
    const received = offset + content.length;
    const first = offset / RELEASE_CHUNK_BYTES;
    const chunks = Array.from({ length: Math.ceil(content.length / RELEASE_CHUNK_BYTES) }, (_, index) =>
      content.subarray(index * RELEASE_CHUNK_BYTES, (index + 1) * RELEASE_CHUNK_BYTES),
    );
    await rowsOf(
      client,
      'storing chunks',
      sql`insert into release_chunk (sha256, index, content)
        select ${sha256}::text, index, content from unnest(${chunks.map((_, index) => first + index)}::int[], ${chunks}::bytea[]) as chunk (index, content)`,
    );
    await rowsOf(
      client,
      'storing a piece of a file',
      sql`update release_file set received = ${received}::int, updated_at = now() where sha256 = ${sha256}::text`,
    );
    return { type: 'stored', file: { bytes, received, isComplete: false } };
  });
}
