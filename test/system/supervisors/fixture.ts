/** A tree of actors on a real database, with sessions that only remember what they were told. */
import { Client, type Pool } from 'pg';
import { createBus } from '../../../actors/bus.ts';
import type { Clock } from '../../../actors/ports.ts';
import { createTracer } from '../../../actors/tracer.ts';
import { GroupCommitter } from '../../../persistence/committer/committer.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { StoredHandOvers } from '../../../persistence/ownership/hand-over.ts';
import { Leases, LEASE_MS } from '../../../persistence/ownership/leases.ts';
import { StoredTakeovers } from '../../../persistence/ownership/takeovers.ts';
import { unfinishedDeliveries } from '../../../persistence/loader/webhooks.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import { createSshLogins } from '../../../persistence/ssh/login-check.ts';
import { createPasswords } from '../../../persistence/ssh/passwords.ts';
import { wokenRows } from '../../../persistence/sweeps/forgotten.ts';
import { readVpns } from '../../../persistence/vpn/readings.ts';
import type { Committer, Loader } from '../../../supervisors/ports.ts';
import type { KindTable } from '../../../supervisors/runtime/kinds.ts';
import { createTree, type Tree } from '../../../supervisors/tree.ts';
import { HeardWakeUps } from '../../../supervisors/wake-ups.ts';
import { createLeaseClock, systemClock } from '../../../transport/net/clock.ts';
import { SETTINGS } from '../../support/actors.ts';
import { arrived, registryOf } from '../../support/admin-registry.ts';
import { createDatabase } from '../../support/database/database.ts';
import { recordingLog } from '../../support/log.ts';
import { scaledLimits, VAULT } from '../../support/database/opened.ts';
import { recordedSender, recordedSessions } from '../../support/recorded-links.ts';
import type { Scope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { SupervisorsFixture } from './actors-fixture.ts';

/** What a test puts in place of the real parts. */
export interface SupervisorsFixtureOptions {
  readonly connection?: TestConnection;
  readonly name?: string;
  readonly kinds?: (table: KindTable) => KindTable;
  readonly committer?: (real: GroupCommitter) => Committer;
  readonly loader?: (real: Loader) => Loader;
  readonly leases?: (pool: Pool) => Leases;
  readonly clock?: Clock;
  readonly leaseClockMs?: () => number;
  readonly maxWireguardPeers?: number;
  /** As if the database were not the one that it was. */
  readonly isSetBack?: () => boolean;
}

let supervisorsFixtures = 0;

/** A lease lasts so many times as long where it is not what is tested. */
const STEADY_TIMES = 1_000;

/** Whatever is leased to an admin is leased for an hour. */
const STEADY_LEASES = `
  create function last() returns trigger language plpgsql as $$ begin new.lease_until := clock_timestamp() + interval '1 hour'; return new; end $$;
  create trigger lasts before insert or update on cluster_ownership for each row when (new.admin_id is not null and new.lease_until > clock_timestamp()) execute function last();`;

/** Starts a tree that keeps its leases, however late it is with their renewal: for tests of something else. */
export async function startOwner(scope: Scope, options: SupervisorsFixtureOptions = {}): Promise<SupervisorsFixture> {
  const connection = options.connection ?? (await createDatabase(scope));
  if (options.connection === undefined) {
    const client = new Client(connection);
    await client.connect();
    await client.query(STEADY_LEASES);
    await client.end();
  }
  const leases = (pool: Pool): Leases => new SteadyLeases(pool);
  const leaseClockMs = (): number => performance.now() / STEADY_TIMES;
  return startSupervisors(scope, { leaseClockMs, leases, ...options, connection });
}

/** Of a database whose clock is as slow as that of the leases. */
class SteadyLeases extends Leases {
  override async survey(unseenMs?: number) {
    const survey = await super.survey(unseenMs);
    return { ...survey, databaseMs: survey.databaseMs / STEADY_TIMES };
  }
}

/** Starts a tree that ends with the scope. Waits until it owns what there is to own. */
export async function startSupervisors(
  scope: Scope,
  options: SupervisorsFixtureOptions = {},
): Promise<SupervisorsFixture> {
  const connection = options.connection ?? (await createDatabase(scope));
  const log = recordingLog();
  const database = await openDatabase({ connection, poolMax: 10, log, limits: scaledLimits() });
  supervisorsFixtures += 1;
  const registry = registryOf(database, options.name ?? `admin-${supervisorsFixtures}`, {
    maxWireguardPeers: options.maxWireguardPeers ?? 10_000,
  });
  const adminId = await until('the first check-in', () => arrived(registry)); // as an admin waits for its database
  const bus = createBus(log);
  const committer = new GroupCommitter({
    database,
    vault: VAULT,
    adminId,
    hasPeers: () => false,
    log,
    committed: (notices) => bus.publish(notices),
  });
  const sessions = recordedSessions();
  const webhookSender = recordedSender();
  const loader = createLoader(database.pool);
  const tree: Tree = createTree({
    adminId,
    sessions,
    webhookSender,
    webhookSupply: {
      next: (webhook, { after, limit }) => unfinishedDeliveries(database.pool, webhook, after, limit),
      stored: () => {},
      ended: () => {},
    },
    ssh: createSshLogins({ pool: database.pool, passwords: createPasswords(), log }),
    tracer: createTracer(null),
    clusterVpnRows: { read: (clusters) => readVpns(database.pool, clusters) },
    gateway: { become: () => {} },
    wakeSelfUpdate: () => {},
    missed: () => wakeUps.missed(),
    bus,
    news: bus,
    log,
    clock: options.clock ?? systemClock,
    settings: SETTINGS,
    leaseMs: LEASE_MS,
    settledMs: 60_000,
    committer: options.committer?.(committer) ?? committer,
    loader: options.loader?.(loader) ?? loader,
    leases: options.leases?.(database.writes) ?? new Leases(database.writes, registry.instanceId),
    handOvers: new StoredHandOvers(database.writes),
    takeovers: new StoredTakeovers(database.writes, registry.instanceId),
    checkIn: () => registry.checkIn(),
    isSetBack: options.isSetBack ?? (() => false),
    leaseClockMs: options.leaseClockMs ?? createLeaseClock(),
    ...(options.kinds !== undefined && { kinds: options.kinds }),
  });
  const rows = wokenRows(database.pool, adminId);
  const wakeUps = new HeardWakeUps({ rows, directory: tree.directory, clock: systemClock, log });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await wakeUps.stop();
    await tree.ownership
      .stop()
      .then(() => registry.checkOut())
      .catch(() => undefined); // a test may have taken its database away
    await database.close();
  };
  scope.teardown(stop);
  await until('the leases', () => tree.ownership.start().then(() => true)); // a crowded machine may be late
  return new SupervisorsFixture({ connection, database, tree, adminId, sessions, webhookSender, log, stop });
}
