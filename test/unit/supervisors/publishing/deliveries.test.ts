/** What webhooks are sent: rows first, then events that have none; nothing left out, and nothing twice. */
import test from 'ava';
import { deliveryId } from '../../../../actors/webhook/delivery-id.ts';
import type { DeliveryRef } from '../../../../actors/webhook/delivery.ts';
import { isBehind } from '../../../../actors/webhook/window.ts';
import { WebhookDeliveries } from '../../../../supervisors/publishing/deliveries.ts';
import { EventsAhead, FOLLOWER_QUIET_MS_MAX } from '../../../../supervisors/publishing/events-ahead.ts';
import type { AheadEvent } from '../../../../supervisors/publishing/kept-events.ts';
import { id } from '../../../support/actors.ts';
import { delivery } from '../../../support/webhooks/webhook-actor.ts';

const WEBHOOK = id('a', 1);
const START = { txid: '100', seq: '50' };

/** Event `seq` behind the channel: rows have cursors of transaction 100. */
function event(seq: number): AheadEvent {
  return {
    txid: '101',
    seq: String(seq),
    cursor: `101-${seq}`,
    id: id('e', seq),
    type: 'edge.core.test',
    subject: id('b', seq),
    storedAtMs: 1_000,
  };
}

/** A channel that is taken up, with pending rows, and deliveries that have rows: what is to be sent of them. */
function opened(pending: readonly DeliveryRef[] = [], known: Readonly<Record<string, DeliveryRef | null>> = {}) {
  let nowMs = 0;
  const ahead = new EventsAhead(3, () => nowMs);
  ahead.begin(START);
  ahead.read([], true);
  const asked: string[] = [];
  const slowly: (() => void)[] = [];
  const deliveries = new WebhookDeliveries({
    ahead,
    whenQuiet: async (run) => run(),
    rows: {
      async unfinished(_webhook, after, limit) {
        asked.push(`rows after ${after}`);
        const found = pending.filter(({ cursor }) => after === null || isBehind(cursor, after));
        slowly.shift()?.();
        return { deliveries: found.slice(0, limit), more: found.length > limit, since: '90' };
      },
      async stored(ids) {
        asked.push(`stored of ${ids.length}`);
        return new Map(ids.filter((one) => one in known).map((one) => [one, known[one] ?? null]));
      },
    },
  });
  const next = async (after: string | null, limit = 10) => {
    const found = await deliveries.next(WEBHOOK, { subscribedEvents: ['edge.core.test'], after, limit });
    return { cursors: found.deliveries.map(({ cursor }) => cursor), more: found.more };
  };
  return { ahead, deliveries, asked, slowly, next, pass: (ms: number) => void (nowMs += ms) };
}

test('rows come first, then events that have none, and from then on nobody asks for rows', async (t) => {
  const { ahead, asked, next } = opened([delivery(1), delivery(2)]);
  ahead.read([event(1)], true);

  t.deepEqual(await next(null), { cursors: ['100-1', '100-2', '101-1'], more: false });
  ahead.read([event(2), event(3)], true);
  t.deepEqual(await next('101-1', 1), { cursors: ['101-2'], more: true });
  t.deepEqual(await next('101-2'), { cursors: ['101-3'], more: false });

  t.deepEqual(asked, ['rows after null', 'stored of 1']);
});

test('a webhook with more rows than it takes gets these, and follows once they are through', async (t) => {
  const { ahead, next } = opened([delivery(1), delivery(2), delivery(3)]);
  ahead.read([event(1)], true);

  t.deepEqual(await next(null, 2), { cursors: ['100-1', '100-2'], more: true });
  t.deepEqual(ahead.settled()?.followers, []);
  t.deepEqual(await next('100-2', 2), { cursors: ['100-3', '101-1'], more: false });
  t.deepEqual(ahead.settled()?.followers, [WEBHOOK]);
});

test('a row of an event that is ahead, as its first try failed, takes its place among them', async (t) => {
  const rowOf = (seq: number) =>
    delivery(seq, { id: deliveryId(WEBHOOK, event(seq)), cursor: `101-${seq}`, attempts: 1 });
  const rows = [rowOf(2), rowOf(4)];
  const { ahead, next } = opened(rows, Object.fromEntries(rows.map((row) => [row.id, row])));
  ahead.read([event(1), event(2), event(3), event(4)], true);
  ahead.stored(WEBHOOK, '101-2');
  ahead.stored(WEBHOOK, '101-4');

  t.deepEqual(await next(null, 3), { cursors: ['101-1', '101-2', '101-3'], more: true });
  t.false(ahead.knowsAllRows(WEBHOOK), 'one was cut off');
  t.deepEqual(await next('101-3'), { cursors: ['101-4'], more: false });
});

