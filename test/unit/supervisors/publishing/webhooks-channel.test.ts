/**
 * The channel of the webhooks: who has deliveries is told, also after a change of hands, and also those that were too
 * busy to hear.
 */
import test from 'ava';
import { WebhooksChannel, type RoutingPort } from '../../../../supervisors/publishing/webhooks-channel.ts';
import { SETTLE_MS } from '../../../../supervisors/publishing/channel.ts';
import { RENEW_MS } from '../../../../supervisors/tasks/held-task.ts';
import { channelFixture, LEASE_MS, settled } from './fixture.ts';

type Routed = Awaited<ReturnType<RoutingPort['route']>>;

const NOTHING: Routed = { webhooks: [], more: false, unsettled: false };

function openWebhooksChannel(waiting: readonly string[] = []) {
  const fixture = channelFixture();
  const happened: string[] = [];
  const routed: Routed[] = [];
  const busy = new Set<string>();
  const channel = new WebhooksChannel({
    ...fixture.ports,
    routing: {
      async route(epoch) {
        if (fixture.row.holder !== 'me' || fixture.row.epoch !== epoch) return null;
        return routed.shift() ?? NOTHING;
      },
      caughtUp: async () => void happened.push('caught up'),
      waiting: async () => {
        happened.push('rows read');
        return waiting;
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
  const route = (...rounds: readonly Routed[]): void => {
    routed.push(...rounds);
    channel.wake();
  };
  return { ...fixture, channel, happened, busy, route };
}

test('whoever has unfinished deliveries is told at the beginning, from rows that no earlier try can change any more, then whoever gets new ones', async (t) => {
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

test('after a pause in which nobody took over, actors start from their rows: they may have given up what they were not allowed to send', async (t) => {
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
