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
import { startSupervisors, type SupervisorsFixture } from './fixture.ts';
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

const tell = (fixture: SupervisorsFixture, webhook: string, message: WebhookMessage = { type: 'deliveries-stored' }) =>
  fixture.tree.directory.tell({ to: { kind: 'webhook', id: webhook }, message });

const redeliver = async (fixture: SupervisorsFixture, webhook: string, delivery: string) => {
  const [row] = await fixture.rows<{ event_id: string; attempt_count: number }>(
    'select event_id, attempt_count from webhook_delivery where id = $1',
    [delivery],
  );
  return fixture.tree.ask((replyTo: ReplyTo) => ({
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
async function stored(fixture: SupervisorsFixture): Promise<readonly string[]> {
  const rows = await fixture.rows<{ status: string; attempt_count: number; tries: number }>(
    `select status, attempt_count, (select count(*)::int from webhook_attempt a where a.delivery_id = d.id) as tries from webhook_delivery d order by event_txid, event_seq`,
  );
  return rows.map(({ status, attempt_count, tries }) => `${status} ${attempt_count} ${tries}`);
}

const posted = (fixture: SupervisorsFixture, count: number) =>
  until(`${count} posts`, () => fixture.webhookSender.posted.length >= count);

test('deliveries are posted, each try is stored, and the next of the same subject follows', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  const subject = v7();
  const [first, second] = [
    await fixture.storeDelivery(webhook, { subject }),
    await fixture.storeDelivery(webhook, { subject }),
  ];

  tell(fixture, webhook);
  await posted(fixture, 1);
  fixture.webhookSender.posted[0]?.end(answered(503));
  await posted(fixture, 2);
  t.deepEqual(await stored(fixture), ['pending 1 1', 'pending 0 0']);
  fixture.webhookSender.posted[1]?.end(answered(200));
  await posted(fixture, 3);
  fixture.webhookSender.posted[2]?.end(answered(410));
  await until('both are over', async () => (await stored(fixture)).every((one) => !one.startsWith('pending')));

  t.deepEqual(await stored(fixture), ['delivered 2 2', 'dropped 1 1']);
  t.deepEqual(
    fixture.webhookSender.posted.map(({ delivery }) => delivery.id),
    [first, first, second],
  );
});

for (const armed of ['stored', 'not stored'] as const) {
  test(`a try whose commit is in doubt, and was ${armed}, is counted once, and its delivery goes on`, async (t) => {
    const { doubt, wrap } = doubtful();
    const fixture = await startSupervisors(t, { committer: wrap });
    const webhook = await fixture.createWebhook();
    await fixture.storeDelivery(webhook);
    tell(fixture, webhook);
    await posted(fixture, 1);

    doubt.armed = armed;
    fixture.webhookSender.posted[0]?.end(FAILED);
    await posted(fixture, 2);
    t.deepEqual(await stored(fixture), ['pending 1 1']);
    fixture.webhookSender.posted[1]?.end(answered(204));
    await until('it is over', async () => (await stored(fixture))[0]?.startsWith('delivered'));

    t.deepEqual(await stored(fixture), ['delivered 2 2']);
    t.is(fixture.webhookSender.posted.length, 2);
  });

  test(`sending again whose commit is in doubt, and was ${armed}, is refused for now, and happens if it was stored`, async (t) => {
    const { doubt, wrap } = doubtful();
    const fixture = await startSupervisors(t, { committer: wrap });
    const webhook = await fixture.createWebhook();
    const delivery = await fixture.storeDelivery(webhook, { status: 'dropped', attempts: 3 });

    doubt.armed = armed;
    const asked = await redeliver(fixture, webhook, delivery);
    t.like(asked, { ok: false, refusal: { code: 'service_unavailable' } });
    if (armed === 'not stored') t.deepEqual(await redeliver(fixture, webhook, delivery), { ok: true, value: null });
    await posted(fixture, 1);
    fixture.webhookSender.posted[0]?.end(FAILED);
    await until('it is over', async () => (await stored(fixture))[0]?.startsWith('dropped'));

    t.deepEqual(await stored(fixture), ['dropped 4 1']);
  });

  test(`a creation in doubt that was ${armed} is refused for now, and the webhook is what its row says`, async (t) => {
    const { doubt, wrap } = doubtful();
    const fixture = await startSupervisors(t, { committer: wrap });

    doubt.armed = armed;
    await t.throwsAsync(fixture.createWebhook(), { message: /service_unavailable/u });
    const [row] = await fixture.rows<{ id: string }>('select id from webhook');
    t.is(row !== undefined, armed === 'stored');
    if (row !== undefined) {
      await fixture.storeDelivery(row.id);
      tell(fixture, row.id);
      await posted(fixture, 1);
    }

    await until('the others are gone', () => fixture.tree.directory.count('webhook') === (row === undefined ? 0 : 1));
    t.pass();
  });
}

test('what comes of a post is heard also when the mailbox was full', async (t) => {
  let store = (): void => {};
  const held = new Promise<void>((resolve) => {
    store = resolve;
  });
  let isHeld = false;
  const fixture = await startSupervisors(t, {
    committer: (real) => ({
      ready: () => real.ready(),
      async commit(lease, changes) {
        if (isHeld) await held;
        return real.commit(lease, changes);
      },
    }),
  });
  const webhook = await fixture.createWebhook();
  await fixture.storeDelivery(webhook);
  await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await posted(fixture, 2);

  isHeld = true;
  fixture.webhookSender.posted[0]?.end(answered(200));
  await until('it is full', () =>
    Array.from({ length: MAILBOX_MESSAGES_MAX + 1 }, () => tell(fixture, webhook)).includes(false),
  );
  const { deadLetters } = fixture.tree.directory.counters;
  fixture.webhookSender.posted[1]?.end(answered(200));
  await until('the news found no room', () => fixture.tree.directory.counters.deadLetters > deadLetters);
  store();
  await until('both are over', async () => (await stored(fixture)).every((one) => one === 'delivered 1 1'));

  t.is(fixture.webhookSender.posted.length, 2);
});

test('a try that another admin counted first is not counted again, and the delivery goes on from its row', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  const delivery = await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await posted(fixture, 1);
  await fixture.rows(
    `with other as (update webhook_delivery set attempt_count = 1, next_attempt_at = now() where id = $1 returning id)
    insert into webhook_attempt select id, 1, now(), 1, 503, null, 'theirs' from other`,
    [delivery],
  );

  fixture.webhookSender.posted[0]?.end(answered(500));
  await posted(fixture, 2);
  t.is(fixture.webhookSender.posted[1]?.delivery.attempts, 1);
  fixture.webhookSender.posted[1]?.end(answered(200));
  await until('it is over', async () => (await stored(fixture))[0]?.startsWith('delivered'));

  t.deepEqual(await stored(fixture), ['delivered 2 2']);
});

test('sending again is refused while another try is counted, wherever the delivery is', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  const delivery = await fixture.storeDelivery(webhook, { status: 'pending' });

  t.like(await redeliver(fixture, webhook, delivery), { ok: false, refusal: { code: 'conflict' } });

  t.deepEqual(
    (await stored(fixture)).map((one) => one.split(' ')[0]),
    ['pending'],
  );
});

test('after a takeover what was under way is cut, and what comes of it is no news to anyone', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await posted(fixture, 1);

  fixture.tree.directory.evictWebhooks();
  t.deepEqual([fixture.webhookSender.cuts, fixture.tree.directory.count('webhook')], [[webhook], 0]);
  fixture.webhookSender.posted[0]?.end(answered(200));
  tell(fixture, webhook); // it is ours again
  await posted(fixture, 2);

  t.deepEqual(await stored(fixture), ['pending 0 0']);
});

