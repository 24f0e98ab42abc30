/** Events become deliveries: each once, in order, none forgotten and none for what came before (V1, V2). */
import test from 'ava';
import { deliveryId } from '../../../../actors/webhook/delivery-id.ts';
import { placeOf } from '../../../../persistence/publishing/channels.ts';
import { EVENTS_STORED, WEBHOOKS_CHANNEL } from '../../../../persistence/publishing/names.ts';
import { eventsToRoute, routeEvents, webhooksWithDeliveries } from '../../../../persistence/publishing/routing.ts';
import {
  claimChannel,
  deleteWebhook,
  deliveriesOf,
  heldChannel,
  openTransaction,
  OTHER_ADMIN,
  route,
  storeEvent,
  storeWebhook,
  type Held,
} from './fixture.ts';
import { recordedStatements } from '../../../support/database/statements.ts';
import { storeEvents } from '../../../support/database/stored-rows.ts';
import { until } from '../../../support/until.ts';

const held = (t: Parameters<typeof heldChannel>[0]) => heldChannel(t, WEBHOOKS_CHANNEL);

async function routeAll(fixture: Held): Promise<number> {
  for (let rounds = 1; ; rounds += 1) {
    const routed = await route(fixture);
    if (routed === null) throw new Error('the channel is held no more');
    if (!routed.more) return rounds;
  }
}

test('a service without webhooks is asked one thing, and the first one gets what is stored after it', async (t) => {
  const fixture = await held(t);
  const { pool, statements } = recordedStatements(fixture.pool);
  await storeEvent(fixture.pool);

  t.deepEqual(await eventsToRoute(pool, { txid: '0', seq: '0' }, 10), {
    events: [],
    webhooks: [],
    more: false,
    unsettled: false,
  });
  t.is(statements.length, 1);

  const webhook = await storeWebhook(fixture);
  const event = await storeEvent(fixture.pool);
  await routeAll(fixture);
  t.deepEqual(await deliveriesOf(fixture, webhook), [event]);
});

test('the first webhook has the channel look once more at what was stored while it was made, and no other one does', async (t) => {
  const fixture = await held(t);
  const listener = await fixture.pool.connect();
  t.teardown(() => listener.release(true));
  const heard: string[] = [];
  listener.on('notification', ({ channel }) => heard.push(channel));
  await listener.query(`listen ${EVENTS_STORED}`);

  await storeWebhook(fixture);
  await until('it to be told', () => heard.length > 0);
  await storeWebhook(fixture);
  await fixture.pool.query(`notify ${EVENTS_STORED}`);
  await until('what came behind the other', () => heard.length > 1);

  t.is(heard.length, 2);
});

test('each event makes one delivery for each webhook that subscribed to its type before it, in order', async (t) => {
  const fixture = await held(t);
  await storeEvent(fixture.pool);
  const one = await storeWebhook(fixture, ['edge.core.test', 'edge.node.registered']);
  const first = [
    await storeEvent(fixture.pool),
    await storeEvent(fixture.pool, undefined, { type: 'edge.node.registered' }),
    await storeEvent(fixture.pool, undefined, { type: 'edge.node.reregistered' }),
  ] as const;
  const two = await storeWebhook(fixture);
  const none = await storeWebhook(fixture, ['edge.ssh_username.verified']);
  const second = await storeEvent(fixture.pool);

  const routed = await route(fixture);
  const again = await route(fixture);

  t.deepEqual(
    { ...routed, webhooks: routed?.webhooks.toSorted() },
    { webhooks: [one, two].toSorted(), more: false, unsettled: false },
  );
  t.deepEqual(again, { webhooks: [], more: false, unsettled: false });
  t.deepEqual(
    [await deliveriesOf(fixture, one), await deliveriesOf(fixture, two), await deliveriesOf(fixture, none)],
    [[first[0], first[1], second], [second], []],
  );
  t.deepEqual((await webhooksWithDeliveries(fixture.pool)).toSorted(), [one, two].toSorted());
  const { rows } = await fixture.pool.query(
    `select distinct status, attempt_count, attempts_max, next_attempt_at from webhook_delivery`,
  );
  t.deepEqual(rows, [{ status: 'pending', attempt_count: 0, attempts_max: 3, next_attempt_at: null }]);
});

