/**
 * The channel of the webhooks: who has deliveries is told, also after a change of hands, and also those that were too
 * busy to hear.
 */
import test from 'ava';
import { DatabaseUnavailable, NothingWritten } from '../../../../actors/ports.ts';
import { BACK_OFF_MS, SETTLE_MS } from '../../../../supervisors/publishing/channel.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { MOVES_APART_MS_MIN } from '../../../../supervisors/publishing/webhooks-channel.ts';
import { LEASE_MS, settled } from './fixture.ts';
import { NOTHING, openWebhooksChannel, placeAt, STARTED } from './webhooks-channel-fixture.ts';

test('at start webhooks with unfinished deliveries are notified, from rows that are final, then those with new ones', async (t) => {
  const { channel, happened, route, pass } = openWebhooksChannel(['a', 'b']);
  await channel.start();
  await pass(100);

  route({ webhooks: ['b', 'c'] }, { webhooks: ['c'] });
  await pass(MOVES_APART_MS_MIN + 100);

  t.deepEqual(happened, [
    'evict all',
    'caught up',
    'evict all',
    'rows read',
    'deliveries-stored a',
    'deliveries-stored b',
    'deliveries-stored b',
    'deliveries-stored c',
    'deliveries-stored c',
  ]);
});

test('one that is too busy to hear is told again soon', async (t) => {
  const { channel, happened, busy, route, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  busy.add('a');
  route({ webhooks: ['a', 'b'] });

  await pass(3 * SETTLE_MS);
  t.deepEqual(
    [happened.filter((one) => one.endsWith(' a')).length > 1, happened.filter((one) => one.endsWith(' b')).length],
    [true, 1],
  );
  busy.clear();
  await pass(2 * SETTLE_MS);
  const told = happened.length;
  await pass(5_000);

  t.is(happened.length, told);
});

test('when another admin takes over, the actors end; taken back, everything unfinished is taken up', async (t) => {
  const { channel, happened, row, pass } = openWebhooksChannel(['a']);
  await channel.start();
  await pass(100);
  happened.length = 0;
  row.holder = 'another';
  row.epoch += 1;

  await pass(RENEW_MS);
  t.deepEqual(happened, ['evict all']);
  row.holder = null;
  await pass(RENEW_MS + 100);

  t.deepEqual(happened, ['evict all', 'evict all', 'caught up', 'evict all', 'rows read', 'deliveries-stored a']);
});

test('where a deletion elsewhere may have been missed, all start from their rows at once', async (t) => {
  const { channel, happened, pass } = openWebhooksChannel(['a']);
  await channel.start();
  await pass(100);
  happened.length = 0;

  channel.reread();
  await pass(100);

  t.deepEqual(happened, ['evict all', 'caught up', 'evict all', 'rows read', 'deliveries-stored a']);
});

test('after a pause without a takeover webhook actors start from their rows, as they may have given up deliveries', async (t) => {
  const { channel, happened, pause, pass } = openWebhooksChannel(['a']);
  await channel.start();
  await pass(100);
  happened.length = 0;

  pause(LEASE_MS);
  await settled();
  t.deepEqual(happened, []);
  await pass(RENEW_MS);

  t.deepEqual(happened, ['evict all', 'caught up', 'evict all', 'rows read', 'deliveries-stored a']);
});

test('deliveries of a commit whose answer was lost are announced after the end of that transaction, and once', async (t) => {
  const stored: string[] = [];
  const { channel, happened, route, pass } = openWebhooksChannel(() => stored);
  await channel.start();
  await pass(100);
  happened.length = 0;

  stored.push('a'); // committed, and nothing was heard of it: the next round finds nothing to route
  route(new DatabaseUnavailable('the connection was lost'));
  await pass(BACK_OFF_MS + 100);
  t.deepEqual(happened, ['rows read', 'deliveries-stored a']);
  route(NOTHING);
  await pass(100);

  t.is(happened.length, 2);
});

test('a failed read of webhooks with deliveries after a lost answer is repeated, and no other webhook is forgotten', async (t) => {
  const failures = [new DatabaseUnavailable('away')];
  const { channel, happened, route, pass } = openWebhooksChannel(() => {
    const isStarted = happened.length > STARTED.length;
    const failure = isStarted ? failures.shift() : undefined;
    if (failure !== undefined) throw failure;
    return isStarted ? ['a', 'b'] : [];
  });
  await channel.start();
  await pass(100);
  t.deepEqual(happened, STARTED);

  route(new DatabaseUnavailable('the connection was lost'), { webhooks: ['b'] });
  await pass(2 * BACK_OFF_MS + 100);

  t.deepEqual(happened.slice(STARTED.length), [
    'rows read', // in vain
    'rows read',
    'deliveries-stored a',
    'deliveries-stored b',
  ]);
});

test('where nothing can have been stored, nobody is asked for', async (t) => {
  const { channel, happened, route, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);

  route(new NothingWritten('no connection was to be had'));
  await pass(BACK_OFF_MS + 100);

  t.deepEqual(happened, STARTED);
});

test('a webhook that follows is told of events before they have rows, and the channel goes on once it stored them', async (t) => {
  const { ahead, channel, happened, followed, subscribed, route, pass } = openWebhooksChannel();
  subscribed.push('a');
  await channel.start();
  await pass(100);
  let turn = 0;
  await channel.whenQuiet(() => void (turn = ahead.follow('a', ['edge.core.test'])));
  ahead.rowsRead('a', turn, { since: '0', areAll: true });

  route(NOTHING);
  await pass(100);
  t.deepEqual([happened.slice(STARTED.length), followed], [['deliveries-stored a'], []]);
  ahead.stored('a', '1-0');
  await pass(2 * SETTLE_MS);

  t.deepEqual([ahead.place, followed], [placeAt(1), [['a']]]);
});

test('who was to hear of events is told of them also where their rows could not be made', async (t) => {
  const { channel, happened, subscribed, route, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  subscribed.push('a');

  route(new NothingWritten('no connection was to be had'));
  await pass(BACK_OFF_MS + 100);

  t.deepEqual(happened.slice(STARTED.length), ['deliveries-stored a']);
});

test('where the channel was set back, all start from their rows, and what is behind its place is routed once more', async (t) => {
  const { ahead, channel, happened, followed, route, setBackTo, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  route(NOTHING, NOTHING);
  await pass(MOVES_APART_MS_MIN + 100);
  t.deepEqual(ahead.place, placeAt(2));
  happened.length = 0;

  setBackTo(1);
  route(NOTHING);
  await pass(2 * MOVES_APART_MS_MIN + 200);

  t.deepEqual([happened, ahead.place?.txid, followed.length > 2], [STARTED, '3', true]);
});

test('nobody begins to follow while it is not known where the channel is', async (t) => {
  const { channel, route, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  let began = 0;

  route(new DatabaseUnavailable('the connection was lost'));
  await pass(BACK_OFF_MS / 2);
  const follows = channel.whenQuiet(() => void (began += 1));
  await settled();
  t.is(began, 0);
  await pass(BACK_OFF_MS);
  await follows;

  t.is(began, 1);
});

test('who waits to follow a channel that is lost waits no longer', async (t) => {
  const { ahead, channel, route, row, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  route(new DatabaseUnavailable('the connection was lost'));
  await pass(BACK_OFF_MS / 2);
  const follows = channel.whenQuiet(() => {});
  row.holder = 'another';
  row.epoch += 1;
  await pass(RENEW_MS + BACK_OFF_MS);

  await follows;
  t.is(ahead.place, null);
});

test('while there is room for events the channel is moved now and then, and what is behind waits no longer than that', async (t) => {
  const { ahead, channel, happened, route, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  happened.length = 0;

  route({ webhooks: ['a'] });
  await pass(3 * SETTLE_MS);
  t.deepEqual([ahead.place, happened], [placeAt(1), ['deliveries-stored a']], 'the first one at once');
  route({ webhooks: ['b'] }, { webhooks: ['c'] });
  await pass(MOVES_APART_MS_MIN / 2);
  t.deepEqual([ahead.place, happened], [placeAt(1), ['deliveries-stored a']]);

  await pass(MOVES_APART_MS_MIN);
  t.deepEqual(ahead.place, placeAt(3));
});

test('where a move gets only so far the next one follows at once', async (t) => {
  const { ahead, channel, route, pass } = openWebhooksChannel();
  await channel.start();
  await pass(100);
  route({ webhooks: ['a'] });
  await pass(SETTLE_MS);
  t.deepEqual(ahead.place, placeAt(1));

  route({ webhooks: ['a'], to: 2 }, { webhooks: ['a'], to: 3 }, { webhooks: ['a'], to: 4 }, NOTHING);
  await pass(MOVES_APART_MS_MIN + SETTLE_MS);

  t.deepEqual(ahead.place, placeAt(5));
});