test('deleting it cuts what is under way, takes its deliveries, and leaves nobody behind; a second time there is nothing', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await posted(fixture, 1);
  const remove = () =>
    fixture.tree.ask<null>((replyTo) => ({
      to: { kind: 'webhook', id: webhook },
      message: { type: 'delete', replyTo },
    }));

  const first = await remove();
  const cuts = [...fixture.webhookSender.cuts];
  fixture.webhookSender.posted[0]?.end(answered(200));
  const second = await remove();

  t.deepEqual([first, cuts], [{ ok: true, value: null }, [webhook]]);
  t.like(second, { ok: false, refusal: { code: 'not_found' } });
  t.deepEqual(await stored(fixture), []);
  await until('nobody is left', () => fixture.tree.directory.count('webhook') === 0);
  t.is(fixture.webhookSender.posted.length, 1);
});

test('a deletion whose commit is in doubt, and was stored, cuts what is under way', async (t) => {
  const { doubt, wrap } = doubtful();
  const fixture = await startSupervisors(t, { committer: wrap });
  const webhook = await fixture.createWebhook();
  await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await posted(fixture, 1);

  doubt.armed = 'stored';
  const asked = await fixture.tree.ask<null>((replyTo) => ({
    to: { kind: 'webhook', id: webhook },
    message: { type: 'delete', replyTo },
  }));
  await until('it is gone', () => fixture.tree.directory.count('webhook') === 0);

  t.like(asked, { ok: false, refusal: { code: 'service_unavailable' } });
  t.deepEqual(fixture.webhookSender.cuts, [webhook]);
});

test('one that another admin deleted is told by its next write, and ends', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await posted(fixture, 1);
  await fixture.rows('delete from webhook_delivery');
  await fixture.rows('delete from webhook');

  fixture.webhookSender.posted[0]?.end(answered(500));
  await until('it is gone', () => fixture.tree.directory.count('webhook') === 0);

  t.is(fixture.webhookSender.posted.length, 1);
});

test('far more deliveries than a window holds are all posted, in order of each subject', async (t) => {
  const fixture = await startSupervisors(t);
  const webhook = await fixture.createWebhook();
  const subjects = [v7(), v7(), v7()];
  await fixture.rows(
    `with e as (insert into event (id, type, subject, time, data) select gen_random_uuid(), 'edge.core.test', ($2::uuid[])[1 + n % 3], now(), '{}' from generate_series(1, 400) as n returning *)
    insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, attempts_max, inserted_at, updated_at) select $1, txid, seq, id, type, subject, 3, now(), now() from e`,
    [webhook, subjects],
  );

  tell(fixture, webhook);
  for (let count = 1; count <= 400; count += 1) {
    await posted(fixture, count);
    fixture.webhookSender.posted[count - 1]?.end(answered(200));
  }
  await until(
    'all are over',
    async () => (await fixture.rows(`select from webhook_delivery where status = 'pending'`)).length === 0,
  );

  t.is(fixture.webhookSender.posted.length, 400);
  for (const subject of subjects) {
    const seqs = fixture.webhookSender.posted
      .filter(({ delivery }) => delivery.subject === subject)
      .map(({ delivery }) => Number(delivery.cursor.split('-')[1]));
    t.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
  }
});
