/** Who owns what, as the rows and this admin say it together (`persistence/ownership/owner-look-up.ts`). */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { RECENT_OWNER_MS } from '../../../persistence/ownership/recent-owners.ts';
import { OWNER_LOOK_MS, StoredOwners } from '../../../persistence/ownership/owner-look-up.ts';
import type { HeldHere, Owner } from '../../../api/forwarding/ports.ts';
import type { ClusterId, NodeId } from '../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeAdmin, storeCluster } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';

/** This admin and another one on one database, and clusters with a node each. */
async function fixture(t: Parameters<typeof openedDatabase>[0]) {
  const { pool } = await openedDatabase(t);
  const me = await storeAdmin(pool, 'me');
  const them = await storeAdmin(pool, 'them');
  const held = new Map<string, number>();
  const state = {
    /** Leases by the clock of this machine. */
    isFresh: true,
    orphans: new Set<string>(),
    nodesHere: new Map<string, string>(),
    deliversWebhooks: false,
  };
  const here: HeldHere = {
    hasPeers: () => true,
    clusterOfNode: (node) => (state.nodesHere.get(node) ?? null) as ClusterId | null,
    epochOf: (cluster, isFresh) => (isFresh && !state.isFresh ? null : (held.get(cluster) ?? null)),
    isOrphan: (cluster) => state.orphans.has(cluster),
    deliversWebhooks: () => state.deliversWebhooks,
  };
  const clock = createFakeClock();
  let clusters = 0;
  return {
    pool,
    me,
    them,
    held,
    state,
    clock,
    owners: new StoredOwners({ pool, adminId: me, clock, here }),
    /** A cluster with a node, owned so; null: no row says by whom. */
    cluster: async (owner: string | null, epoch = 1, leaseSeconds = 60) => {
      clusters += 1;
      const cluster = (await storeCluster(pool, `c${clusters}`, { number: clusters })) as ClusterId;
      if (owner !== null)
        await pool.query(
          `insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) values ($1, $2, $3, clock_timestamp() + $4 * interval '1 s')`,
          [cluster, owner, epoch, leaseSeconds],
        );
      const { rows } = await pool.query<{ id: NodeId }>(
        `insert into node (id, cluster_id, status, version, id_type, http_port, ssh_port, host_metrics_port, wireguard_metrics_port, http_proxy_port, socks5_proxy_port, self_update_enabled, token_hash, sealed_proxy_password, status_since, inserted_at, updated_at)
        values ($1::uuid, $2, 'healthy', '1', 'persistent', 1, 2, 3, 4, 5, 6, false, sha256(gen_random_uuid()::text::bytea), '', now(), now(), now()) returning id`,
        [randomUUID(), cluster],
      );
      return { cluster, node: rows[0]?.id as NodeId };
    },
    webhooks: async (admin: string | null, epoch: number, leaseSeconds: number) => {
      await pool.query(
        `update event_channel set admin_id = $1, epoch = $2, lease_until = clock_timestamp() + $3 * interval '1 s' where name = 'webhooks'`,
        [admin, epoch, leaseSeconds],
      );
    },
  };
}

test('what is held here is known without the rows, and by them once its lease ran out here', async (t) => {
  const { cluster, held, state, owners, me, pool } = await fixture(t);
  const { cluster: id, node } = await cluster(me, 7);
  held.set(id, 7);
  state.nodesHere.set(node, id);
  const of = async (): Promise<readonly Owner[]> => [
    await owners.of({ kind: 'cluster', id }),
    await owners.of({ kind: 'node', id: node }),
  ];
  const mine: Owner = { type: 'here', epoch: 7 };

  const [query] = [pool.query.bind(pool)];
  let statements = 0;
  pool.query = ((...words: never[]) => {
    statements += 1;
    return (query as (...all: never[]) => unknown)(...words);
  }) as typeof pool.query;
  t.deepEqual(await of(), [mine, mine]);
  t.is(statements, 0);

  state.isFresh = false;
  t.deepEqual(await of(), [mine, mine], 'the lease that the row says is the one that is held');
  await query(`update cluster_ownership set lease_until = clock_timestamp() - interval '1 s'`);
  t.deepEqual(await of(), [{ type: 'nobody' }, { type: 'nobody' }]);
});

test('what another one owns, what nobody owns, what fits nowhere and what there is not are told apart', async (t) => {
  const { cluster, state, owners, me, them } = await fixture(t);
  const cases: readonly (readonly [string, Awaited<ReturnType<typeof cluster>>, Owner])[] = [
    ['another one', await cluster(them, 3), { type: 'elsewhere', admin: them, epoch: 3 }],
    ['one that died', await cluster(them, 3, -1), { type: 'nobody' }],
    ['nobody yet', await cluster(null), { type: 'nobody' }],
    ['this one, before its restart', await cluster(me, 5), { type: 'nobody' }],
    ['nobody has room', await cluster(them, 3, -1), { type: 'no_room' }],
  ];
  state.orphans.add(cases.at(-1)?.[1].cluster ?? '');

  for (const [what, { cluster: id, node }, expected] of cases) {
    t.deepEqual(await owners.of({ kind: 'cluster', id }), expected, what);
    t.deepEqual(await owners.of({ kind: 'node', id: node }), expected, `a node: ${what}`);
  }
  t.deepEqual(await owners.of({ kind: 'cluster', id: randomUUID() as ClusterId }), { type: 'missing' });
  t.deepEqual(await owners.of({ kind: 'node', id: randomUUID() as NodeId }), { type: 'missing' });
});

