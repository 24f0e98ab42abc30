/**
 * What is deleted by its age is deleted where the database and the machine agree on the time, and by no pruning else:
 * one of the two is wrong where they do not, and nobody knows which (O2).
 */
import test, { type ExecutionContext } from 'ava';
import type { Pool, PoolClient } from 'pg';
import { v7 } from 'uuid';
import { DatabaseClock } from '../../../persistence/database-clock.ts';
import { Storage, type OpenedStorage } from '../../../persistence/storage.ts';
import { IDEMPOTENCY_RECORD_HOURS } from '../../../persistence/committer/idempotency-records.ts';
import { ClusterId } from '../../../transport/protocol/ids.ts';
import { registryOf } from '../../support/admin-registry.ts';
import { silentLog } from '../../support/log.ts';
import type { Opened } from '../../support/database/opened.ts';
import { storeCommands, storeEvents } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';
import { openStoredFleet, type Fixture } from './fixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const SETTINGS = {
  ADMIN_NAME: 'one',
  ADMIN_CLUSTER_NAME: 'default',
  ADMIN_FORGET_AFTER_MS: HOUR_MS,
  CLUSTER_AUTO_GENERATED_V4_RANGES: ['100.64.0.0/10'],
  CLUSTER_V4_SUBNET_PREFIX: 24,
  CORE_NAME: 'edge',
  EDGE_VPN_DEFAULT_DOMAIN: 'edge.test',
  EVENT_DELIVERY_MAX_AGE_SECONDS: 86_400,
  EVENT_RETENTION_DAYS: 7,
  EXECUTION_RETENTION_DAYS: 30,
  NODE_UNREACHABLE_AFTER_MS: 30_000,
  RANDOM_NODE_FORGET_AFTER_MS: HOUR_MS,
  SSH_RECORDING_RETENTION_DAYS: 30,
  WEBHOOK_DELIVERY_RETENTION_DAYS: 7,
  WEBHOOK_MAX_ATTEMPTS: 3,
} as const;

/** The sweeps of an admin over these rows, whose machine is ahead of the database by so much, in ms. */
async function sweepsOf(t: ExecutionContext, { opened, fixture }: Stored, aheadMs: number, pool = opened.pool) {
  const nowMs = (): number => Date.now() + aheadMs;
  const clock = await DatabaseClock.start(opened.pool, {
    clock: { nowMs, after: () => () => undefined },
    log: silentLog,
  });
  t.teardown(() => clock.stop());
  const { vault } = opened;
  const used = { settings: SETTINGS, adminId: v7(), database: { ...opened, pool }, vault, clock, log: silentLog };
  const others = { registry: registryOf(opened, 'me'), peers: { areThere: () => true } };
  const storage = new Storage({ ...used, ...others } as unknown as OpenedStorage);
  const clusters = fixture.clusters.map(({ id }) => ClusterId.parse(id));
  const { sweeps } = storage.forSweeps({
    ownership: { heldFor: () => clusters, watchedMs: () => 0 },
    heard: () => [],
    consoleSessions: { idleMsMax: HOUR_MS, ageMsMax: DAY_MS },
  });
  return sweeps;
}

interface Stored {
  readonly opened: Opened;
  readonly fixture: Fixture;
}