test('the order is that of numbers: the tenth event of a transaction comes after the ninth', async (t) => {
  const fixture = await held(t);
  const webhook = await storeWebhook(fixture);
  const { client, commit } = await openTransaction(fixture);
  const cursors: string[] = [];
  for (let event = 0; event < 25; event += 1) cursors.push(await storeEvent(client));
  await commit();

  await routeAll(fixture);

  t.deepEqual(await deliveriesOf(fixture, webhook), cursors);
});

test('an event whose transaction commits late is not lost, and what is newer waits for it', async (t) => {
  const fixture = await held(t);
  const webhook = await storeWebhook(fixture);
  const early = await storeEvent(fixture.pool);
  const slow = await openTransaction(fixture);
  const late = await storeEvent(slow.client);
  const newer = await storeEvent(fixture.pool);

  const before = await route(fixture);
  t.deepEqual(
    [before, await deliveriesOf(fixture, webhook)],
    [{ webhooks: [webhook], more: false, unsettled: true }, [early]],
  );
  t.like(await route(fixture), { webhooks: [], unsettled: true });
  await slow.commit();

  t.deepEqual(await route(fixture), { webhooks: [webhook], more: false, unsettled: false });
  t.deepEqual(await deliveriesOf(fixture, webhook), [early, late, newer]);
});

test('a webhook gets events of transactions that began after its own, whichever commits first', async (t) => {
  const fixture = await held(t);
  await storeWebhook(fixture, ['edge.node.registered']); // so that the channel is followed
  const older = await openTransaction(fixture);
  const before = await storeEvent(older.client);
  const webhook = await storeWebhook(fixture);
  const after = await storeEvent(fixture.pool);
  await older.commit();

  await routeAll(fixture);

  t.deepEqual(await deliveriesOf(fixture, webhook), [after]);
  t.not(before, after);
});

test('two that route at once store nothing twice and leave nothing out', async (t) => {
  const fixture = await held(t);
  const webhook = await storeWebhook(fixture);
  const cursors: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    cursors.push(await storeEvent(fixture.pool));
    await Promise.all([
      route(fixture),
      route(fixture),
      storeEvent(fixture.pool).then((cursor) => cursors.push(cursor)),
      route(fixture),
    ]);
  }
  await routeAll(fixture);

  t.deepEqual(await deliveriesOf(fixture, webhook), cursors);
});

test('whoever lost the channel routes nothing: under an old epoch, and after its lease ran out (O1)', async (t) => {
  const fixture = await held(t);
  const webhook = await storeWebhook(fixture);
  const event = await storeEvent(fixture.pool);
  await fixture.pool.query(`update event_channel set lease_until = clock_timestamp() - interval '1 ms'`);

  t.is(await route(fixture), null);
  const epoch = await claimChannel(fixture.pool, WEBHOOKS_CHANNEL, OTHER_ADMIN);
  t.is(await route(fixture), null);
  t.deepEqual(await deliveriesOf(fixture, webhook), []);

  t.like(await route({ ...fixture, epoch }), { webhooks: [webhook] });
  t.deepEqual(await deliveriesOf(fixture, webhook), [event]);
});

test('a takeover waits for the round that is under way, and goes on behind it', async (t) => {
  const fixture = await held(t);
  const webhook = await storeWebhook(fixture);
  const cursors = [await storeEvent(fixture.pool), await storeEvent(fixture.pool)];

  const [, epoch] = await Promise.all([route(fixture), claimChannel(fixture.pool, WEBHOOKS_CHANNEL)]);
  await routeAll({ ...fixture, epoch });

  t.deepEqual(await deliveriesOf(fixture, webhook), cursors);
});

