/** Which admin serves a channel, by the database's clock. */
import test from 'ava';
import { CHANNEL_LEASE_MS, channelLeases, placeOf } from '../../../../persistence/publishing/channels.ts';
import { BROKER_CHANNEL, WEBHOOKS_CHANNEL } from '../../../../persistence/publishing/names.ts';
import { openedDatabase, type Opened } from '../../../support/database/opened.ts';
import { ADMIN, claimChannel, holdChannels, openTransaction, OTHER_ADMIN, storeEvent } from './fixture.ts';

async function openChannels(t: Parameters<typeof openedDatabase>[0]) {
  const opened = await openedDatabase(t);
  return {
    ...opened,
    mine: channelLeases(opened.pool, { adminId: ADMIN }),
    theirs: channelLeases(opened.pool, { adminId: OTHER_ADMIN }),
  };
}

/** By the clock of the database, in ms. */
async function nowMs({ pool }: Opened): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return rows[0]?.ms ?? Number.NaN;
}

const expire = ({ pool }: Opened) =>
  pool.query(`update event_channel set lease_until = clock_timestamp() - interval '1 ms'`);

test('a channel is served by one admin at a time, whoever comes first', async (t) => {
  const { mine, theirs, ...opened } = await openChannels(t);
  // A lease lasts as long as the test does: the channel must not be free again before the last of them asks.
  await opened.pool.query(
    "create function last() returns trigger language plpgsql as $$ begin new.lease_until := clock_timestamp() + interval '1 hour'; return new; end $$",
  );
  await opened.pool.query(
    'create trigger lasts before insert or update on event_channel for each row when (new.admin_id is not null) execute function last()',
  );
  const admins = Array.from({ length: 4 }, (_, admin) =>
    channelLeases(opened.pool, { adminId: `aaaaaaaa-0000-7000-8000-00000000001${admin}` }),
  );

  for (const channel of [WEBHOOKS_CHANNEL, BROKER_CHANNEL]) {
    const epochs = await Promise.all(admins.map((admin) => admin.claim(channel)));
    t.is(epochs.filter((epoch) => epoch !== null).length, 1, channel);
  }
  await holdChannels(opened.pool);
  t.deepEqual([await mine.claim(WEBHOOKS_CHANNEL), await theirs.claim(WEBHOOKS_CHANNEL)], [null, null]);
});

test('its admin holds it as long as it renews, and another takes it when the lease ran out', async (t) => {
  const { mine, theirs, ...opened } = await openChannels(t);
  const epoch = (await mine.claim(WEBHOOKS_CHANNEL))!;
  const beforeMs = await nowMs(opened);
  t.true(await mine.renew(WEBHOOKS_CHANNEL, epoch));
  const {
    rows: [{ ms } = { ms: 0 }],
  } = await opened.pool.query<{ ms: number }>(
    'select (extract(epoch from lease_until) * 1000)::float8 as ms from event_channel where name = $1',
    [WEBHOOKS_CHANNEL],
  );
  t.true(ms >= beforeMs + CHANNEL_LEASE_MS && ms <= (await nowMs(opened)) + CHANNEL_LEASE_MS);
  await holdChannels(opened.pool);
  t.is(await theirs.claim(WEBHOOKS_CHANNEL), null);

  await expire(opened);
  const taken = await theirs.claim(WEBHOOKS_CHANNEL);

  t.true(taken !== null && taken > epoch);
  await holdChannels(opened.pool);
  t.deepEqual(
    [
      await mine.renew(WEBHOOKS_CHANNEL, epoch),
      await mine.claim(WEBHOOKS_CHANNEL),
      await theirs.renew(WEBHOOKS_CHANNEL, taken!),
    ],
    [false, null, true],
  );
  await mine.release(WEBHOOKS_CHANNEL, epoch);
  t.true(await theirs.renew(WEBHOOKS_CHANNEL, taken!)); // what is not held cannot be given back
});

test('a restarted admin takes its own channel at once under a new epoch, under which the old process may do nothing', async (t) => {
  const { mine, pool } = await openChannels(t);
  const epoch = (await mine.claim(WEBHOOKS_CHANNEL))!;

  const again = await claimChannel(pool, WEBHOOKS_CHANNEL);

  t.true(again > epoch);
  t.false(await mine.renew(WEBHOOKS_CHANNEL, epoch));
  t.is(await placeOf(pool, WEBHOOKS_CHANNEL, epoch, false), null);
  t.not(await placeOf(pool, WEBHOOKS_CHANNEL, again, false), null);
});

test('one that is given back is free at once', async (t) => {
  const { mine, theirs, pool } = await openChannels(t);
  const epoch = (await mine.claim(WEBHOOKS_CHANNEL))!;

  await mine.release(WEBHOOKS_CHANNEL, epoch);

  t.is(await placeOf(pool, WEBHOOKS_CHANNEL, epoch, false), null);
  t.true((await theirs.claim(WEBHOOKS_CHANNEL))! > epoch);
});

test('a new channel begins at the end of the events, and keeps its place over changes of hands', async (t) => {
  const opened = await openedDatabase(t);
  await storeEvent(opened.pool);
  const running = await openTransaction(opened);
  await storeEvent(running.client);

  const epoch = await claimChannel(opened.pool, BROKER_CHANNEL);
  const place = await placeOf(opened.pool, BROKER_CHANNEL, epoch, false);
  await running.commit();
  await expire(opened);
  const taken = await claimChannel(opened.pool, BROKER_CHANNEL, OTHER_ADMIN);

  t.deepEqual(await placeOf(opened.pool, BROKER_CHANNEL, taken, false), place);
  const { rows } = await opened.pool.query(
    'select from event e, event_channel c where c.name = $1 and (e.txid, e.seq) > (c.txid, c.seq)',
    [BROKER_CHANNEL],
  );
  t.is(rows.length, 1); // that of the transaction that still ran
});
