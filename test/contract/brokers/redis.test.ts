import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { ExecutionContext } from 'ava';
import { BATCH_EVENTS_MAX, type Broker } from '../../../transport/events/brokers/broker.ts';
import { openRedis } from '../../../transport/events/brokers/redis.ts';
import { brokerEvent, numberedEvents } from '../../support/brokers/events.ts';
import { REDIS_MODES, startRedis, startRedisCluster, startWatchedRedis } from '../../support/brokers/redis.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import type { Certificates } from '../../support/certificates.ts';
import { freeze } from '../../support/frozen.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';
import { until } from '../../support/until.ts';
import { patient } from '../../support/busy.ts';

const test = await peerTest('redis-server');

async function opened(t: ExecutionContext, env: Readonly<Record<string, string>>, log = silentLog) {
  const broker = await openRedis(brokerSettings('redis', env), log);
  t.teardown(() => broker.close());
  return broker;
}

/** From here on this process trusts the server, as with NODE_EXTRA_CA_CERTS. */
function trust(certificates: Certificates | null): void {
  if (certificates) setDefaultCACertificates([...getCACertificates('default'), readFileSync(certificates.ca, 'utf8')]);
}

/** Events and what a subscriber should see of them. */
function events(...types: readonly Parameters<typeof brokerEvent>[0][]) {
  const made = types.map((type) => brokerEvent(type, 'subject'));
  return { made, seen: made.map(({ type, text }) => ({ channel: type, text })) };
}

for (const mode of REDIS_MODES) {
  test(`signing in by ${mode}, events reach a subscriber of the channels that are their types`, async (t) => {
    const server = await startRedis(t, mode);
    const reader = await server.read();
    trust(server.certificates);
    const { made, seen } = events('edge.node.registered', 'edge.command_execution.created', 'edge.core.test');

    await (await opened(t, server.env)).publish(made);

    await until('all events', () => reader.messages().length === made.length);
    t.deepEqual(reader.messages(), seen);
  });
}

test('a URL that begins with rediss: encrypts, as the setting does', async (t) => {
  const server = await startRedis(t, 'tls');
  const env = { ...server.env, EVENT_BROKER_REDIS_SSL: 'false' };

  await t.throwsAsync(opened(t, server.env), {
    message: /its certificate is signed by nobody who is trusted here\.$/u,
  });
  trust(server.certificates);
  await t.throwsAsync(opened(t, env), {
    message: /cannot be used: (?:it closed the connection|the connection was cut)\.$/u,
  });
  await t.notThrowsAsync(opened(t, { ...env, EVENT_BROKER_REDIS_URLS: `rediss://localhost:${server.port}` }));
});

test('wrong credentials are refused with the names of their settings, and are not repeated', async (t) => {
  const [locked, acl] = [await startRedis(t, 'password'), await startRedis(t, 'acl')];
  const refused = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const error = await t.throwsAsync(opened(t, env));
    t.false(/password-of|another/u.test(`${error.message} ${String(error.cause)} ${error.stack}`));
    return error.message.replace(/^Redis at 127\.0\.0\.1:\d+ cannot be used: /u, '');
  };

  t.is(
    await refused({ ...locked.env, EVENT_BROKER_REDIS_PASSWORD: 'another' }),
    'it refuses EVENT_BROKER_REDIS_PASSWORD.',
  );
  t.is(
    await refused({ EVENT_BROKER_REDIS_URLS: locked.env['EVENT_BROKER_REDIS_URLS'] ?? '' }),
    'it wants a password: EVENT_BROKER_REDIS_PASSWORD is not set.',
  );
  t.is(
    await refused({ ...acl.env, EVENT_BROKER_REDIS_PASSWORD: 'another' }),
    'it refuses EVENT_BROKER_REDIS_USERNAME with EVENT_BROKER_REDIS_PASSWORD.',
  );
  t.is(
    await refused({ ...locked.env, EVENT_BROKER_REDIS_USERNAME: 'nobody' }),
    'it refuses EVENT_BROKER_REDIS_USERNAME with EVENT_BROKER_REDIS_PASSWORD.',
  );
});

test('a password that the server does not want is told, and no obstacle', async (t) => {
  const server = await startRedis(t);
  const log = recordingLog();

  await opened(t, { ...server.env, EVENT_BROKER_REDIS_PASSWORD: 'needless' }, log);

  t.deepEqual(log.lines, [
    {
      level: 'warn',
      fields: { server: `127.0.0.1:${server.port}` },
      message: 'Redis wants no password, although one is set.',
    },
  ]);
});

test('a user who may not publish to a channel is told so', async (t) => {
  const server = await startRedis(t, 'acl', ['user other on >word resetchannels &shop.* -@all +publish']);
  const broker = await opened(t, {
    ...server.env,
    EVENT_BROKER_REDIS_USERNAME: 'other',
    EVENT_BROKER_REDIS_PASSWORD: 'word',
  });

  await t.throwsAsync(broker.publish(events('edge.core.test').made), {
    message: /^Redis at \S+ did not take the events: this user may not do that \(NOPERM .*channel.*\)\.$/u,
  });
});

