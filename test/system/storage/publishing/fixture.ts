/** Events and webhooks as rows, for tests of publishing. */
import type { PoolClient } from 'pg';
import { v7 } from 'uuid';
import type { EventType } from '../../../../actors/events.ts';
import { writeWebhook } from '../../../../persistence/committer/webhook-rows.ts';
import { channelLeases, placeOf } from '../../../../persistence/publishing/channels.ts';
import { WEBHOOKS_CHANNEL } from '../../../../persistence/publishing/names.ts';
import { eventsToRoute, routeEvents } from '../../../../persistence/publishing/routing.ts';
import { eventCursor } from '../../../../persistence/reads/events.ts';
import { openedDatabase, type Opened } from '../../../support/database/opened.ts';

/** Two admins. */
export const [ADMIN, OTHER_ADMIN] = [
  'aaaaaaaa-0000-7000-8000-000000000001',
  'aaaaaaaa-0000-7000-8000-000000000002',
] as const;

/** An open database with a channel held under an epoch. */
export interface Held extends Opened {
  readonly epoch: number;
}

/** A database of the test's own, whose channel the first admin holds. */
export async function heldChannel(t: Parameters<typeof openedDatabase>[0], channel: string): Promise<Held> {
  const opened = await openedDatabase(t);
  return { ...opened, epoch: await claimChannel(opened.pool, channel) };
}

/** Takes a channel for an admin, the first unless given: its epoch. It is held as long as the test lasts. */
export async function claimChannel(pool: Opened['pool'], channel: string, admin: string = ADMIN): Promise<number> {
  const epoch = await channelLeases(pool, { adminId: admin }).claim(channel);
  if (epoch === null) throw new Error('the channel is held by another');
  await holdChannels(pool);
  return epoch;
}

/** Whoever has a channel now keeps it: nobody renews leases in these tests. */
export async function holdChannels(pool: Opened['pool']): Promise<void> {
  await pool.query(
    `update event_channel set lease_until = clock_timestamp() + interval '1 hour' where admin_id is not null`,
  );
}

/** Stores an event, at the time that it tells of unless said otherwise, and answers its cursor. */
export async function storeEvent(
  client: Opened['pool'] | PoolClient,
  subject: string = v7(),
  {
    type = 'edge.core.test',
    data = '{}',
    time = new Date(),
    storedAt = time,
  }: {
    readonly type?: EventType;
    readonly data?: string;
    readonly time?: Date;
    readonly storedAt?: Date | null;
  } = {},
): Promise<string> {
  const {
    rows: [row],
  } = await client.query<{ txid: string; seq: string }>(
    `insert into event (id, type, subject, time, data, stored_at) values (gen_random_uuid(), $2, $1, $3, $4, $5) returning txid::text as txid, seq::text as seq`,
    [subject, type, time, data, storedAt],
  );
  if (row === undefined) throw new Error('no event was stored');
  return eventCursor(row.txid, row.seq);
}

/** Stores a webhook as the committer does. */
export async function storeWebhook(
  { orm }: Opened,
  types: readonly EventType[] = ['edge.core.test'],
  id: string = v7(),
): Promise<string> {
  await orm.em.fork().transactional((em) =>
    writeWebhook(
      em,
      {
        kind: 'webhook-created',
        id,
        url: 'https://receiver.test/',
        subscribedEvents: types,
        sealedSecret: 's',
        sealedHeaders: 'h',
        atMs: Date.now(),
      },
      ADMIN,
    ),
  );
  return id;
}

/** Deletes a webhook as the committer does. */
export async function deleteWebhook({ orm }: Opened, id: string): Promise<void> {
  await orm.em.fork().transactional((em) => writeWebhook(em, { kind: 'webhook-deleted', id }, ADMIN));
}

/**
 * Makes the deliveries of events that are there, as many as one round takes, but for these webhooks. Null: the channel
 * is not held under this epoch any more.
 */
export async function route({ pool, epoch }: Pick<Held, 'epoch' | 'pool'>, followers: readonly string[] = []) {
  const from = await placeOf(pool, WEBHOOKS_CHANNEL, epoch, true);
  if (from === null) return null;
  const { events, more, unsettled } = await eventsToRoute(pool, from, 10_000);
  const last = events.at(-1);
  if (last === undefined) return { webhooks: [], more, unsettled };
  const to = { txid: last.txid, seq: last.seq };
  const routed = await routeEvents(pool, epoch, { from, to, followers }, 3);
  if (routed === null) return null;
  return { webhooks: routed.webhooks, more: more || routed.place.seq !== to.seq, unsettled };
}

/** Cursors of the deliveries of a webhook, in the order in which they were stored. */
export async function deliveriesOf({ pool }: Opened, webhook: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ txid: string; seq: string }>(
    'select event_txid::text as txid, event_seq::text as seq from webhook_delivery where webhook_id = $1 order by ctid',
    [webhook],
  );
  return rows.map(({ txid, seq }) => eventCursor(txid, seq));
}

/** A transaction that stays open until it is committed. */
export async function openTransaction({
  pool,
}: Opened): Promise<{ readonly client: PoolClient; readonly commit: () => Promise<void> }> {
  const client = await pool.connect();
  await client.query('begin');
  await client.query('set local idle_in_transaction_session_timeout = 0');
  return {
    client,
    commit: async () => {
      await client.query('commit');
      client.release();
    },
  };
}
