/**
 * Actors of webhooks on a real database: what they deliver, and what becomes of it after doubts, crashes, takeovers and
 * deletion.
 */
import ava, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import { MAILBOX_MESSAGES_MAX } from '../../../actors/limits.ts';
import { until } from '../../support/until.ts';
import { answered, FAILED } from '../../support/webhooks/webhook-actor.ts';
import { codeOf, type SupervisorsFixture } from './actors-fixture.ts';
import { FaultyCommitter } from './faults.ts';
import { startOwner } from './fixture.ts';

const { serial: test } = ava; // a database and a tree each

const tell = (fixture: SupervisorsFixture, webhook: string) =>
  fixture.tell('webhook', webhook, { type: 'deliveries-stored' });

const redeliver = async (fixture: SupervisorsFixture, webhook: string, delivery: string) => {
  const [row] = await fixture.rows<{ event_id: string; attempt_count: number }>(
    'select event_id, attempt_count from webhook_delivery where id = $1',
    [delivery],
  );
  const asked = await fixture.ask('webhook', webhook, {
    type: 'redeliver',
    delivery: {
      id: delivery,
      cursor: '1-1',
      eventId: row?.event_id ?? '',
      subject: v7(),
      attempts: row?.attempt_count ?? 0,
      attemptsMax: 3,
      dueAtMs: null,
      unstored: null,
    },
  });
  return codeOf(asked);
};

/** Status and tries of deliveries, in order. */
async function stored(fixture: SupervisorsFixture): Promise<readonly string[]> {
  const rows = await fixture.rows<{ status: string; attempt_count: number; tries: number }>(
    `select status, attempt_count, (select count(*)::int from webhook_attempt a where a.delivery_id = d.id) as tries from webhook_delivery d order by event_txid, event_seq`,
  );
  return rows.map(({ status, attempt_count, tries }) => `${status} ${attempt_count} ${tries}`);
}

const sent = (fixture: SupervisorsFixture, count: number) =>
  until(`${count} requests`, () => fixture.webhookSender.sent.length >= count);

/** Resolves when every delivery, or the only one, is like this. */
const over = (fixture: SupervisorsFixture, like: RegExp) =>
  until(`${like}`, async () => (await stored(fixture)).every((one) => like.test(one)));

/** A webhook with a delivery that is being sent. */
async function openSending(t: ExecutionContext) {
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const webhook = await fixture.createWebhook();
  const delivery = await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await sent(fixture, 1);
  return { fixture, committer, webhook, delivery };
}

test('deliveries are sent, each try is stored, and the next of the same subject follows', async (t) => {
  const fixture = await startOwner(t);
  const webhook = await fixture.createWebhook();
  const subject = v7();
  const [first, second] = [
    await fixture.storeDelivery(webhook, { subject }),
    await fixture.storeDelivery(webhook, { subject }),
  ];

  tell(fixture, webhook);
  await sent(fixture, 1);
  fixture.webhookSender.sent[0]?.end(answered(503));
  await sent(fixture, 2);
  t.deepEqual(await stored(fixture), ['pending 1 1', 'pending 0 0']);
  fixture.webhookSender.sent[1]?.end(answered(200));
  await sent(fixture, 3);
  fixture.webhookSender.sent[2]?.end(answered(410));
  await over(fixture, /^(?!pending)/u);

  t.deepEqual(await stored(fixture), ['delivered 2 2', 'dropped 1 1']);
  t.deepEqual(
    fixture.webhookSender.sent.map(({ delivery }) => delivery.id),
    [first, first, second],
  );
});

for (const fate of ['stored', 'not stored'] as const) {
  test(`a try whose commit is in doubt, and was ${fate}, is counted once, and its delivery goes on`, async (t) => {
    const { fixture, committer } = await openSending(t);

    committer.loseNext(fate);
    fixture.webhookSender.sent[0]?.end(FAILED);
    await sent(fixture, 2);
    t.deepEqual(await stored(fixture), ['pending 1 1']);
    fixture.webhookSender.sent[1]?.end(answered(204));
    await over(fixture, /^delivered/u);

    t.deepEqual(await stored(fixture), ['delivered 2 2']);
    t.is(fixture.webhookSender.sent.length, 2);
  });

  test(`sending again whose commit is in doubt, and was ${fate}, is refused for now, and happens if it was stored`, async (t) => {
    const committer = new FaultyCommitter();
    const fixture = await startOwner(t, { committer: committer.over });
    const webhook = await fixture.createWebhook();
    const delivery = await fixture.storeDelivery(webhook, { status: 'dropped', attempts: 3 });

    committer.loseNext(fate);
    t.is(await redeliver(fixture, webhook, delivery), 'service_unavailable');
    if (fate === 'not stored') t.is(await redeliver(fixture, webhook, delivery), 'ok');
    await sent(fixture, 1);
    fixture.webhookSender.sent[0]?.end(FAILED);
    await over(fixture, /^dropped/u);

    t.deepEqual(await stored(fixture), ['dropped 4 1']);
  });

  test(`a creation in doubt that was ${fate} is refused for now, and the webhook is what its row says`, async (t) => {
    const committer = new FaultyCommitter();
    const fixture = await startOwner(t, { committer: committer.over });

    committer.loseNext(fate);
    await t.throwsAsync(fixture.createWebhook(), { message: /service_unavailable/u });
    const [row] = await fixture.rows<{ id: string }>('select id from webhook');
    t.is(row !== undefined, fate === 'stored');
    if (row !== undefined) {
      await fixture.storeDelivery(row.id);
      tell(fixture, row.id);
      await sent(fixture, 1);
    }

    await until('the others are gone', () => fixture.tree.directory.count('webhook') === (row === undefined ? 0 : 1));
    t.pass();
  });
}