test('while there is no webhook nothing is followed, and the first one begins at itself, also after others were deleted', async (t) => {
  const fixture = await held(t);
  await storeEvent(fixture.pool);
  t.deepEqual(await route(fixture), { webhooks: [], more: false, unsettled: false });
  const one = await storeWebhook(fixture);
  await deleteWebhook(fixture, one);
  for (let event = 0; event < 20; event += 1) await storeEvent(fixture.pool);

  const two = await storeWebhook(fixture);
  const {
    rows: [place],
  } = await fixture.pool.query('select c.txid = w.txid as "atItself" from event_channel c, webhook w where w.id = $1', [
    two,
  ]);
  const event = await storeEvent(fixture.pool);
  await routeAll(fixture);

  t.deepEqual(place, { atItself: true });
  t.deepEqual(await deliveriesOf(fixture, two), [event]);
});

test('many events go in rounds, each bounded, fewer the more webhooks there are', async (t) => {
  const fixture = await held(t);
  const webhooks = [];
  for (let count = 0; count < 40; count += 1) webhooks.push(await storeWebhook(fixture));
  await storeEvents(fixture.pool, 1_200);

  const first = await route(fixture);
  const {
    rows: [{ count } = { count: 0 }],
  } = await fixture.pool.query<{ count: number }>('select count(*)::int as count from webhook_delivery');
  t.deepEqual([first?.more, first?.webhooks.length, count], [true, 40, 20_000]);
  const rounds = await routeAll(fixture);

  t.is(rounds, 2);
  const { rows } = await fixture.pool.query<{ n: number }>(
    'select count(*)::int as n from webhook_delivery group by webhook_id',
  );
  t.deepEqual(new Set(rows.map(({ n }) => n)), new Set([1_200]));
});

test('ids of deliveries are version 7, in the order of time', async (t) => {
  const fixture = await held(t);
  await storeWebhook(fixture);
  const beganMs = Date.now();
  await storeEvent(fixture.pool);
  await routeAll(fixture);

  const {
    rows: [{ id } = { id: '' }],
  } = await fixture.pool.query<{ id: string }>('select id from webhook_delivery');

  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u);
  const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  t.true(ms >= beganMs - 1_000 && ms <= Date.now() + 1_000);
});

test('an id is made of webhook and event, here as there, so that a delivery that has its row is made no second time', async (t) => {
  const fixture = await held(t);
  const webhook = await storeWebhook(fixture);
  for (let event = 0; event < 3; event += 1) await storeEvent(fixture.pool);
  const { events } = await eventsToRoute(fixture.pool, { txid: '0', seq: '0' }, 10);
  const ids = events.map((event) => deliveryId(webhook, event));
  await fixture.pool.query(
    `insert into webhook_delivery (id, webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, inserted_at, updated_at)
    select $1, $2, txid, seq, id, type, subject, 'delivered', 1, 3, now(), now() from event where seq = $3`,
    [ids[1], webhook, events[1]?.seq],
  );

  await routeAll(fixture);

  const { rows } = await fixture.pool.query('select id, status from webhook_delivery order by event_seq');
  t.deepEqual(
    rows,
    ids.map((id, index) => ({ id, status: index === 1 ? 'delivered' : 'pending' })),
  );
});

test('the channel goes on past events for which webhooks that follow get no rows', async (t) => {
  const fixture = await held(t);
  const [one, two] = [await storeWebhook(fixture), await storeWebhook(fixture)];
  const cursors = [await storeEvent(fixture.pool), await storeEvent(fixture.pool)];

  t.deepEqual(await route(fixture, [one]), { webhooks: [two], more: false, unsettled: false });
  t.deepEqual([await deliveriesOf(fixture, one), await deliveriesOf(fixture, two)], [[], cursors]);
  await storeEvent(fixture.pool);
  t.deepEqual(await route(fixture, [one, two]), { webhooks: [], more: false, unsettled: false });
  t.deepEqual(await route(fixture), { webhooks: [], more: false, unsettled: false }, 'it is behind them');
});

test('a move from where the channel is not is none, and says where it is', async (t) => {
  const fixture = await held(t);
  await storeWebhook(fixture);
  await storeEvent(fixture.pool);
  const place = await placeOf(fixture.pool, WEBHOOKS_CHANNEL, fixture.epoch, false);
  const elsewhere = { txid: place!.txid, seq: '77' };

  const routed = await routeEvents(fixture.pool, fixture.epoch, { from: elsewhere, to: elsewhere, followers: [] }, 3);

  t.deepEqual(routed, { place: place!, webhooks: [] });
});
