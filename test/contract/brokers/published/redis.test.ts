/**
 * Events by Redis, end to end: a whole admin, real servers alone, with sentinels and as a cluster, and redis-cli as the
 * reader.
 */
import type { ExecutionContext } from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import { startPublishingAdmin, type PublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import {
  REDIS_MODES,
  startRedis,
  startRedisCluster,
  startWatchedRedis,
  type RedisReader,
  type RedisServer,
} from '../../../support/brokers/redis.ts';
import { trust } from '../../../support/net/certificates.ts';
import { Program } from '../../../support/fleet/program.ts';
import { openGate } from '../../../support/net/gate.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { arrivesLater, envelopes, publishesWhatHappens, toldOnce } from './contract.ts';

const test = await peerTest('redis-server');

/** What a reader got. */
const textsOf = (reader: RedisReader) => () => reader.messages().map(({ text }) => text);

/** Makes the admin publish, and sees all of it arrive under its type. */
async function publishes(t: ExecutionContext, admin: PublishingAdmin, reader: RedisReader): Promise<void> {
  await publishesWhatHappens(t, admin, textsOf(reader));

  t.deepEqual(
    reader.messages().map(({ channel }) => channel),
    reader.messages().map(({ text }) => (JSON.parse(text) as Envelope).type),
  );
}

for (const mode of REDIS_MODES) {
  test(`signed in by ${mode}, the admin publishes what happens to the channel of its type`, async (t) => {
    const server = await startRedis(t, mode);
    trust(server.certificates);

    await publishes(t, await startPublishingAdmin(t, 'redis', server.env), await server.read());
  });
}

test('through one node of a cluster, the admin publishes to subscribers of another', async (t) => {
  const nodes = await startRedisCluster(t);
  const [, , third] = nodes as readonly [RedisServer, RedisServer, RedisServer];
  const env = {
    EVENT_BROKER_REDIS_MODE: 'cluster',
    EVENT_BROKER_REDIS_URLS: nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
  };

  await publishes(t, await startPublishingAdmin(t, 'redis', env), await third.read());
});

for (const isEncrypted of [false, true]) {
  test(`events during a failover reach the subscribers of the new master (${isEncrypted ? 'encrypted' : 'plain'})`, async (t) => {
    const watched = await startWatchedRedis(t, isEncrypted);
    trust(watched.certificates);
    const [first, second] = watched.servers as readonly [RedisServer, RedisServer];
    const gates = await Promise.all(watched.sentinelPorts.map((port) => openGate(t, port)));
    const admin = await startPublishingAdmin(t, 'redis', {
      ...watched.env,
      EVENT_BROKER_REDIS_URLS: gates.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
    });
    await publishes(t, admin, await first.read());

    // else the admin may be back before a subscriber is, whom the failover hangs up
    for (const gate of gates) gate.shut();
    await first.kill();
    const events = await admin.testEvents(20);
    t.is(await watched.master(), second);
    const reader = await second.read();
    for (const gate of gates) gate.open();

    await until('the events', () => envelopes(textsOf(reader)()).length >= events.length);
    t.deepEqual(envelopes(textsOf(reader)()), [...events]);
  });
}

test('what happens while the server is away reaches who is there when it is back, in order', async (t) => {
  const server = await startRedis(t, 'password');
  const gate = await openGate(t, server.port);
  const admin = await startPublishingAdmin(t, 'redis', {
    ...server.env,
    EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${gate.port}`,
  });
  const before = await server.read();

  await arrivesLater(t, admin, {
    gate,
    before: textsOf(before),
    goes: () => server.kill(),
    comes: async () => {
      await server.start();
      return textsOf(await server.read());
    },
  });
});

test('a wrong credential delays no command, is told once by the name of its setting, and is in no log line', async (t) => {
  const server = await startRedis(t, 'acl');
  const admin = await startPublishingAdmin(t, 'redis', { ...server.env, EVENT_BROKER_REDIS_PASSWORD: 'another-word' });

  await toldOnce(
    t,
    admin,
    `Redis at 127.0.0.1:${server.port} cannot be used: it refuses EVENT_BROKER_REDIS_USERNAME with EVENT_BROKER_REDIS_PASSWORD.`,
    ['another-word'],
  );
});

test('wrong settings stop the start, with a line that names each', async (t) => {
  const admin = Program.start(t, 'edge-admin', ['serve'], {
    MASTER_KEY: 'master-key-of-the-tests-1234',
    EVENT_BROKER_ENABLED: 'true',
    EVENT_BROKER_ADAPTER: 'redis',
  });
  t.not((await admin.ended()).code, 0);
  t.regex(
    admin.output,
    /^.*EVENT_BROKER_REDIS_URLS is not set: for redis it should be a list like redis:\/\/host:6379$/mu,
  );
});
