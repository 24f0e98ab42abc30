/**
 * Actors of webhooks on a real database: what they deliver, and what becomes of it after doubts, crashes, takeovers and
 * deletion.
 */
import ava from 'ava';
import { v7 } from 'uuid';
import type { ReplyTo } from '../../../actors/reply-to.ts';
import { MAILBOX_MESSAGES_MAX } from '../../../actors/limits.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { WebhookMessage } from '../../../actors/webhook/messages.ts';
import { answered, FAILED } from '../../support/webhook-actor.ts';
import { until } from '../../support/until.ts';
import { plantGrove, type Grove } from './fixture.ts';
import type { Committer } from '../../../supervisors/ports.ts';

const { serial: test } = ava; // a database and a tree each

/**
 * A commit whose outcome nobody knows: once, when armed, it is stored or not, and the committer says that it cannot
 * tell.
 */
function doubtful() {
  const doubt: { armed: 'not stored' | 'stored' | null } = { armed: null };
  const wrap = (real: Committer): Committer => ({
    ready: () => real.ready(),
    async commit(lease, changes) {
      const { armed } = doubt;
      if (armed === null) return real.commit(lease, changes);
      doubt.armed = null;
      if (armed === 'stored') await real.commit(lease, changes);
      throw new DatabaseUnavailable('nobody knows');
    },
  });
  return { doubt, wrap };
}

const tell = (grove: Grove, webhook: string, message: WebhookMessage = { type: 'deliveries-stored' }) =>
  grove.tree.directory.tell({ to: { kind: 'webhook', id: webhook }, message });

const redeliver = async (grove: Grove, webhook: string, delivery: string) => {
  const [row] = await grove.rows<{ event_id: string; attempt_count: number }>(
    'select event_id, attempt_count from webhook_delivery where id = $1',
    [delivery],
  );
  return grove.tree.ask((replyTo: ReplyTo) => ({
    to: { kind: 'webhook', id: webhook },
    message: {
      type: 'redeliver',
      replyTo,
      delivery: {
        id: delivery,
        cursor: '1-1',
        eventId: row?.event_id ?? '',
        subject: v7(),
        attempts: row?.attempt_count ?? 0,
        attemptsMax: 3,
        dueAtMs: null,
      },
    },
  }));
};

/** Status and tries of deliveries, in order. */
async function stored(grove: Grove): Promise<readonly string[]> {
  const rows = await grove.rows<{ status: string; attempt_count: number; tries: number }>(
    `select status, attempt_count, (select count(*)::int from webhook_attempt a where a.delivery_id = d.id) as tries from webhook_delivery d order by event_txid, event_seq`,
  );
  return rows.map(({ status, attempt_count, tries }) => `${status} ${attempt_count} ${tries}`);
}

const posted = (grove: Grove, count: number) =>
  until(`${count} posts`, () => grove.webhookSender.posted.length >= count);

test('deliveries are posted, each try is stored, and the next of the same subject follows', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  const subject = v7();
  const [first, second] = [
    await grove.storeDelivery(webhook, { subject }),
    await grove.storeDelivery(webhook, { subject }),
  ];

  tell(grove, webhook);
  await posted(grove, 1);
  grove.webhookSender.posted[0]?.end(answered(503));
  await posted(grove, 2);
  t.deepEqual(await stored(grove), ['pending 1 1', 'pending 0 0']);
  grove.webhookSender.posted[1]?.end(answered(200));
  await posted(grove, 3);
  grove.webhookSender.posted[2]?.end(answered(410));
  await until('both are over', async () => (await stored(grove)).every((one) => !one.startsWith('pending')));

  t.deepEqual(await stored(grove), ['delivered 2 2', 'dropped 1 1']);
  t.deepEqual(
    grove.webhookSender.posted.map(({ delivery }) => delivery.id),
    [first, first, second],
  );
});

