/** Holds transactions of the admin inside their COMMIT, by means of the database alone. */
import { Client } from 'pg';
import { IN_THIS_DATABASE } from '../support/database/locks.ts';
import type { TestConnection } from '../support/database/server.ts';
import { until } from '../support/until.ts';

/**
 * What is being stored by the transactions that can be held, with the keys of their advisory locks. Any numbers do that
 * the product does not use.
 */
const MOMENTS = {
  'command-created': 90_001,
  'execution-sent': 90_002,
  'execution-finished': 90_003,
  'webhook-created': 90_004,
  'webhook-deleted': 90_005,
  'delivery-routed': 90_006,
  'delivery-attempted': 90_007,
  'delivery-reopened': 90_008,
  'ssh-verified': 90_009,
} as const;

/** A moment at which a commit can be held. */
export type Moment = keyof typeof MOMENTS;

/**
 * Triggers that run in the COMMIT, not with the statement; each waits there for as long as the lock of its moment is
 * held, whatever lock timeout its transaction has: who looks for it may be late.
 */
const TRIGGERS = `
  create function chaos_hold() returns trigger language plpgsql as $$ begin perform set_config('lock_timeout', '0', true); perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint); return null; end $$;
  create constraint trigger chaos_created after insert on command deferrable initially deferred for each row execute function chaos_hold(${MOMENTS['command-created']});
  create constraint trigger chaos_sent after update on command_execution deferrable initially deferred for each row
    when (new.status = 'sent' and old.status = 'pending') execute function chaos_hold(${MOMENTS['execution-sent']});
  create constraint trigger chaos_finished after update on command_execution deferrable initially deferred for each row
    when (new.finished_at is not null and old.finished_at is null) execute function chaos_hold(${MOMENTS['execution-finished']});
  create constraint trigger chaos_webhook after insert on webhook deferrable initially deferred for each row execute function chaos_hold(${MOMENTS['webhook-created']});
  create constraint trigger chaos_deleted after delete on webhook deferrable initially deferred for each row execute function chaos_hold(${MOMENTS['webhook-deleted']});
  create constraint trigger chaos_routed after insert on webhook_delivery deferrable initially deferred for each row
    when (new.attempt_count = 0) execute function chaos_hold(${MOMENTS['delivery-routed']});
  create constraint trigger chaos_made after insert on webhook_delivery deferrable initially deferred for each row
    when (new.attempt_count > 0) execute function chaos_hold(${MOMENTS['delivery-attempted']});
  create constraint trigger chaos_attempted after update on webhook_delivery deferrable initially deferred for each row
    when (new.attempt_count > old.attempt_count) execute function chaos_hold(${MOMENTS['delivery-attempted']});
  create constraint trigger chaos_reopened after update on webhook_delivery deferrable initially deferred for each row
    when (new.status = 'pending' and old.status <> 'pending') execute function chaos_hold(${MOMENTS['delivery-reopened']});
  create constraint trigger chaos_ssh after insert on event deferrable initially deferred for each row
    when (new.type = 'edge.ssh_username.verified') execute function chaos_hold(${MOMENTS['ssh-verified']});`;

/** A hold of commits. */
export interface CommitHold {
  /** Resolves when a transaction waits. */
  readonly caught: Promise<unknown>;
  /** Lets the transactions finish what they were at, with or without their client. */
  release(): Promise<void>;
}

/** Begins something, strikes where a hold catches it, lets go, does what follows, and waits for what was begun. */
export async function strikeIn<T>(
  holding: Promise<CommitHold>,
  begin: () => Promise<T>,
  strike: () => Promise<unknown>,
  follow: () => Promise<unknown> = async () => {},
): Promise<T> {
  const hold = await holding;
  const begun = begin();
  await hold.caught;
  await strike();
  await hold.release();
  await follow();
  return begun;
}

/** Installs what holding needs in a migrated database. */
export async function prepareHolds(connection: TestConnection): Promise<void> {
  await withClient(connection, (client) => client.query(TRIGGERS));
}

/** Holds the next commits of this moment: all that was written is there, and not yet committed. */
export async function holdCommit(connection: TestConnection, moment: Moment): Promise<CommitHold> {
  return holdBy(
    connection,
    `select pg_advisory_lock(${MOMENTS[moment]})`,
    `locktype = 'advisory' and objid = ${MOMENTS[moment]}`,
  );
}

/** Holds all that wants to write into a table, before it wrote there. */
export async function holdTable(
  connection: TestConnection,
  table: 'command' | 'event' | 'webhook_delivery',
): Promise<CommitHold> {
  return holdBy(connection, `begin; lock table ${table} in exclusive mode`, `relation = '${table}'::regclass`);
}

/**
 * Lets a commit that is held through, and holds all that wants to read a table from then on. Nobody reads between the
 * two.
 */
export async function holdReads(
  connection: TestConnection,
  commit: CommitHold,
  table: 'event' | 'webhook_delivery',
): Promise<CommitHold> {
  const client = new Client(connection);
  client.on('error', () => {});
  await client.connect();
  await client.query('begin');
  const locked = client.query(`lock table ${table} in access exclusive mode`);
  locked.catch(() => {}); // awaited below
  await withClient(connection, (other) =>
    until(
      'a lock that waits for the commit',
      async () =>
        ((
          await other.query(
            `select from pg_locks where not granted and ${IN_THIS_DATABASE} and relation = '${table}'::regclass and mode = 'AccessExclusiveLock'`,
          )
        ).rowCount ?? 0) > 0,
    ),
  );
  await commit.release();
  await locked;
  const caught = until(
    'a reader that waits',
    async () =>
      ((
        await client.query(
          `select from pg_locks where not granted and ${IN_THIS_DATABASE} and relation = '${table}'::regclass`,
        )
      ).rowCount ?? 0) > 0,
    10_000,
  );
  caught.catch(() => {}); // awaited by whoever wants to know
  return { caught, release: () => client.end() };
}

async function holdBy(connection: TestConnection, take: string, waiting: string): Promise<CommitHold> {
  const client = new Client(connection);
  client.on('error', () => {}); // the server may be killed meanwhile, which releases too
  await client.connect();
  await client.query(take);
  const caught = until(
    'a transaction that waits',
    async () =>
      ((await client.query(`select from pg_locks where not granted and ${IN_THIS_DATABASE} and ${waiting}`)).rowCount ??
        0) > 0,
    10_000,
  );
  caught.catch(() => {}); // awaited by whoever wants to know
  return { caught, release: () => client.end() };
}

async function withClient(connection: TestConnection, task: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  try {
    await task(client);
  } finally {
    await client.end();
  }
}
