/** Events become deliveries: each once, in order, none forgotten and none for what came before (V1, V2). */
import test from 'ava';
import { channelLeases } from '../../../../persistence/publishing/channels.ts';
import { WEBHOOKS_CHANNEL } from '../../../../persistence/publishing/names.ts';
import { routeEvents, webhooksWithDeliveries } from '../../../../persistence/publishing/routing.ts';
import {
  ADMIN,
  deleteWebhook,
  deliveriesOf,
  heldChannel,
  openTransaction,
  OTHER_ADMIN,
  storeEvent,
  storeWebhook,
  type Held,
} from './fixture.ts';

const held = (t: Parameters<typeof heldChannel>[0]) => heldChannel(t, WEBHOOKS_CHANNEL);
const route = ({ pool, epoch }: Pick<Held, 'epoch' | 'pool'>) => routeEvents(pool, epoch, 3);

async function routeAll(world: Held): Promise<number> {
  for (let rounds = 1; ; rounds += 1) if ((await route(world))?.more !== true) return rounds;
}

test('each event makes one delivery for each webhook that subscribed to its type before it, in order', async (t) => {
  const world = await held(t);
  await storeEvent(world.pool);
  const one = await storeWebhook(world, ['edge.core.test', 'edge.node.registered']);
  const first = [
    await storeEvent(world.pool),
    await storeEvent(world.pool, undefined, { type: 'edge.node.registered' }),
    await storeEvent(world.pool, undefined, { type: 'edge.node.reregistered' }),
  ] as const;
  const two = await storeWebhook(world);
  const none = await storeWebhook(world, ['edge.ssh_username.verified']);
  const second = await storeEvent(world.pool);

  const routed = await route(world);
  const again = await route(world);

  t.deepEqual(
    { ...routed, webhooks: routed?.webhooks.toSorted() },
    { webhooks: [one, two].toSorted(), more: false, unsettled: false },
  );
  t.deepEqual(again, { webhooks: [], more: false, unsettled: false });
  t.deepEqual(
    [await deliveriesOf(world, one), await deliveriesOf(world, two), await deliveriesOf(world, none)],
    [[first[0], first[1], second], [second], []],
  );
  t.deepEqual((await webhooksWithDeliveries(world.pool)).toSorted(), [one, two].toSorted());
  const { rows } = await world.pool.query(
    `select distinct status, attempt_count, attempts_max, next_attempt_at from webhook_delivery`,
  );
  t.deepEqual(rows, [{ status: 'pending', attempt_count: 0, attempts_max: 3, next_attempt_at: null }]);
});

test('the order is that of numbers: the tenth event of a transaction comes after the ninth', async (t) => {
  const world = await held(t);
  const webhook = await storeWebhook(world);
  const { client, commit } = await openTransaction(world);
  const cursors: string[] = [];
  for (let event = 0; event < 25; event += 1) cursors.push(await storeEvent(client));
  await commit();

  await routeAll(world);

  t.deepEqual(await deliveriesOf(world, webhook), cursors);
});

test('an event whose transaction commits late is not lost, and what is newer waits for it', async (t) => {
  const world = await held(t);
  const webhook = await storeWebhook(world);
  const early = await storeEvent(world.pool);
  const slow = await openTransaction(world);
  const late = await storeEvent(slow.client);
  const newer = await storeEvent(world.pool);

  const before = await route(world);
  t.deepEqual(
    [before, await deliveriesOf(world, webhook)],
    [{ webhooks: [webhook], more: false, unsettled: true }, [early]],
  );
  t.like(await route(world), { webhooks: [], unsettled: true });
  await slow.commit();

  t.deepEqual(await route(world), { webhooks: [webhook], more: false, unsettled: false });
  t.deepEqual(await deliveriesOf(world, webhook), [early, late, newer]);
});

test('a webhook gets events of transactions that began after its own, whichever commits first', async (t) => {
  const world = await held(t);
  await storeWebhook(world, ['edge.node.registered']); // so that the channel is followed
  const older = await openTransaction(world);
  const before = await storeEvent(older.client);
  const webhook = await storeWebhook(world);
  const after = await storeEvent(world.pool);
  await older.commit();

  await routeAll(world);

  t.deepEqual(await deliveriesOf(world, webhook), [after]);
  t.not(before, after);
});

