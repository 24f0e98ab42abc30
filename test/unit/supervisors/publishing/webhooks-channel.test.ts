/**
 * The channel of the webhooks: who has deliveries is told, also after a change of hands, and also those that were too
 * busy to hear.
 */
import test from 'ava';
import { DatabaseUnavailable, NothingWritten } from '../../../../actors/ports.ts';
import { WebhooksChannel, type RoutingPort } from '../../../../supervisors/publishing/webhooks-channel.ts';
import { BACK_OFF_MS, SETTLE_MS } from '../../../../supervisors/publishing/channel.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { channelFixture, LEASE_MS, settled } from './fixture.ts';

type Routed = Awaited<ReturnType<RoutingPort['route']>>;

/** What the beginning comes to where nobody has deliveries. */
const STARTED = ['evict all', 'caught up', 'rows read'];

const NOTHING: Routed = { webhooks: [], more: false, unsettled: false };

function openWebhooksChannel(waiting: readonly string[] | (() => readonly string[]) = []) {
  const fixture = channelFixture();
  const happened: string[] = [];
  const routed: (Routed | Error)[] = [];
  const busy = new Set<string>();
  const channel = new WebhooksChannel({
    ...fixture.ports,
    routing: {
      async route(epoch) {
        if (fixture.row.holder !== 'me' || fixture.row.epoch !== epoch) return null;
        const round = routed.shift() ?? NOTHING;
        if (round instanceof Error) throw round;
        return round;
      },
      caughtUp: async () => void happened.push('caught up'),
      waiting: async () => {
        happened.push('rows read');
        return typeof waiting === 'function' ? waiting() : waiting;
      },
    },
    directory: {
      tell: ({ to, message }) => {
        happened.push(`${message.type} ${to.id}`);
        return !busy.has(to.id);
      },
      evictWebhooks: (ids) => void happened.push(`evict ${ids?.join(' ') ?? 'all'}`),
    },
  });
  const route = (...rounds: readonly (Routed | Error)[]): void => {
    routed.push(...rounds);
    channel.wake();
  };
  return { ...fixture, channel, happened, busy, route };
}

test('at start webhooks with unfinished deliveries are notified, from rows that are final, then those with new ones', async (t) => {
  const { channel, happened, route, pass } = openWebhooksChannel(['a', 'b']);
  await channel.start();
  await pass(100);

  route({ webhooks: ['b', 'c'], more: true, unsettled: false }, { webhooks: ['c'], more: false, unsettled: false });
  await pass(100);

  t.deepEqual(happened, [
    'evict all',
    'caught up',
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
  route({ webhooks: ['a', 'b'], more: false, unsettled: false });

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

  t.deepEqual(happened, ['evict all', 'evict all', 'caught up', 'rows read', 'deliveries-stored a']);
});

test('where a deletion elsewhere may have been missed, all start from their rows at once', async (t) => {
  const { channel, happened, pass } = openWebhooksChannel(['a']);
  await channel.start();
  await pass(100);
  happened.length = 0;

  channel.reread();
  await pass(100);

  t.deepEqual(happened, ['evict all', 'caught up', 'rows read', 'deliveries-stored a']);
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

  t.deepEqual(happened, ['evict all', 'caught up', 'rows read', 'deliveries-stored a']);
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

  route(new DatabaseUnavailable('the connection was lost'), { webhooks: ['b'], more: false, unsettled: false });
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
