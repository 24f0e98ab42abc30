/** Events that are sent before they have rows: what each webhook is given, and how far the channel may go. */
import test from 'ava';
import type { EventType } from '../../../../actors/events.ts';
import {
  EVENTS_AHEAD_MAX,
  EventsAhead,
  FOLLOWER_HELD_UP_MS_MAX,
  FOLLOWER_QUIET_MS_MAX,
} from '../../../../supervisors/publishing/events-ahead.ts';
import type { AheadEvent } from '../../../../supervisors/publishing/kept-events.ts';
import { id } from '../../../support/actors.ts';

const [A, B] = [id('a', 1), id('a', 2)];
const START = { txid: '100', seq: '0' };

/** Event `seq` of transaction 101, unless said otherwise. */
function event(seq: number, more: Partial<AheadEvent> = {}): AheadEvent {
  const txid = more.txid ?? '101';
  return {
    txid,
    seq: String(seq),
    cursor: `${txid}-${seq}`,
    id: id('e', seq),
    type: 'edge.core.test',
    subject: id('b', seq),
    storedAtMs: 1_000,
    ...more,
  };
}

/** A channel that is taken up at the start, where these webhooks follow and know their rows. */
function opened(webhooks: readonly string[] = [A], types: readonly EventType[] = ['edge.core.test']) {
  let nowMs = 0;
  const ahead = new EventsAhead(3, () => nowMs);
  ahead.begin(START);
  for (const webhook of webhooks) {
    ahead.rowsRead(webhook, ahead.follow(webhook, types), { since: '100', areAll: true });
  }
  const cursors = (webhook: string, after: string | null = '100-0', limit = 100) =>
    ahead.take(webhook, { after, limit, isFirst: false }).deliveries.map(({ cursor }) => cursor);
  return { ahead, cursors, pass: (ms: number) => void (nowMs += ms) };
}

test('a webhook that follows is given what it subscribed to, in order, and the channel goes on as it is stored', (t) => {
  const { ahead, cursors } = opened([A]);

  ahead.read([event(1), event(2, { type: 'edge.node.registered' }), event(3), event(4)], true);
  t.deepEqual(cursors(A), ['101-1', '101-3', '101-4']);
  t.deepEqual(ahead.settled(), { to: START, followers: [A] });
  ahead.stored(A, '101-3');
  t.deepEqual(ahead.settled()?.to, START, 'an older one is not stored');
  ahead.stored(A, '101-1');
  t.deepEqual(ahead.settled()?.to, { txid: '101', seq: '3' });
  ahead.moved({ txid: '101', seq: '3' });

  t.deepEqual(cursors(A), ['101-4']);
  ahead.stored(A, '101-4');
  t.deepEqual(ahead.settled()?.to, { txid: '101', seq: '4' });
  ahead.moved({ txid: '101', seq: '4' });
  t.false(ahead.isOpen);
});

test('the channel waits for the slowest of those who follow, and for none who does not', (t) => {
  const { ahead } = opened([A, B]);
  ahead.read([event(1), event(2)], true);
  ahead.stored(A, '101-1');
  ahead.stored(A, '101-2');
  ahead.stored(B, '101-1');

  t.deepEqual(ahead.settled(), { to: { txid: '101', seq: '1' }, followers: [A, B] });
  ahead.unfollow(B);
  t.deepEqual(ahead.settled(), { to: { txid: '101', seq: '2' }, followers: [A] });
});

test('what is asked for in parts comes once each, and what is not stored again from the beginning', (t) => {
  const { ahead, cursors } = opened([A]);
  ahead.read([event(1), event(2), event(3)], true);

  t.like(ahead.take(A, { after: '100-0', limit: 2, isFirst: false }), { more: true });
  t.deepEqual([cursors(A, '100-0', 2), cursors(A, '101-2')], [['101-1', '101-2'], ['101-3']]);
  ahead.stored(A, '101-1');
  t.deepEqual(cursors(A, null), ['101-2', '101-3']);
});

test('events of transactions older than a webhook are not for it, and nothing is before that is known', (t) => {
  const { ahead, cursors } = opened([]);
  const turn = ahead.follow(A, ['edge.core.test']);
  ahead.read([event(1), event(2, { txid: '102' })], true);

  t.deepEqual(cursors(A), []);
  t.deepEqual(ahead.settled()?.to, START);
  ahead.rowsRead(A, turn, { since: '101', areAll: true });
  t.deepEqual(cursors(A), ['102-2']);
  t.deepEqual(ahead.settled()?.to, { txid: '101', seq: '1' });
});

