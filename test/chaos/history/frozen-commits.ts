/**
 * The hardest moment of an owner that freezes: a commit of its own is done and it was not told, more waits behind it
 * and comes meanwhile, its agents stay with it, and it wakes when another admin has become the owner, of which it
 * learns late. What it then does from memory nothing stops but the checks of its lease (O1).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { scaled } from '../../support/busy.ts';
import type { Fleet } from '../../support/fleet.ts';
import { createCommandIn } from './command-actions.ts';
import type { Home } from './landscape.ts';
import type { Stage } from './stage.ts';

/** First of the keys of locks, one an admin, for which commits of results wait. */
const FIRST_KEY = 91_000;

/** Each waits in its COMMIT for as long as the lock of its admin is held. */
const HOLDS = `
create function edge_history_hold() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(${FIRST_KEY} + coalesce(substring(current_setting('edge_history.admin', true) from '[0-9]+$'), '0')::bigint);
  return null;
end $$;
create constraint trigger edge_history_hold after update on command_execution deferrable initially deferred
  for each row when (new.finished_at is not null and old.finished_at is null) execute function edge_history_hold();`;

/**
 * It freezes when its lease runs for so long at most, in ms, which is soon before it would be renewed: the database
 * ends a transaction that stands still for 3 s (IDLE_IN_TRANSACTION_MS_MAX), and it is to wake before that.
 */
const LEASE_MS_LEFT = 2_400;

/** Longest waits for an old lease, for a commit, and for another owner, in ms. A row is waited for 1.5 s at most. */
const OLD_MS_MAX = 1_200;
const COMMIT_MS_MAX = 600;
const TAKEN_MS_MAX = 8_000;

/** Between two looks, in ms. */
const LOOK_MS = 10;

/** What is asked is there after so long, in ms. */
const ASKED_MS = 100;

/** How late frames may be noted that were handed out in time, in ms, as on a machine that does other things besides. */
const NOTED_MS_MAX = 200;

/** What it does when it wakes, it does in this time, in ms: an admin waits 1.5 s for a row that is locked. */
const AWAKE_MS = 700;

/** How long the scripts take whose ends come while it is frozen, in ms. */
const SLEEP_MS = 500;

/** Installs what holding needs. */
export async function prepareFrozenCommits(fleet: Fleet): Promise<void> {
  await fleet.sql(HOLDS);
}

/** How late what was handed out in time is noted at most, in ms. */
export function notedMsMax(): number {
  return scaled(NOTED_MS_MAX);
}

/** An owner of a home freezes as it stores a result. Null: it did; otherwise why it had nothing to do. */
export async function frozenAtWork(stage: Stage): Promise<string | null> {
  const { fixture, admin, hand } = stage;
  const home = await homeOf(stage);
  if (home === null) return 'it owns no home';
  const others = fixture.wires.filter((_, place) => fixture.fleet.admins[place] !== admin);
  const opens = others.map((wire) => wire.shut());
  const asked: Promise<unknown>[] = [];
  try {
    await leaseIsOld(stage);
    const writing = await locked(stage, 'lock table alias, recovery_key in exclusive mode');
    const release = await locked(stage, 'select pg_advisory_lock($1)', FIRST_KEY + numberOf(admin.name));
    asked.push(...home.nodes.slice(1).map((node) => createAlias(stage, home, node)));
    asked.push(createCommandIn(hand, home, SLEEP_MS), createCommandIn(hand, home, 0));
    asked.push(...home.nodes.map((node) => hand.ask({ verb: 'set-recovery', node }, home.cluster)));
    await looked(() => isHeld(stage), COMMIT_MS_MAX);
    await delay(ASKED_MS);
    fixture.freezes += 1;
    admin.program.pause();
    let learn = async (): Promise<void> => {};
    try {
      await Promise.all([release(), writing()]);
      asked.push(createCommandIn(hand, home, 0), ...home.nodes.map((node) => label(stage, home, node)));
      await looked(() => isTaken(stage, home), TAKEN_MS_MAX);
      await delay(notedMsMax() + ASKED_MS);
      learn = await locked(stage, 'select from admin where name = $1 for no key update', admin.name);
    } finally {
      admin.program.resume();
    }
    await delay(AWAKE_MS);
    await learn();
  } finally {
    for (const open of opens) open();
  }
  await Promise.all(asked);
  return null;
}