test('what cannot be a Redis server is told in one sentence each, and the next one is tried', async (t) => {
  const server = await startRedis(t);
  const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  const web = createServer((socket) => {
    socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(0, '127.0.0.1');
  await Promise.all([once(silent, 'listening'), once(web, 'listening')]);
  t.teardown(() => {
    silent.close();
    web.close();
  });
  const [a, b] = [silent, web].map((one) => (one.address() as AddressInfo).port);

  const error = await t.throwsAsync(
    opened(t, { EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${b},redis://127.0.0.1:1,redis://no-such-host.invalid` }),
  );
  t.regex(
    error.message,
    new RegExp(
      `^Redis at 127\\.0\\.0\\.1:${b} cannot be used: what listens there is no Redis server\\. Redis at 127\\.0\\.0\\.1:1 cannot be used: nobody listens there\\. Redis at no-such-host\\.invalid:6379 cannot be used: the host name is not known\\.$`,
      'u',
    ),
  );

  const broker = await opened(t, {
    EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${a},redis://127.0.0.1:${server.port}`,
  });
  await t.notThrowsAsync(broker.publish(events('edge.core.test').made));
  await until(
    'nothing to stay behind',
    async () =>
      (await new Promise((resolve) => {
        silent.getConnections((_, count) => resolve(count));
      })) === 0,
  );
});

test('10,000 events arrive once each and in order', async (t) => {
  const server = await startRedis(t);
  const reader = await server.read();
  const broker = await opened(t, server.env);
  const made = numberedEvents(10_000, 7);

  for (let from = 0; from < made.length; from += BATCH_EVENTS_MAX)
    await broker.publish(made.slice(from, from + BATCH_EVENTS_MAX));

  await until('all events', () => reader.messages().length === made.length);
  t.deepEqual(
    reader.messages().map(({ text }) => text),
    made.map(({ text }) => text),
  );
});

test('a killed server is told as lost, and takes events from a new connection when it is back', async (t) => {
  const server = await startRedis(t, 'password');
  const broker = await opened(t, server.env);
  const publishOn = async (): Promise<never> => {
    for (;;) await broker.publish(numberedEvents(BATCH_EVENTS_MAX, 1));
  };
  const underWay = t.throwsAsync(publishOn(), {
    message:
      /^Redis at \S+ did not take the events: (?:it closed the connection|the connection was cut|Command aborted due to connection close)\.$/u,
  });
  await server.kill();

  t.is((await broker.lost).message, `The connection to Redis at 127.0.0.1:${server.port} is lost.`);
  await underWay;
  await t.throwsAsync(opened(t, server.env), {
    message: `Redis at 127.0.0.1:${server.port} cannot be used: nobody listens there.`,
  });

  await server.start();
  const reader = await server.read();
  const { made, seen } = events('edge.core.test');
  await (await opened(t, server.env)).publish(made);
  await until('the later event', () => reader.messages().length > 0);
  t.deepEqual(reader.messages(), seen); // nothing from while it was away
});

test('a server that hangs rejects a publish and a connection in time, and holds up neither end', async (t) => {
  const server = await startRedis(t);
  const broker = await opened(t, server.env);
  await freeze(server.process());
  const startMs = performance.now();

  await Promise.all([
    t.throwsAsync(broker.publish(numberedEvents(3, 1)), {
      message: /did not take the events: it has not confirmed 3 events within 10000 ms\.$/u,
    }),
    t.throwsAsync(opened(t, server.env), { message: /cannot be used: it does not answer within \d+ ms\.$/u }),
  ]);
  await broker.close();

  t.true(performance.now() - startMs < patient(11_500));
});

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
      /^(?:The sentinel at \S+ says that edge has another master|The connection to Redis at \S+ is lost)\.$/u,
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

test('a node of a cluster passes events on to subscribers of every node, in order, and another takes over when it is gone', async (t) => {
  const nodes = await startRedisCluster(t);
  const env = {
    EVENT_BROKER_REDIS_MODE: 'cluster',
    EVENT_BROKER_REDIS_URLS: nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
  };
  const readers = await Promise.all(nodes.map((node) => node.read()));
  const broker = await opened(t, env);
  const made = numberedEvents(2 * BATCH_EVENTS_MAX, 7);

  for (let from = 0; from < made.length; from += BATCH_EVENTS_MAX)
    await broker.publish(made.slice(from, from + BATCH_EVENTS_MAX));

  for (const reader of readers) {
    await until('all events at each node', () => reader.messages().length === made.length);
    t.deepEqual(
      reader.messages().map(({ text }) => text),
      made.map(({ text }) => text),
    );
  }
  await nodes[0]?.kill();
  await broker.lost;
  const { made: later, seen } = events('edge.core.test');
  await (await opened(t, env)).publish(later);
  await until('the later event', () => readers.slice(1).every((reader) => reader.messages().length > made.length));
  t.deepEqual(
    readers.slice(1).map((reader) => reader.messages().slice(made.length)),
    [seen, seen],
  );
});

test('a server that is no node of a cluster is told with the setting', async (t) => {
  const server = await startRedis(t);

  await t.throwsAsync(opened(t, { ...server.env, EVENT_BROKER_REDIS_MODE: 'cluster' }), {
    message: /^Redis at \S+ cannot be used: EVENT_BROKER_REDIS_MODE is "cluster", but it is no node of one\.$/u,
  });
});
