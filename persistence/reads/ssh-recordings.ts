/** The list of recordings of SSH sessions. Their content is read, and unpacked, one at a time only. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { LISTS } from '../../actors/filters.ts';
import type { SshRecordingResource } from '../../actors/resources/ssh.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

/** The list of recordings. */
export const SSH_RECORDINGS: Source<SshRecordingResource> = {
  spec: LISTS.ssh_recordings,
  counted: 'ssh_recording',
  table: sql`ssh_recording r`,
  id: sql`r.id`,
  joinCluster: sql``,
  fields: {
    node_id: { column: sql`r.node_id` },
    cluster_name: { column: sql`r.cluster_name` },
    ssh_username_id: { column: sql`r.ssh_username_id` },
    username: { column: sql`r.username` },
    has_command: { column: sql`(r.command is not null)` },
    truncated: { column: sql`r.truncated` },
    duration_ms: { column: sql`r.duration_ms` },
    started_at: { column: sql`r.started_at` },
    inserted_at: { column: sql`r.inserted_at`, creation: true },
  },
  creation: [sql`r.inserted_at`, sql`r.id`], // the ids are the agents' own, so they have no order
  resources,
};

interface Row extends RowOf<typeof SshRecordingResource, 'cast'> {
  readonly content: Buffer | null;
}

async function resources(reading: Reading, ids: readonly string[], single: boolean): Promise<SshRecordingResource[]> {
  return single ? reading.recordingSemaphore(() => recordings(reading, ids, true)) : recordings(reading, ids, false);
}

async function recordings({ pool }: Reading, ids: readonly string[], single: boolean): Promise<SshRecordingResource[]> {
  const rows = await rowsOf<Row>(
    pool,
    'reading recordings',
    sql`
    select r.id, r.node_id, r.cluster_name, r.ssh_username_id, r.username, r.command, r.started_at, r.duration_ms, r.width, r.height, r.truncated, r.size_bytes,
      case when ${single}::boolean then r.content end as content, r.inserted_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join ssh_recording r on r.id = page.id order by page.place`,
  );
  return Promise.all(
    rows.map(async ({ content, ...row }) => ({
      ...withIsoTimes(row),
      cast: content === null ? null : await textOf(content, row.size_bytes),
    })),
  );
}

/** The size was counted when it was stored. */
async function textOf(content: Buffer, sizeBytes: number): Promise<string> {
  return (await promisify(gunzip)(content, { maxOutputLength: sizeBytes })).toString('utf8');
}