/** Written before it freezes and committed after it wakes, if nothing ends it meanwhile. */
async function createAlias({ hand }: Stage, { cluster }: Home, node: string): Promise<void> {
  const name = hand.mark();
  const of = { verb: 'create', resource: 'alias', scope: cluster, name, key: name, value: null, node } as const;
  await hand.ask(of, cluster);
}

/** Asked of one that is frozen, which stores it with the next batch. */
async function label({ hand }: Stage, { cluster }: Home, node: string): Promise<void> {
  await hand.ask({ verb: 'label', node, label: 'frozen', value: hand.mark() }, cluster);
}

function numberOf(name: string): number {
  return Number(/\d+$/u.exec(name)?.[0] ?? 0);
}

/** Null: it owns none of them. */
async function homeOf({ fixture, admin, hand }: Stage): Promise<Home | null> {
  const rows = await fixture.fleet
    .sql<{ cluster: string }>(`select c.name as cluster ${OWNED} where a.name = $1 ${NOW}`, [admin.name])
    .catch(() => []);
  const owned = new Set(rows.map(({ cluster }) => cluster));
  return hand.land.homes.find(({ cluster }) => owned.has(cluster)) ?? null;
}

async function isTaken({ fixture, admin }: Stage, { cluster }: Home): Promise<boolean> {
  const rows = await fixture.fleet.sql(`select a.name ${OWNED} where c.name = $1 and a.name <> $2 ${NOW}`, [
    cluster,
    admin.name,
  ]);
  return rows.length > 0;
}

const OWNED = 'from cluster c join cluster_ownership w on w.cluster_id = c.id join admin a on a.id = w.admin_id';
const NOW = 'and w.lease_until > clock_timestamp()';

async function leaseIsOld({ fixture, admin }: Stage): Promise<void> {
  const isOld = async (): Promise<boolean> => {
    const [row] = await fixture.fleet.sql<{ left: number | null }>(
      `select extract(epoch from min(w.lease_until) - clock_timestamp())::float8 * 1000 as left ${OWNED} where a.name = $1 ${NOW}`,
      [admin.name],
    );
    return row?.left != null && row.left < LEASE_MS_LEFT;
  };
  await looked(isOld, OLD_MS_MAX);
}

async function isHeld({ fixture, admin }: Stage): Promise<boolean> {
  const rows = await fixture.fleet.sql(
    "select objid from pg_locks where not granted and locktype = 'advisory' and objid = $1",
    [FIRST_KEY + numberOf(admin.name)],
  );
  return rows.length > 0;
}

/** Takes a lock in a transaction of its own; the returned function lets it go. Nothing is locked where that fails. */
async function locked({ fixture }: Stage, take: string, ...of: (string | number)[]): Promise<() => Promise<void>> {
  const client = new Client(fixture.postgres.connection);
  client.on('error', () => {}); // the server may be killed meanwhile, which lets go too
  try {
    await client.connect();
    await client.query('begin');
    await client.query(take, of);
  } catch {
    // the database is away: it freezes all the same
  }
  return () => client.end().catch(() => {});
}

/** Looks until it is so, or the time is up: a database that is away shows nothing. */
async function looked(isSo: () => Promise<boolean>, msMax: number): Promise<void> {
  const untilMs = performance.now() + msMax;
  while (performance.now() < untilMs) {
    if (await isSo().catch(() => false)) return;
    await delay(LOOK_MS);
  }
}
