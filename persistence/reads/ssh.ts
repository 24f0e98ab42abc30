/** The lists of SSH usernames and of their keys. */
import { LISTS } from '../../actors/filters.ts';
import type { SshPublicKeyResource, SshUsernameResource } from '../../actors/resources/ssh.ts';
import { condition } from './conditions.ts';
import type { Reading, Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

/** The list of SSH usernames. A fleet may have a million of them, so they are counted. */
export const SSH_USERNAMES: Source<SshUsernameResource> = {
  spec: LISTS.ssh_usernames,
  counted: 'ssh_username',
  table: sql`ssh_username u`,
  id: sql`u.id`,
  joinCluster: sql`join node n on n.id = u.node_id join cluster c on c.id = n.cluster_id`,
  fields: {
    username: { column: sql`u.username` },
    node_id: { column: sql`u.node_id` },
    has_password: { column: sql`(u.password_hash is not null)` },
    cluster_name: { column: sql`c.name`, cluster: true },
    key_name: {
      matches: (filter) =>
        sql`exists (select from ssh_public_key k where k.ssh_username_id = u.id and ${condition('text', { column: sql`k.key_name` }, filter)})`,
    },
    inserted_at: { column: sql`u.inserted_at`, creation: true },
    updated_at: { column: sql`u.updated_at` },
  },
  creation: [sql`u.id`], // UUID v7: the primary key is in order of creation
  resources: usernames,
};

/** The list of the keys of all SSH usernames. */
export const SSH_PUBLIC_KEYS: Source<SshPublicKeyResource> = {
  spec: LISTS.ssh_public_keys,
  counted: 'ssh_public_key',
  table: sql`ssh_public_key k`,
  id: sql`k.id`,
  joinCluster: sql`join ssh_username u on u.id = k.ssh_username_id join node n on n.id = u.node_id join cluster c on c.id = n.cluster_id`,
  fields: {
    key_name: { column: sql`k.key_name` },
    ssh_username_id: { column: sql`k.ssh_username_id` },
    username: { column: sql`u.username`, cluster: true }, // the same join
    cluster_name: { column: sql`c.name`, cluster: true },
    node_id: {
      matches: ({ value }) =>
        sql`k.ssh_username_id in (select u.id from ssh_username u where u.node_id = any(${value}::uuid[]))`,
    },
    fingerprint: { column: sql`k.fingerprint` },
    inserted_at: { column: sql`k.inserted_at`, creation: true },
    updated_at: { column: sql`k.updated_at` },
  },
  creation: [sql`k.id`],
  resources: publicKeys,
};

type PublicKeyRow = RowOf<typeof SshPublicKeyResource>;

/** The password hash is not even read (E4). */
async function usernames({ pool }: Reading, ids: readonly string[], single: boolean): Promise<SshUsernameResource[]> {
  const rows = await rowsOf<RowOf<typeof SshUsernameResource, 'public_keys'>>(
    pool,
    'reading SSH usernames',
    sql`
    select u.id, u.username, u.password_hash is not null as has_password, u.node_id, u.inserted_at, u.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join ssh_username u on u.id = page.id order by page.place`,
  );
  const keys = single
    ? await rowsOf<PublicKeyRow>(
        pool,
        'reading the keys of an SSH username',
        sql`
    select id, public_key, fingerprint, key_name, ssh_username_id, inserted_at, updated_at from ssh_public_key where ssh_username_id = any(${ids}::uuid[]) order by id`,
      )
    : [];
  return rows.map((row) => ({ ...withIsoTimes(row), public_keys: single ? keys.map(withIsoTimes) : null }));
}

async function publicKeys({ pool }: Reading, ids: readonly string[]): Promise<SshPublicKeyResource[]> {
  const rows = await rowsOf<PublicKeyRow>(
    pool,
    'reading SSH public keys',
    sql`
    select k.id, k.public_key, k.fingerprint, k.key_name, k.ssh_username_id, k.inserted_at, k.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join ssh_public_key k on k.id = page.id order by page.place`,
  );
  return rows.map(withIsoTimes);
}