test('who stores nothing while an event waits follows no more, and others do', (t) => {
  const { ahead, pass } = opened([A, B]);
  pass(FOLLOWER_QUIET_MS_MAX * 10);
  ahead.read([event(1), event(2)], true);
  pass(FOLLOWER_QUIET_MS_MAX);
  t.deepEqual(ahead.settled()?.followers, [A, B], 'there was nothing to do before');
  ahead.stored(A, '101-1');
  pass(1);

  t.deepEqual(ahead.settled(), { to: { txid: '101', seq: '1' }, followers: [A] });
});

test('one whose oldest event is not stored for long follows no more, whatever else it stores', (t) => {
  const { ahead, pass } = opened([A, B]);
  ahead.read([event(1), event(2)], true);
  ahead.stored(B, '101-1');
  ahead.stored(B, '101-2');
  for (let passedMs = 0; passedMs <= FOLLOWER_HELD_UP_MS_MAX; passedMs += 1_000) {
    t.deepEqual(ahead.settled()?.followers, [A, B]);
    pass(1_000);
    ahead.stored(A, '101-2');
  }

  t.deepEqual(ahead.settled()?.followers, [B]);
});

test('what is read of rows for an earlier turn of a webhook is nothing', (t) => {
  const { ahead } = opened([]);
  const first = ahead.follow(A, ['edge.core.test']);
  ahead.unfollow(A);
  const second = ahead.follow(A, ['edge.core.test']);

  ahead.rowsRead(A, first, { since: '100', areAll: true });
  t.deepEqual([ahead.isTurn(A, first), ahead.isTurn(A, second), ahead.knowsAllRows(A)], [false, true, false]);
  ahead.rowsRead(A, second, { since: '100', areAll: true });

  t.true(ahead.knowsAllRows(A));
});

test('one that follows again is not given what it stored before', (t) => {
  const { ahead, cursors } = opened([A]);
  ahead.read([event(1), event(2), event(3)], true);
  ahead.stored(A, '101-1');
  ahead.settled();
  ahead.unfollow(A);
  ahead.stored(A, '101-3'); // it was on its way
  ahead.rowsRead(A, ahead.follow(A, ['edge.core.test']), { since: '100', areAll: true });

  t.deepEqual(cursors(A), ['101-2']);
  t.deepEqual(ahead.settled(), { to: { txid: '101', seq: '1' }, followers: [A] });
});

test('where there is no room left, those who hold up others follow no more', (t) => {
  const { ahead } = opened([A, B]);
  const all = Array.from({ length: EVENTS_AHEAD_MAX }, (_, index) => event(index + 1));
  ahead.read(all, false);
  t.is(ahead.room, 0);
  for (const { cursor } of all.slice(1)) ahead.stored(A, cursor);
  t.deepEqual(ahead.settled()?.followers, [A, B], 'nobody waits for more');
  ahead.stored(A, '101-1');

  ahead.settled();
  t.deepEqual(ahead.settled(), { to: { txid: '101', seq: String(EVENTS_AHEAD_MAX) }, followers: [A] });
});

test('of events that were there when the channel was taken up, rows may be there; of a first look too', (t) => {
  const { ahead } = opened([A]);
  ahead.read([event(1)], false);
  ahead.read([event(2)], true);
  ahead.read([event(3)], true);

  ahead.stored(A, '101-1');
  const taken = (isFirst: boolean) => {
    const { deliveries, doubtful } = ahead.take(A, { after: null, limit: 9, isFirst });
    return deliveries.map((one) => `${one.cursor} ${doubtful.has(one.id) ? 'doubtful' : 'new'}`);
  };
  t.deepEqual(taken(false), ['101-2 doubtful', '101-3 new']);
  t.deepEqual(taken(true), ['101-1 doubtful', '101-2 doubtful', '101-3 doubtful'], 'it may have to be sent again');
});

test('a channel that is moved on by others forgets what is before, and one that is not held knows nothing', (t) => {
  const { ahead, cursors } = opened([A]);
  ahead.read([event(1), event(2)], true);

  ahead.moved({ txid: '101', seq: '1' });
  t.deepEqual(cursors(A), ['101-2']);
  ahead.moved({ txid: '105', seq: '0' });
  t.deepEqual([ahead.readTo, ahead.isOpen], [{ txid: '105', seq: '0' }, false]);
  ahead.begin(null);
  ahead.follow(A, ['edge.core.test']);
  t.deepEqual([ahead.settled(), ahead.readTo, cursors(A)], [null, null, []]);
  t.like(ahead.take(A, { after: '105-1', limit: 9, isFirst: false }), { more: true, to: '105-1' }, 'there may be rows');
});