test('two that route at once store nothing twice and leave nothing out', async (t) => {
  const world = await held(t);
  const webhook = await storeWebhook(world);
  const cursors: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    cursors.push(await storeEvent(world.pool));
    await Promise.all([
      route(world),
      route(world),
      storeEvent(world.pool).then((cursor) => cursors.push(cursor)),
      route(world),
    ]);
  }
  await routeAll(world);

  t.deepEqual(await deliveriesOf(world, webhook), cursors);
});

test('whoever lost the channel routes nothing: under an old epoch, and after its lease ran out (O1)', async (t) => {
  const world = await held(t);
  const webhook = await storeWebhook(world);
  const event = await storeEvent(world.pool);
  await world.pool.query(`update event_channel set lease_until = clock_timestamp() - interval '1 ms'`);

  t.is(await route(world), null);
  const epoch = await channelLeases(world.pool, OTHER_ADMIN).claim(WEBHOOKS_CHANNEL);
  t.is(await route(world), null);
  t.deepEqual(await deliveriesOf(world, webhook), []);

  t.like(await route({ ...world, epoch: epoch ?? 0 }), { webhooks: [webhook] });
  t.deepEqual(await deliveriesOf(world, webhook), [event]);
});

test('a takeover waits for the round that is under way, and goes on behind it', async (t) => {
  const world = await held(t);
  const webhook = await storeWebhook(world);
  const cursors = [await storeEvent(world.pool), await storeEvent(world.pool)];

  const [, epoch] = await Promise.all([route(world), channelLeases(world.pool, ADMIN).claim(WEBHOOKS_CHANNEL)]);
  await routeAll({ ...world, epoch: epoch ?? 0 });

  t.deepEqual(await deliveriesOf(world, webhook), cursors);
});

test('while there is no webhook nothing is followed, and the first one begins at itself, also after others were deleted', async (t) => {
  const world = await held(t);
  await storeEvent(world.pool);
  t.deepEqual(await route(world), { webhooks: [], more: false, unsettled: false });
  const one = await storeWebhook(world);
  await deleteWebhook(world, one);
  for (let event = 0; event < 20; event += 1) await storeEvent(world.pool);

  const two = await storeWebhook(world);
  const {
    rows: [place],
  } = await world.pool.query('select c.txid = w.txid as "atItself" from event_channel c, webhook w where w.id = $1', [
    two,
  ]);
  const event = await storeEvent(world.pool);
  await routeAll(world);

  t.deepEqual(place, { atItself: true });
  t.deepEqual(await deliveriesOf(world, two), [event]);
});

test('many events go in rounds, each bounded, fewer the more webhooks there are', async (t) => {
  const world = await held(t);
  const webhooks = [];
  for (let count = 0; count < 40; count += 1) webhooks.push(await storeWebhook(world));
  await world.pool.query(
    `insert into event (id, type, subject, time, data) select gen_random_uuid(), 'edge.core.test', gen_random_uuid(), now(), '{}' from generate_series(1, 1200)`,
  );

  const first = await route(world);
  const {
    rows: [{ count } = { count: 0 }],
  } = await world.pool.query<{ count: number }>('select count(*)::int as count from webhook_delivery');
  t.deepEqual([first?.more, first?.webhooks.length, count], [true, 40, 20_000]);
  const rounds = await routeAll(world);

  t.is(rounds, 2);
  const { rows } = await world.pool.query<{ n: number }>(
    'select count(*)::int as n from webhook_delivery group by webhook_id',
  );
  t.deepEqual(new Set(rows.map(({ n }) => n)), new Set([1_200]));
});

test('ids of deliveries are version 7, in the order of time', async (t) => {
  const world = await held(t);
  await storeWebhook(world);
  const beganMs = Date.now();
  await storeEvent(world.pool);
  await routeAll(world);

  const {
    rows: [{ id } = { id: '' }],
  } = await world.pool.query<{ id: string }>('select id from webhook_delivery');

  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u);
  const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  t.true(ms >= beganMs - 1_000 && ms <= Date.now() + 1_000);
});