for (const armed of ['stored', 'not stored'] as const) {
  test(`a try whose commit is in doubt, and was ${armed}, is counted once, and its delivery goes on`, async (t) => {
    const { doubt, wrap } = doubtful();
    const grove = await plantGrove(t, { committer: wrap });
    const webhook = await grove.createWebhook();
    await grove.storeDelivery(webhook);
    tell(grove, webhook);
    await posted(grove, 1);

    doubt.armed = armed;
    grove.webhookSender.posted[0]?.end(FAILED);
    await posted(grove, 2);
    t.deepEqual(await stored(grove), ['pending 1 1']);
    grove.webhookSender.posted[1]?.end(answered(204));
    await until('it is over', async () => (await stored(grove))[0]?.startsWith('delivered'));

    t.deepEqual(await stored(grove), ['delivered 2 2']);
    t.is(grove.webhookSender.posted.length, 2);
  });

  test(`sending again whose commit is in doubt, and was ${armed}, is refused for now, and happens if it was stored`, async (t) => {
    const { doubt, wrap } = doubtful();
    const grove = await plantGrove(t, { committer: wrap });
    const webhook = await grove.createWebhook();
    const delivery = await grove.storeDelivery(webhook, { status: 'dropped', attempts: 3 });

    doubt.armed = armed;
    const asked = await redeliver(grove, webhook, delivery);
    t.like(asked, { ok: false, refusal: { code: 'service_unavailable' } });
    if (armed === 'not stored') t.deepEqual(await redeliver(grove, webhook, delivery), { ok: true, value: null });
    await posted(grove, 1);
    grove.webhookSender.posted[0]?.end(FAILED);
    await until('it is over', async () => (await stored(grove))[0]?.startsWith('dropped'));

    t.deepEqual(await stored(grove), ['dropped 4 1']);
  });

  test(`a creation in doubt that was ${armed} is refused for now, and the webhook is what its row says`, async (t) => {
    const { doubt, wrap } = doubtful();
    const grove = await plantGrove(t, { committer: wrap });

    doubt.armed = armed;
    await t.throwsAsync(grove.createWebhook(), { message: /service_unavailable/u });
    const [row] = await grove.rows<{ id: string }>('select id from webhook');
    t.is(row !== undefined, armed === 'stored');
    if (row !== undefined) {
      await grove.storeDelivery(row.id);
      tell(grove, row.id);
      await posted(grove, 1);
    }

    await until('the others are gone', () => grove.tree.directory.count('webhook') === (row === undefined ? 0 : 1));
    t.pass();
  });
}

test('what comes of a post is heard also when the mailbox was full', async (t) => {
  let store = (): void => {};
  const held = new Promise<void>((resolve) => {
    store = resolve;
  });
  let isHeld = false;
  const grove = await plantGrove(t, {
    committer: (real) => ({
      ready: () => real.ready(),
      async commit(lease, changes) {
        if (isHeld) await held;
        return real.commit(lease, changes);
      },
    }),
  });
  const webhook = await grove.createWebhook();
  await grove.storeDelivery(webhook);
  await grove.storeDelivery(webhook);
  tell(grove, webhook);
  await posted(grove, 2);

  isHeld = true;
  grove.webhookSender.posted[0]?.end(answered(200));
  await until('it is full', () =>
    Array.from({ length: MAILBOX_MESSAGES_MAX + 1 }, () => tell(grove, webhook)).includes(false),
  );
  const { deadLetters } = grove.tree.directory.counters;
  grove.webhookSender.posted[1]?.end(answered(200));
  await until('the news found no room', () => grove.tree.directory.counters.deadLetters > deadLetters);
  store();
  await until('both are over', async () => (await stored(grove)).every((one) => one === 'delivered 1 1'));

  t.is(grove.webhookSender.posted.length, 2);
});

test('a try that another admin counted first is not counted again, and the delivery goes on from its row', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  const delivery = await grove.storeDelivery(webhook);
  tell(grove, webhook);
  await posted(grove, 1);
  await grove.rows(
    `with other as (update webhook_delivery set attempt_count = 1, next_attempt_at = now() where id = $1 returning id)
    insert into webhook_attempt select id, 1, now(), 1, 503, null, 'theirs' from other`,
    [delivery],
  );

  grove.webhookSender.posted[0]?.end(answered(500));
  await posted(grove, 2);
  t.is(grove.webhookSender.posted[1]?.delivery.attempts, 1);
  grove.webhookSender.posted[1]?.end(answered(200));
  await until('it is over', async () => (await stored(grove))[0]?.startsWith('delivered'));

  t.deepEqual(await stored(grove), ['delivered 2 2']);
});