test('what comes of a request is heard also when the mailbox was full', async (t) => {
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const webhook = await fixture.createWebhook();
  await fixture.storeDelivery(webhook);
  await fixture.storeDelivery(webhook);
  tell(fixture, webhook);
  await sent(fixture, 2);

  committer.hold();
  fixture.webhookSender.sent[0]?.end(answered(200));
  await until('it is full', () =>
    Array.from({ length: MAILBOX_MESSAGES_MAX + 1 }, () => tell(fixture, webhook)).includes(false),
  );
  const { deadLetters } = fixture.tree.directory.counters;
  fixture.webhookSender.sent[1]?.end(answered(200));
  await until('the news found no room', () => fixture.tree.directory.counters.deadLetters > deadLetters);
  committer.release();
  await over(fixture, /^delivered 1 0$/u); // what came of its only try stands in its row

  t.is(fixture.webhookSender.sent.length, 2);
});

test('a try that another admin counted first is not counted again, and the delivery goes on from its row', async (t) => {
  const { fixture, delivery } = await openSending(t);
  await fixture.rows(
    `with other as (update webhook_delivery set attempt_count = 1, next_attempt_at = now() where id = $1 returning id)
    insert into webhook_attempt select id, 1, now(), 1, 503, null, 'theirs' from other`,
    [delivery],
  );

  fixture.webhookSender.sent[0]?.end(answered(500));
  await sent(fixture, 2);
  t.is(fixture.webhookSender.sent[1]?.delivery.attempts, 1);
  fixture.webhookSender.sent[1]?.end(answered(200));
  await over(fixture, /^delivered/u);

  t.deepEqual(await stored(fixture), ['delivered 2 2']);
});

test('sending again is refused while another try is counted, wherever the delivery is', async (t) => {
  const fixture = await startOwner(t);
  const webhook = await fixture.createWebhook();
  const delivery = await fixture.storeDelivery(webhook, { status: 'pending' });

  t.is(await redeliver(fixture, webhook, delivery), 'conflict');

  t.deepEqual(
    (await stored(fixture)).map((one) => one.split(' ')[0]),
    ['pending'],
  );
});

test('after a takeover what was under way is cut, and what comes of it is no news to anyone', async (t) => {
  const { fixture, webhook } = await openSending(t);

  fixture.tree.directory.evictWebhooks();
  t.deepEqual([fixture.webhookSender.cuts, fixture.tree.directory.count('webhook')], [[webhook], 0]);
  fixture.webhookSender.sent[0]?.end(answered(200));
  tell(fixture, webhook); // it is ours again
  await sent(fixture, 2);

  t.deepEqual(await stored(fixture), ['pending 0 0']);
});

test('deleting it cuts what is under way, takes its deliveries, and leaves nobody behind; a second time there is nothing', async (t) => {
  const { fixture, webhook } = await openSending(t);
  const remove = () => fixture.ask('webhook', webhook, { type: 'delete' });

  const first = await remove();
  const cuts = [...fixture.webhookSender.cuts];
  fixture.webhookSender.sent[0]?.end(answered(200));
  const second = await remove();

  t.deepEqual([first, cuts], [{ ok: true, value: null }, [webhook]]);
  t.is(codeOf(second), 'not_found');
  t.deepEqual(await stored(fixture), []);
  await until('nobody is left', () => fixture.tree.directory.count('webhook') === 0);
  t.is(fixture.webhookSender.sent.length, 1);
});

test('a deletion whose commit is in doubt, and was stored, cuts what is under way', async (t) => {
  const { fixture, committer, webhook } = await openSending(t);

  committer.loseNext('stored');
  const asked = await fixture.ask('webhook', webhook, { type: 'delete' });
  await until('it is gone', () => fixture.tree.directory.count('webhook') === 0);

  t.is(codeOf(asked), 'service_unavailable');
  t.deepEqual(fixture.webhookSender.cuts, [webhook]);
});

test('one that another admin deleted is told by its next write, and ends', async (t) => {
  const { fixture } = await openSending(t);
  await fixture.rows('delete from webhook_delivery');
  await fixture.rows('delete from webhook');

  fixture.webhookSender.sent[0]?.end(answered(500));
  await until('it is gone', () => fixture.tree.directory.count('webhook') === 0);

  t.is(fixture.webhookSender.sent.length, 1);
});

test('far more deliveries than a window holds are all sent, in order of each subject', async (t) => {
  const fixture = await startOwner(t);
  const webhook = await fixture.createWebhook();
  const subjects = [v7(), v7(), v7()];
  await fixture.rows(
    `with e as (insert into event (id, type, subject, time, data) select gen_random_uuid(), 'edge.core.test', ($2::uuid[])[1 + n % 3], now(), '{}' from generate_series(1, 400) as n returning *)
    insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, attempts_max, inserted_at, updated_at) select $1, txid, seq, id, type, subject, 3, now(), now() from e`,
    [webhook, subjects],
  );

  tell(fixture, webhook);
  for (let count = 1; count <= 400; count += 1) {
    await sent(fixture, count);
    fixture.webhookSender.sent[count - 1]?.end(answered(200));
  }
  await until(
    'all are over',
    async () => (await fixture.rows(`select from webhook_delivery where status = 'pending'`)).length === 0,
  );

  t.is(fixture.webhookSender.sent.length, 400);
  for (const subject of subjects) {
    const seqs = fixture.webhookSender.sent
      .filter(({ delivery }) => delivery.subject === subject)
      .map(({ delivery }) => Number(delivery.cursor.split('-')[1]));
    t.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
  }
});
