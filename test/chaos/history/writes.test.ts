/**
 * Each change that is for the owner of a node or a cluster alone is noted where another admin makes it, and only there.
 *
 * Promises: O1.
 */
import test from 'ava';
import type { Fleet } from '../../support/fleet.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeAdmin, storeCluster } from '../../support/database/stored-rows.ts';
import { staleWrites, watchWrites } from './writes.ts';

const [NODE, KEY, ALIAS, USERNAME, PUBLIC_KEY] = [1, 2, 3, 4, 5].map(
  (place) => `00000000-0000-4000-8000-00000000000${place}`,
);

/** What is done, in this order, and what is said of it when a stranger does it; null: that anybody may do it. */
const CHANGES: readonly (readonly [string, string | null])[] = [
  [
    `insert into enrollment_key (id, cluster_id, nonce_hash, sealed_key, inserted_at, updated_at) values ('${KEY}', $1, '\\x01', 'x', now(), now())`,
    `enrollment_key ${KEY} is there`,
  ],
  [
    `update enrollment_key set uses_remaining = 1 where id = '${KEY}' and cluster_id = $1`,
    `enrollment_key ${KEY} is changed`,
  ],
  [
    `insert into node (id, cluster_id, status, version, id_type, http_port, ssh_port, host_metrics_port, wireguard_metrics_port, http_proxy_port, socks5_proxy_port, self_update_enabled, token_hash, sealed_proxy_password, inserted_at, updated_at)
     values ('${NODE}', $1, 'healthy', '1', 'random', 1, 1, 1, 1, 1, 1, false, '\\x01', 'x', now(), now())`,
    `node ${NODE} is there`,
  ],
  [`update node set status = 'unhealthy' where cluster_id = $1`, `node ${NODE} is unhealthy`],
  [`update node set status = 'unreachable' where cluster_id = $1`, `node ${NODE} is unreachable`],
  [`update node set last_seen_at = now() where cluster_id = $1`, null],
  [
    `update node_labels l set labels = '{"a":"b"}' from node n where n.id = l.node_id and n.cluster_id = $1`,
    `node_labels ${NODE} is changed`,
  ],
  [
    `insert into recovery_key (node_id, cluster_id, key_hash, inserted_at) values ('${NODE}', $1, '\\x01', now())`,
    `recovery_key ${NODE} is there`,
  ],
  [`update recovery_key set key_hash = '\\x02' where cluster_id = $1`, `recovery_key ${NODE} is changed`],
  [`delete from recovery_key where cluster_id = $1`, `recovery_key ${NODE} is gone`],
  [
    `insert into alias (id, node_id, cluster_id, name, inserted_at, updated_at) values ('${ALIAS}', '${NODE}', $1, 'web', now(), now())`,
    `alias ${ALIAS} is there`,
  ],
  [`delete from alias where cluster_id = $1`, `alias ${ALIAS} is gone`],
  [
    `insert into ssh_username (id, node_id, username, inserted_at, updated_at) select '${USERNAME}', id, 'somebody', now(), now() from node where cluster_id = $1`,
    `ssh_username ${USERNAME} is there`,
  ],
  [
    `insert into ssh_public_key (id, ssh_username_id, key_name, public_key, fingerprint, inserted_at, updated_at) select '${PUBLIC_KEY}', '${USERNAME}', 'k', 'k', 'SHA256:x', now(), now() from cluster where id = $1`,
    `ssh_public_key ${PUBLIC_KEY} is there`,
  ],
  [
    `delete from ssh_public_key using node where node.cluster_id = $1 and ssh_username_id = '${USERNAME}'`,
    `ssh_public_key ${PUBLIC_KEY} is gone`,
  ],
  [`update cluster set node_limit = coalesce(node_limit, 0) + 1 where id = $1`, null], // with the cluster's id in its line: see below
  [`update cluster set node_count = 1 where id = $1`, null],
  [`delete from enrollment_key where cluster_id = $1`, `enrollment_key ${KEY} is gone`],
  [`delete from node where cluster_id = $1`, `node ${NODE} is gone`], // its SSH username goes with it
];

async function fixture(t: Parameters<typeof openedDatabase>[0]) {
  const { pool } = await openedDatabase(t);
  const owner = await storeAdmin(pool, 'admin-2');
  await storeAdmin(pool, 'admin-1');
  const clusters = [await storeCluster(pool, 'east'), await storeCluster(pool, 'west', { number: 2 })];
  const fleet: Pick<Fleet, 'sql'> = { sql: async (text, values) => (await pool.query(text, values)).rows as never };
  await watchWrites(fleet);
  await pool.query(
    "insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) select id, $1, 1, now() + interval '1 h' from cluster",
    [owner],
  );
  const client = await pool.connect();
  t.teardown(() => client.release());
  const as = async (writer: string, text: string, cluster = clusters[0]): Promise<void> => {
    await client.query("select set_config('edge_history.admin', $1, false)", [writer]);
    await client.query(text, [cluster]);
  };
  return { pool, fleet, clusters, as };
}

test('what the owner of a cluster writes is as it should be, and each write of another admin is told', async (t) => {
  const { fleet, as, clusters } = await fixture(t);

  for (const [text] of CHANGES) await as('admin-2', text);
  t.deepEqual(await staleWrites(fleet), []);

  for (const [text] of CHANGES) await as('admin-1', text);
  const limited = `cluster ${clusters[0]} is changed`;
  const expected = CHANGES.flatMap(([text, said]) => (text.includes('node_limit') ? [limited] : (said ?? [])));
  t.deepEqual(
    await staleWrites(fleet),
    expected.map((said) => `O1: admin-1 stored that ${said}, while admin-2 owned its node or cluster`),
  );
});

test('an owner deletes its cluster and moves nodes out of it; a sweep may mark nodes unreachable that nobody owns', async (t) => {
  const { pool, fleet, as, clusters } = await fixture(t);
  const [east, west] = clusters;
  const insert = CHANGES[2]?.[0] ?? '';
  await as('admin-2', insert);
  await pool.query(
    'update cluster_ownership set admin_id = (select id from admin where name = $1) where cluster_id = $2',
    ['admin-1', west],
  );
  const move = (from = '', to = ''): string =>
    `update node set cluster_id = '${to}' where cluster_id = '${from}' and $1 = $1`;

  await as('admin-2', move(east, west));
  t.deepEqual(await staleWrites(fleet), []);
  await as('admin-2', move(west, east));
  await as('admin-1', 'delete from node where cluster_id = $1');
  await as('admin-1', 'delete from cluster where id = $1');
  const said = [
    `node ${NODE} is moved, while admin-1`,
    `node ${NODE} is gone, while admin-2`,
    `cluster ${east} is gone, while admin-2`,
  ];
  const writers = ['admin-2', 'admin-1', 'admin-1'];
  const lines = said.map((one, place) => `O1: ${writers[place]} stored that ${one} owned its node or cluster`);
  t.deepEqual(await staleWrites(fleet), lines);

  await as('admin-1', insert, west);
  await pool.query("update cluster_ownership set lease_until = now() - interval '1 s'");
  await as('admin-2', "update node set status = 'unreachable' where cluster_id = $1", west);
  t.deepEqual(await staleWrites(fleet), lines);
});