test('sending again is refused while another try is counted, wherever the delivery is', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  const delivery = await grove.storeDelivery(webhook, { status: 'pending' });

  t.like(await redeliver(grove, webhook, delivery), { ok: false, refusal: { code: 'conflict' } });

  t.deepEqual(
    (await stored(grove)).map((one) => one.split(' ')[0]),
    ['pending'],
  );
});

test('after a takeover what was under way is cut, and what comes of it is no news to anyone', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  await grove.storeDelivery(webhook);
  tell(grove, webhook);
  await posted(grove, 1);

  grove.tree.directory.evictWebhooks();
  t.deepEqual([grove.webhookSender.cuts, grove.tree.directory.count('webhook')], [[webhook], 0]);
  grove.webhookSender.posted[0]?.end(answered(200));
  tell(grove, webhook); // it is ours again
  await posted(grove, 2);

  t.deepEqual(await stored(grove), ['pending 0 0']);
});

test('deleting it cuts what is under way, takes its deliveries, and leaves nobody behind; a second time there is nothing', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  await grove.storeDelivery(webhook);
  tell(grove, webhook);
  await posted(grove, 1);
  const remove = () =>
    grove.tree.ask<null>((replyTo) => ({ to: { kind: 'webhook', id: webhook }, message: { type: 'delete', replyTo } }));

  const first = await remove();
  const cuts = [...grove.webhookSender.cuts];
  grove.webhookSender.posted[0]?.end(answered(200));
  const second = await remove();

  t.deepEqual([first, cuts], [{ ok: true, value: null }, [webhook]]);
  t.like(second, { ok: false, refusal: { code: 'not_found' } });
  t.deepEqual(await stored(grove), []);
  await until('nobody is left', () => grove.tree.directory.count('webhook') === 0);
  t.is(grove.webhookSender.posted.length, 1);
});

test('a deletion whose commit is in doubt, and was stored, cuts what is under way', async (t) => {
  const { doubt, wrap } = doubtful();
  const grove = await plantGrove(t, { committer: wrap });
  const webhook = await grove.createWebhook();
  await grove.storeDelivery(webhook);
  tell(grove, webhook);
  await posted(grove, 1);

  doubt.armed = 'stored';
  const asked = await grove.tree.ask<null>((replyTo) => ({
    to: { kind: 'webhook', id: webhook },
    message: { type: 'delete', replyTo },
  }));
  await until('it is gone', () => grove.tree.directory.count('webhook') === 0);

  t.like(asked, { ok: false, refusal: { code: 'service_unavailable' } });
  t.deepEqual(grove.webhookSender.cuts, [webhook]);
});

test('one that another admin deleted is told by its next write, and ends', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  await grove.storeDelivery(webhook);
  tell(grove, webhook);
  await posted(grove, 1);
  await grove.rows('delete from webhook_delivery');
  await grove.rows('delete from webhook');

  grove.webhookSender.posted[0]?.end(answered(500));
  await until('it is gone', () => grove.tree.directory.count('webhook') === 0);

  t.is(grove.webhookSender.posted.length, 1);
});

test('far more deliveries than a window holds are all posted, in order of each subject', async (t) => {
  const grove = await plantGrove(t);
  const webhook = await grove.createWebhook();
  const subjects = [v7(), v7(), v7()];
  await grove.rows(
    `with e as (insert into event (id, type, subject, time, data) select gen_random_uuid(), 'edge.core.test', ($2::uuid[])[1 + n % 3], now(), '{}' from generate_series(1, 400) as n returning *)
    insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, attempts_max, inserted_at, updated_at) select $1, txid, seq, id, type, subject, 3, now(), now() from e`,
    [webhook, subjects],
  );

  tell(grove, webhook);
  for (let count = 1; count <= 400; count += 1) {
    await posted(grove, count);
    grove.webhookSender.posted[count - 1]?.end(answered(200));
  }
  await until(
    'all are over',
    async () => (await grove.rows(`select from webhook_delivery where status = 'pending'`)).length === 0,
  );

  t.is(grove.webhookSender.posted.length, 400);
  for (const subject of subjects) {
    const seqs = grove.webhookSender.posted
      .filter(({ delivery }) => delivery.subject === subject)
      .map(({ delivery }) => Number(delivery.cursor.split('-')[1]));
    t.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
  }
});
