/** Sentinels and clusters of Redis, and who takes over. */
import { BATCH_EVENTS_MAX, type Broker } from '../../../transport/events/brokers/broker.ts';
import { numberedEvents } from '../../support/brokers/events.ts';
import { type RedisServer, startRedis, startRedisCluster, startWatchedRedis } from '../../support/brokers/redis.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { trust } from '../../support/net/certificates.ts';
import { publishAll } from './contract.ts';
import { opened, openedAsking, events } from './redis-fixture.ts';

const test = await peerTest('redis-server');

for (const [how, isEncrypted] of [
  ['killed', false],
  ['replaced', true],
] as const) {
  test(`sentinels name the master, and another when it is ${how} (${isEncrypted ? 'encrypted' : 'plain'})`, async (t) => {
    const watched = await startWatchedRedis(t, isEncrypted);
    trust(watched.certificates);
    const [first, second] = watched.servers;
    const { made, seen } = events('edge.core.test', 'edge.node.registered');
    /**
     * Publishes one of them and sees it arrive at the second server: first a replica, then the master. A failover hangs
     * up the subscribers of before.
     */
    const delivers = async (broker: Broker, index: number): Promise<void> => {
      const reader = await second?.read();
      await broker.publish(made.slice(index, index + 1));
      await until('the event', () => reader?.messages().length === 1);
      t.deepEqual(reader?.messages(), seen.slice(index, index + 1));
    };

    const broker = await opened(t, watched.env);
    await delivers(broker, 0);
    await (how === 'killed' ? first?.kill() : watched.failover());
    t.regex(
      (await broker.lost).message,
      /^(?:The sentinel at \S+ says that edge has another master|The connection to Redis at \S+ is lost: (?:it closed the connection|the connection was cut))\.$/u,
    );
    await broker.close();

    await delivers(await until('another master', async () => opened(t, watched.env)), 1);
  });
}

test('a sentinel that refuses the password, or knows no such master, says which setting is wrong', async (t) => {
  const { env } = await startWatchedRedis(t);
  const one = { ...env, EVENT_BROKER_REDIS_URLS: env['EVENT_BROKER_REDIS_URLS']?.split(',')[0] ?? '' };

  await t.throwsAsync(opened(t, { ...one, EVENT_BROKER_REDIS_SENTINEL_PASSWORD: 'another' }), {
    message: /^Redis at \S+ cannot be used: it refuses EVENT_BROKER_REDIS_SENTINEL_PASSWORD\.$/u,
  });
  await t.throwsAsync(opened(t, { ...one, EVENT_BROKER_REDIS_SENTINEL_GROUP: 'other' }), {
    message:
      /^The sentinel at \S+ cannot be used: it knows no master of the name in EVENT_BROKER_REDIS_SENTINEL_GROUP \(other\)\.$/u,
  });
  await t.throwsAsync(opened(t, { ...one, EVENT_BROKER_REDIS_PASSWORD: 'another' }), {
    message: /^Redis at \S+ cannot be used: it refuses EVENT_BROKER_REDIS_PASSWORD\.$/u,
  });
  await t.notThrowsAsync(
    opened(t, { ...env, EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:1,${env['EVENT_BROKER_REDIS_URLS']}` }),
  );
});

test('events arrive in order at every cluster node; another node replaces a lost node, or one whose cluster is down', async (t) => {
  const nodes = await startRedisCluster(t);
  const env = {
    EVENT_BROKER_REDIS_MODE: 'cluster',
    EVENT_BROKER_REDIS_URLS: nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
  };
  const readers = await Promise.all(nodes.map((node) => node.read()));
  const broker = await opened(t, env);
  const made = numberedEvents(2 * BATCH_EVENTS_MAX, 7);

  await publishAll(broker, made);

  for (const reader of readers) {
    await until('all events at each node', () => reader.messages().length === made.length);
    t.deepEqual(
      reader.messages().map(({ text }) => text),
      made.map(({ text }) => text),
    );
  }
  const used = await passedOnBy(nodes);
  const [other] = nodes.filter((_node, index) => index !== used);
  const asking = await openedAsking(t, { ...env, EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${other?.port}` });
  await nodes[used]?.kill();
  await broker.lost;
  t.regex((await asking.lost).message, /^Redis at \S+ is not used any more: its cluster is down\.$/u);
  const { made: later, seen } = events('edge.core.test');
  await (await opened(t, env)).publish(later);
  const left = readers.filter((_reader, index) => index !== used);
  await until('the later event', () => left.every((reader) => reader.messages().length > made.length));
  t.deepEqual(
    left.map((reader) => reader.messages().slice(made.length)),
    [seen, seen],
  );
});

test('a server that is no node of a cluster is told with the setting', async (t) => {
  const server = await startRedis(t);

  await t.throwsAsync(opened(t, { ...server.env, EVENT_BROKER_REDIS_MODE: 'cluster' }), {
    message: /^Redis at \S+ cannot be used: EVENT_BROKER_REDIS_MODE is "cluster", but it is no node of one\.$/u,
  });
});

/** Which node passed events on to the others: the first that answered in time, which on a busy machine may be any. */
async function passedOnBy(nodes: readonly RedisServer[]): Promise<number> {
  const told = await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'INFO')));
  return told.findIndex((text) => text.includes('cluster_stats_messages_publish_sent:'));
}