test('a row of an event that is not read yet comes with it: there may be others before', async (t) => {
  const id = deliveryId(WEBHOOK, event(2));
  const row = delivery(1, { id, cursor: '101-2', attempts: 1 });
  const { ahead, next } = opened([delivery(1), row], { [id]: row });
  ahead.begin(START);

  t.deepEqual(await next(null), { cursors: ['100-1'], more: false });
  ahead.read([event(1), event(2), event(3)], true);

  t.deepEqual(await next('100-1'), { cursors: ['101-1', '101-2', '101-3'], more: false });
});

test('a row that lies behind what one load takes makes it jump over nothing', async (t) => {
  const ids = [1, 2, 3, 4, 5].map((seq) => deliveryId(WEBHOOK, event(seq)));
  const row = delivery(1, { id: ids[4]!, cursor: '101-5', attempts: 1 });
  const { ahead, next } = opened([row], { [ids[0]!]: null, [ids[1]!]: null, [ids[4]!]: row });
  ahead.read([event(1), event(2), event(3), event(4), event(5)], true);
  ahead.stored(WEBHOOK, '101-5'); // by an actor that is no more

  t.deepEqual(await next(null, 3), { cursors: ['101-3'], more: true });
  t.deepEqual(await next('101-3', 3), { cursors: ['101-4', '101-5'], more: false });
});

test('a load that is overtaken by another one of the same webhook says nothing, and changes nothing', async (t) => {
  const { ahead, slowly, next } = opened([delivery(1)]);
  const others: Promise<object>[] = [];
  slowly.push(() => void others.push(next(null)));

  t.deepEqual(await next(null), { cursors: [], more: true });
  t.deepEqual(await Promise.all(others), [{ cursors: ['100-1'], more: false }]);
  t.true(ahead.knowsAllRows(WEBHOOK));
});

test('what another admin, or a commit in doubt, has finished is not sent again', async (t) => {
  const { ahead, next } = opened([], { [deliveryId(WEBHOOK, event(1))]: null });
  ahead.read([event(1), event(2)], true);

  t.deepEqual(await next(null), { cursors: ['101-2'], more: false });
  ahead.stored(WEBHOOK, '101-2');
  t.deepEqual(ahead.settled()?.to, { txid: '101', seq: '2' });
});

test('where all of the first ones are finished, the next ones are looked at', async (t) => {
  const { ahead, asked, next } = opened([], {
    [deliveryId(WEBHOOK, event(1))]: null,
    [deliveryId(WEBHOOK, event(2))]: null,
  });
  ahead.read([event(1), event(2), event(3)], true);

  t.deepEqual(await next(null, 2), { cursors: ['101-3'], more: false });
  t.deepEqual(asked, ['rows after null', 'stored of 2', 'stored of 1']);
});

test('what got a row after the rows were read is sent by its row', async (t) => {
  const id = deliveryId(WEBHOOK, event(1));
  const row = delivery(1, { id, cursor: '101-1', attempts: 1, dueAtMs: 77 });
  const { ahead, deliveries } = opened([], { [id]: row });
  ahead.read([event(1)], true);

  const asked = { subscribedEvents: ['edge.core.test'], after: null, limit: 9 } as const;
  t.deepEqual(await deliveries.next(WEBHOOK, asked), { deliveries: [row], more: false });
});

test('rows that took so long that others were made meanwhile are read once more', async (t) => {
  const { ahead, asked, slowly, next, pass } = opened([delivery(1)]);
  ahead.read([event(1)], true);
  slowly.push(() => {
    pass(FOLLOWER_QUIET_MS_MAX + 1);
    t.deepEqual(ahead.settled()?.followers, []);
  });

  t.deepEqual(await next(null), { cursors: ['100-1', '101-1'], more: false });
  t.deepEqual(asked, ['rows after null', 'rows after null', 'stored of 1']);
});

test('a channel that is not held has rows alone', async (t) => {
  const { ahead, next } = opened([delivery(1)]);
  ahead.begin(null);

  t.deepEqual(await next(null), { cursors: ['100-1'], more: false });
});

test('a webhook that is gone is sent nothing more', async (t) => {
  const { ahead, deliveries, next } = opened();
  await next(null);
  ahead.read([event(1)], true);

  deliveries.ended(WEBHOOK);

  t.deepEqual(ahead.settled(), { to: { txid: '101', seq: '1' }, followers: [] });
});
