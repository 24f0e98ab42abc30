/**
 * A move of a node, with the admin killed at every step of it: in the transaction, behind it, and at each thing that
 * Netmaker is asked for.
 */
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { createDatabase } from '../../support/database/database.ts';
import { IN_THIS_DATABASE } from '../../support/database/locks.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { CLUSTER, startFleet, type Fleet } from '../../support/fleet.ts';
import { startFakeNetmaker, type FakeNetmaker, type Fault } from '../../support/netmaker/netmaker.ts';
import { MODERN } from '../../support/netmaker/quirks.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { until } from '../../support/until.ts';
import { hangAfter } from '../../support/busy.ts';

/** Longest wait for what a restarted admin finishes, in ms. */
const DEADLINE_MS = 90_000;

const ANNEX = 'annex';

/** Key of the lock that holds commits of moves. Any number does that the product does not use. */
const COMMIT_LOCK = 90_101;

interface Fixture {
  readonly fleet: Fleet;
  readonly netmaker: FakeNetmaker;
  readonly database: Client;
}

/** A moment: something holds the admin there, and lets go once it is killed. */
interface Moment {
  readonly name: string;
  hold(fixture: Fixture): Promise<{ caught(): Promise<unknown>; release(): Promise<unknown> }>;
  /** Whether the move is stored then; null: either is right. */
  readonly isStored: boolean | null;
}

/** Holds what wants a lock of the database. */
function heldByDatabase(name: string, isStored: boolean | null, take: string, give: string, waiting: string): Moment {
  return {
    name,
    isStored,
    async hold({ database, fleet }) {
      await database.query(take);
      return {
        caught: () =>
          until(
            name,
            async () =>
              (await fleet.sql(`select from pg_locks where not granted and ${IN_THIS_DATABASE} and ${waiting}`))
                .length > 0,
            DEADLINE_MS,
          ),
        release: () => database.query(give),
      };
    },
  };
}

/** Holds a request to Netmaker: before it is done (`hang`), or when it is done and its answer is lost. */
function heldAtNetmaker(
  what: string,
  fault: Extract<Fault, 'hang' | 'lost'>,
  isAsked: (method: string, path: string) => boolean,
): Moment {
  const name = `${what}, ${fault === 'hang' ? 'before it is done' : 'when it is done and nobody was told'}`;
  return {
    name,
    isStored: true,
    async hold({ netmaker, fleet }) {
      let asked = 0;
      netmaker.fault = (method, path) => {
        if (!isAsked(method, path)) return null;
        asked += 1;
        return fault;
      };
      return {
        // Not something that is asked for besides: the move is stored by then.
        caught: () =>
          until(name, async () => asked > 0 && (await fleet.sql('select from mesh_move')).length > 0, DEADLINE_MS),
        release: async () => Promise.resolve((netmaker.fault = () => null)),
      };
    },
  };
}