test('an epoch that this admin held before is not taken for the one that the row says', async (t) => {
  const { cluster, held, owners, me, state } = await fixture(t);
  const { cluster: id } = await cluster(me, 9);
  held.set(id, 8);
  state.isFresh = false;

  t.deepEqual(await owners.of({ kind: 'cluster', id }), { type: 'nobody' });
});

test('many that are looked for at once are each answered with their own', async (t) => {
  const { cluster, owners, them } = await fixture(t);
  const stored = [];
  for (let epoch = 1; epoch <= 20; epoch += 1) stored.push(await cluster(them, epoch));
  const missing = randomUUID() as NodeId;

  const found = await Promise.all(
    [...stored.map(({ node }) => node), missing, stored[4]?.node ?? missing].map((id) =>
      owners.of({ kind: 'node', id }),
    ),
  );

  t.deepEqual(
    found.map((owner) => (owner.type === 'elsewhere' ? owner.epoch : owner.type)),
    [...stored.map((_one, index) => index + 1), 'missing', 5],
  );
});

test('the webhooks are those of whoever has the channel, and has begun', async (t) => {
  const { webhooks, owners, state, me, them } = await fixture(t);
  const holder = (): Promise<Owner> => owners.of({ kind: 'webhooks' });

  t.deepEqual(await holder(), { type: 'nobody' });
  await webhooks(them, 4, 60);
  t.deepEqual(await holder(), { type: 'elsewhere', admin: them, epoch: 4 });
  await webhooks(them, 4, -1);
  t.deepEqual(await holder(), { type: 'nobody' });
  await webhooks(me, 5, 60);
  t.deepEqual(await holder(), { type: 'nobody' });
  state.deliversWebhooks = true;
  t.deepEqual(await holder(), { type: 'here', epoch: 5 });
});

test('whoever waits for another owner is told of the next one, and of nothing less', async (t) => {
  const { cluster, owners, clock, me, them, pool } = await fixture(t);
  const { cluster: id } = await cluster(them, 3);
  const given = new AbortController();
  let isTold = false;
  const told = (async (): Promise<void> => {
    await owners.changed({ kind: 'cluster', id }, 3, given.signal);
    isTold = true;
  })();
  /** One look, to its end. */
  const look = async (): Promise<void> => {
    await until('that it waits', () => clock.waiting() === 1 || isTold);
    clock.pass(OWNER_LOOK_MS);
    await until('that it has looked', () => clock.waiting() === 1 || isTold);
  };

  await look();
  await pool.query(`update cluster_ownership set lease_until = clock_timestamp() - interval '1 s'`);
  await look();
  t.false(isTold, 'that nobody owns it is nothing to go on with');
  await pool.query(
    `update cluster_ownership set admin_id = $1, epoch = 4, lease_until = clock_timestamp() + interval '1 m'`,
    [them],
  );
  await look();
  await told;
  t.true(isTold);
  t.not(me, them);

  const second = owners.changed({ kind: 'cluster', id }, 4, given.signal);
  given.abort();
  await second;
  t.is(clock.waiting(), 0);
});

test('what another admin owns is remembered for a moment, also for nodes of the same cluster, and nothing else is', async (t) => {
  const { cluster, owners, clock, held, me, them, pool } = await fixture(t);
  const [theirs, dead] = [await cluster(them, 3), await cluster(them, 3, -1)];
  const owned = { kind: 'cluster', id: theirs.cluster } as const;
  const node = { kind: 'node', id: theirs.node } as const;
  const owner: Owner = { type: 'elsewhere', admin: them, epoch: 3 };

  t.deepEqual([owners.lately(owned), owners.lately(node)], [null, null]);
  await owners.of(node);
  await owners.of({ kind: 'node', id: dead.node });
  t.deepEqual([owners.lately(owned), owners.lately(node)], [owner, owner]);
  t.is(owners.lately({ kind: 'cluster', id: dead.cluster }), null);

  clock.pass(RECENT_OWNER_MS);
  t.is(owners.lately(node), null, 'too long ago');
  await owners.of(owned);
  t.deepEqual(owners.lately(node), owner, 'its cluster is known still');

  held.set(theirs.cluster, 4);
  t.deepEqual(owners.lately(node), { type: 'here', epoch: 4 }, 'this admin took it over');
  held.clear();
  await pool.query('delete from node where id = $1', [theirs.node]);
  await owners.of(node);
  t.is(owners.lately(node), null, 'it is gone');
  t.not(me, them);
});
