/** Webhooks and deliveries as they are read: by their actor, by clients, and by who wants one to be sent again. */
import test from 'ava';
import { createLoader } from '../../../persistence/loader/loader.ts';
import { unfinishedDeliveries } from '../../../persistence/loader/webhooks.ts';
import { WEBHOOKS_CHANNEL } from '../../../persistence/publishing/names.ts';
import {
  deleteWebhook,
  deliveriesOf,
  heldChannel,
  openTransaction,
  route,
  storeEvent,
  storeWebhook,
} from './publishing/fixture.ts';
import { column } from '../../support/database/columns.ts';

/** A webhook with so many deliveries of events of one transaction. */
async function openDeliveries(t: Parameters<typeof heldChannel>[0], events: number) {
  const opened = await heldChannel(t, WEBHOOKS_CHANNEL);
  const webhook = await storeWebhook(opened, ['edge.core.test', 'edge.node.registered']);
  const { client, commit } = await openTransaction(opened);
  for (let event = 0; event < events; event += 1) await storeEvent(client);
  await commit();
  await route(opened);
  const cursors = await deliveriesOf(opened, webhook);
  return { ...opened, webhook, cursors, loader: createLoader(opened.pool) };
}

test('a webhook comes back from its row with nothing loaded, and null when there is none', async (t) => {
  const { loader, webhook } = await openDeliveries(t, 1);

  const state = await loader.webhook(webhook);

  t.like(state, { id: webhook, window: [], loadedTo: null, supply: 'unloaded' });
  t.like(state?.record, {
    id: webhook,
    url: 'https://receiver.test/',
    subscribedEvents: ['edge.core.test', 'edge.node.registered'],
    sealedSecret: 's',
    sealedHeaders: 'h',
  });
  t.is(await loader.webhook(crypto.randomUUID()), null);
});

test('unfinished deliveries are loaded in the order of their events, a few at a time, without those that are finished', async (t) => {
  const { pool, webhook, cursors } = await openDeliveries(t, 25);
  t.is(cursors.length, 25);
  await pool.query(`update webhook_delivery set status = 'delivered', attempt_count = 1 where event_seq % 5 = 0`);
  await pool.query(
    `update webhook_delivery set attempt_count = 2, next_attempt_at = '2026-01-01T00:00:09Z' where event_seq % 5 = 1`,
  );

  const loaded = [];
  for (let after: string | null = null; ;) {
    const { deliveries, more } = await unfinishedDeliveries(pool, webhook, after, 3);
    loaded.push(...deliveries);
    after = deliveries.at(-1)?.cursor ?? null;
    if (!more) break;
    t.is(deliveries.length, 3);
  }

  const open = cursors.filter((cursor) => Number(cursor.split('-')[1]) % 5 !== 0);
  t.deepEqual(column(loaded, 'cursor'), open);
  for (const { cursor, attempts, attemptsMax, dueAtMs } of loaded) {
    const wasTried = Number(cursor.split('-')[1]) % 5 === 1;
    t.deepEqual(
      { attempts, attemptsMax, dueAtMs },
      { attempts: wasTried ? 2 : 0, attemptsMax: 3, dueAtMs: wasTried ? Date.UTC(2026, 0, 1, 0, 0, 9) : null },
    );
  }
});

test('a single delivery tells of its tries, oldest first; a list does not', async (t) => {
  const { pool, reads } = await openDeliveries(t, 1);
  const {
    rows: [{ id } = { id: '' }],
  } = await pool.query<{ id: string }>('select id from webhook_delivery');
  await pool.query(
    `insert into webhook_attempt values ($1, 2, '2026-01-01T00:00:02Z', 7, 204, null, 'ok'), ($1, 1, '2026-01-01T00:00:01Z', 9, null, 'The connection was refused.', null)`,
    [id],
  );

  const single = await reads.get('webhook_deliveries', id);
  const {
    rows: [listed],
  } = await reads.list('webhook_deliveries', { filters: [], sort: [], page: 1, pageSize: 9 });

  t.deepEqual(single?.attempts, [
    {
      number: 1,
      attempted_at: '2026-01-01T00:00:01.000Z',
      duration_ms: 9,
      status_code: null,
      error: 'The connection was refused.',
      response_body: null,
    },
    {
      number: 2,
      attempted_at: '2026-01-01T00:00:02.000Z',
      duration_ms: 7,
      status_code: 204,
      error: null,
      response_body: 'ok',
    },
  ]);
  t.false('attempts' in (listed ?? {}));
});

test('a delivery is found for a retry as its actor holds it, also without its event, until it or its webhook is gone', async (t) => {
  const { pool, reads, webhook, ...opened } = await openDeliveries(t, 2);
  const {
    deliveries: [first, second],
  } = await unfinishedDeliveries(pool, webhook, null, 2);

  t.deepEqual(await reads.delivery(first!.id), { webhook, ref: first!, hasEvent: true });
  t.is(await reads.delivery(crypto.randomUUID()), null);
  await pool.query('delete from event where id = $1', [first!.eventId]);
  t.deepEqual(await reads.delivery(first!.id), { webhook, ref: first!, hasEvent: false });
  await deleteWebhook({ pool, reads, ...opened }, webhook);
  t.is(await reads.delivery(second!.id), null);
});