const MOMENTS: readonly Moment[] = [
  heldByDatabase(
    'before anything is written',
    null,
    'begin; lock table mesh_move in exclusive mode',
    'rollback',
    "relation = 'mesh_move'::regclass",
  ),
  heldByDatabase(
    'in its commit',
    null,
    `select pg_advisory_lock(${COMMIT_LOCK})`,
    `select pg_advisory_unlock(${COMMIT_LOCK})`,
    `locktype = 'advisory' and objid = ${COMMIT_LOCK}`,
  ),
  ...(['hang', 'lost'] as const).flatMap((fault) => [
    heldAtNetmaker(
      'as the node leaves',
      fault,
      (method, path) => method === 'DELETE' && /\/hosts\/[^/]+\/networks\//u.test(path),
    ),
    heldAtNetmaker(
      'as it joins',
      fault,
      (method, path) => method === 'POST' && /\/hosts\/[^/]+\/networks\//u.test(path),
    ),
    heldAtNetmaker('as its names are set', fault, (method, path) => method === 'POST' && /\/dns\//u.test(path)),
  ]),
];

/** A node with an alias and a recovery key, which is a host of Netmaker's in the network of its cluster. */
async function settle(t: ExecutionContext, { fleet, netmaker }: Fixture, alias: string): Promise<EnrollAnswer> {
  const answer = await enrollRaw(t, fleet);
  netmaker.byHand.put(netmaker.byHand.host(`node-${answer.node_id}`), `cluster-${CLUSTER}`);
  await fleet.rest.post(`/nodes/${answer.node_id}/aliases`, { name: alias });
  await fleet.rest.post(`/nodes/${answer.node_id}/recovery_key`, {});
  await until(
    'its names',
    () => Object.keys(netmaker.state().networks[`cluster-${CLUSTER}`]?.names ?? {}).includes(`${alias}.${CLUSTER}`),
    DEADLINE_MS,
  );
  return answer;
}

test('a move whose admin is killed at any step is done or not begun: one event, no recovery key, Netmaker agrees', async (t) => {
  t.timeout(hangAfter(600_000));
  const connection = await createDatabase(t);
  const netmaker = await startFakeNetmaker(t, { ...MODERN, domain: 'edge.internal' });
  const fleet = await startFleet(t, {
    connection,
    env: { EDGE_VPN_API_URL: netmaker.url, EDGE_VPN_MASTER_KEY: netmaker.masterKey, ADMIN_OBSERVER_PORT: '' },
  });
  const [admin] = fleet.admins;
  const database = new Client(connection);
  await database.connect();
  t.teardown(() => database.end());
  await database.query(`create function hold_move() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(${COMMIT_LOCK}); return null; end $$;
    create constraint trigger hold_move after insert on mesh_move deferrable initially deferred for each row execute function hold_move()`);
  await fleet.rest.post('/clusters', { name: ANNEX });
  const fixture = { fleet, netmaker, database };
  await until('both networks', () => Object.keys(netmaker.state().networks).length === 2, DEADLINE_MS);

  for (const [index, moment] of MOMENTS.entries()) {
    const alias = `alias-${index}`;
    const { node_id: node } = await settle(t, fixture, alias);
    const held = await moment.hold(fixture);
    const asked = fleet.rest
      .call('POST', `/nodes/${node}/change_cluster`, { body: { cluster_name: ANNEX } })
      .catch(() => null); // its admin is killed
    await held.caught();
    await admin?.kill();
    await held.release();
    await asked;
    await admin?.start();

    await until(
      `the end of the move, ${moment.name}`,
      async () =>
        (await fleet.sql('select from mesh_move')).length === 0 &&
        (
          await fleet.sql(
            "select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
          )
        ).length === 0,
      DEADLINE_MS,
    );
    const cluster = (await fleet.rest.get<NodeResource>(`/nodes/${node}`)).cluster_name;
    const isMoved = cluster === ANNEX;
    if (moment.isStored !== null) t.is(isMoved, moment.isStored, moment.name);
    t.is(
      (await fleet.sql("select from event where type = 'edge.node.cluster_changed' and subject = $1", [node])).length,
      Number(isMoved),
      `events, ${moment.name}`,
    );
    t.is(
      (await fleet.sql('select from recovery_key where node_id = $1', [node])).length,
      Number(!isMoved),
      `recovery keys, ${moment.name}`,
    );
    await until(
      `Netmaker to agree, ${moment.name}`,
      () => {
        const of = (name: string) => netmaker.state().networks[`cluster-${name}`];
        const isIn = (name: string): boolean => of(name)?.hosts.includes(`node-${node}`) === true;
        const isNamed = (name: string): boolean => of(name)?.names[`${alias}.${name}`] === `node-${node}`;
        const [here, there] = isMoved ? [ANNEX, CLUSTER] : [CLUSTER, ANNEX];
        return isIn(here) && isNamed(here) && !isIn(there) && !isNamed(there);
      },
      DEADLINE_MS,
    );
    t.log(`${moment.name}: ${isMoved ? 'moved' : 'not begun'}`);
  }
});