/** A fleet in which something of each kind was kept for long enough. */
async function oldFleet(t: ExecutionContext): Promise<Stored> {
  const { opened, fixture } = await openStoredFleet(t);
  const { pool } = opened;
  const left = registryOf(opened, 'left');
  for (const admin of [registryOf(opened, 'one'), registryOf(opened, 'gone'), left]) await admin.checkIn();
  await left.checkOut();
  const agoMs = (days: number) => Date.now() - days * DAY_MS;
  await storeCommands(pool, [v7({ msecs: agoMs(31) })], new Date(agoMs(31)));
  await storeEvents(pool, 40, '8 days');
  const [cluster, webhook] = [fixture.clusters[0]?.id, fixture.webhooks[0]?.id];
  const statements: readonly (readonly [string, readonly unknown[]])[] = [
    [`update admin set last_checked_in = now() - interval '1 day' where name = 'gone'`, []],
    [`update admin_identity set gone_since = now() - interval '31 days' where name = 'left'`, []],
    [
      `update node set id_type = 'random', status = 'unreachable', status_since = now() - interval '1 day', last_seen_at = now() - interval '1 day'`,
      [],
    ],
    [`update command_execution set finished_at = now() - interval '31 days' where finished_at is not null`, []],
    [`update self_update_request set completed_at = now() - interval '31 days' where completed_at is not null`, []],
    [`update ssh_recording set inserted_at = now() - interval '31 days'`, []],
    [
      `insert into idempotency_key select 'scope', 'key', 'hash', 'sealed', now() - make_interval(hours => $1)`,
      [IDEMPOTENCY_RECORD_HOURS + 1],
    ],
    [
      `insert into webhook_delivery (id, webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, inserted_at, updated_at)
        values ($1, $2, '1', 1, gen_random_uuid(), 'edge.core.test', gen_random_uuid(), 'delivered', 1, 3, now() - interval '9 days', now() - interval '9 days')`,
      [v7({ msecs: agoMs(9) }), webhook],
    ],
    [`insert into release_file values ($1, 1, 1, true, now() - interval '25 hours')`, ['a'.repeat(64)]],
    [
      `insert into enrollment_key (id, cluster_id, nonce_hash, sealed_key, expired_at, uses_remaining, is_public, inserted_at, updated_at)
        values ($1, $2, 'hash', 's', now() - interval '1 hour', 1, true, now(), now())`,
      [v7(), cluster],
    ],
    [
      `insert into console_session values ($1, sha256('token'), sha256('key'), '', '', now() - interval '2 days', now() - interval '2 days')`,
      [v7()],
    ],
  ];
  for (const [statement, values] of statements) await pool.query(statement, [...values]);
  return { opened, fixture };
}

type Sweeps = Awaited<ReturnType<typeof sweepsOf>>;

/** Everything that goes by its age; those that do not are left out. */
function byAge({ prunings, ...sweeps }: Sweeps): Readonly<Record<string, () => Promise<number>>> {
  const { outputParts: _parts, orphanDeliveries: _orphans, ...aged } = prunings;
  return {
    ...Object.fromEntries(Object.entries(aged).map(([kind, prune]) => [kind, async () => (await prune()).count])),
    nodes: async () => (await sweeps.findGone(100)).length,
    admins: () => sweeps.forgetAdmins(),
    names: () => sweeps.forgetNames(),
  };
}

test('where the database is an hour off the machine, nothing is deleted by its age; where they agree, all of it', async (t) => {
  const stored = await oldFleet(t);

  for (const aheadMs of [HOUR_MS, -HOUR_MS]) {
    const wrong = byAge(await sweepsOf(t, stored, aheadMs));
    for (const [kind, sweep] of Object.entries(wrong)) t.is(await sweep(), 0, `${kind}, ${aheadMs} ms ahead`);
  }

  const right = byAge(await sweepsOf(t, stored, 0));
  // A machine that stands still for seconds between its look at its clock and the statement does not agree either.
  for (const [kind, sweep] of Object.entries(right)) await until(kind, async () => (await sweep()) > 0);
  t.pass();
});

/** The pool, and what it is asked. */
function recorded(pool: Pool) {
  const asked: { readonly text: string; readonly values: readonly unknown[] }[] = [];
  const recording = <Client extends Pool | PoolClient>(client: Client): Client => {
    const query = client.query.bind(client) as (...given: readonly unknown[]) => Promise<unknown>;
    return new Proxy(client, {
      get(of, name) {
        if (name === 'connect') return async () => recording(await (of as Pool).connect());
        const value: unknown = Reflect.get(of, name);
        if (name !== 'query') return typeof value === 'function' ? value.bind(of) : value;
        return (...given: readonly unknown[]) => {
          const [text, values] = given;
          if (typeof text === 'string' && Array.isArray(values)) asked.push({ text, values });
          return query(...given);
        };
      },
    });
  };
  return { asked, pool: recording(pool) };
}

test('the time of the machine is compared with the one of the database without arithmetic for each row', async (t) => {
  const stored = await oldFleet(t);
  const { asked, pool } = recorded(stored.opened.pool);
  const sweeps = byAge(await sweepsOf(t, stored, 0, pool));

  for (const sweep of Object.values(sweeps)) await sweep();

  const dated = asked.filter(({ text }) => text.includes('case when'));
  t.true(dated.length >= Object.keys(sweeps).length);
  for (const { text, values } of dated) {
    const { rows } = await stored.opened.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [...values]);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    t.regex(plan, /now\(\) >= '/u); // folded when it was planned
    t.notRegex(plan, /to_timestamp|extract\(epoch from now\(\)\)/iu, text);
  }
});
