/** One Redis server: how it is signed in to, trusted, published to, and lost. */
import { numberedEvents } from '../../support/brokers/events.ts';
import { REDIS_MODES, startRedis } from '../../support/brokers/redis.ts';
import { freeze } from '../../support/frozen.ts';
import { recordingLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { trust } from '../../support/net/certificates.ts';
import { opened, openedAsking, events } from './redis-fixture.ts';
import { hangsNobody, isToldAsLost, outlivesDamage, publishAll, refusalOf, strangers, type Env } from './contract.ts';

const test = await peerTest('redis-server');

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
  const refused = async (env: Env): Promise<string> =>
    (await refusalOf(t, opened(t, env), 'password-of', 'another')).replace(
      /^Redis at 127\.0\.0\.1:\d+ cannot be used: /u,
      '',
    );

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

test('a server that is made the replica of another is left; one that was a replica already is not', async (t) => {
  const [server, another] = [await startRedis(t), await startRedis(t)];
  const asked = async (): Promise<number> =>
    Number(/cmdstat_role:calls=(\d+)/u.exec(await server.cli('INFO', 'commandstats'))?.[1] ?? 0);
  const broker = await openedAsking(t, server.env);
  await until('it to be asked', async () => (await asked()) > 1);

  await server.cli('REPLICAOF', '127.0.0.1', String(another.port));

  t.is(
    (await broker.lost).message,
    `Redis at 127.0.0.1:${server.port} is not used any more: it was made the replica of another.`,
  );
  await broker.close();
  const meant = await openedAsking(t, server.env);
  const before = await asked();
  await until('it to be asked', async () => (await asked()) > before + 2);
  await meant.publish(events('edge.core.test').made);
  t.is(await Promise.race([meant.lost, Promise.resolve('used')]), 'used');
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
  const { silent, web } = await strangers(t);

  t.is(
    await refusalOf(
      t,
      opened(t, {
        EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${web},redis://127.0.0.1:1,redis://no-such-host.invalid`,
      }),
    ),
    [
      `Redis at 127.0.0.1:${web} cannot be used: what listens there is no Redis server.`,
      'Redis at 127.0.0.1:1 cannot be used: nobody listens there.',
      'Redis at no-such-host.invalid:6379 cannot be used: the host name is not known.',
    ].join(' '),
  );

  const broker = await opened(t, {
    EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${silent.port},redis://127.0.0.1:${server.port}`,
  });
  await t.notThrowsAsync(broker.publish(events('edge.core.test').made));
  await until('nothing to stay behind', () => silent.sockets.size === 0);
});

test('10,000 events arrive once each and in order', async (t) => {
  const server = await startRedis(t);
  const reader = await server.read();
  const broker = await opened(t, server.env);
  const made = numberedEvents(10_000, 7);

  await publishAll(broker, made);

  await until('all events', () => reader.messages().length === made.length);
  t.deepEqual(
    reader.messages().map(({ text }) => text),
    made.map(({ text }) => text),
  );
});

test('a killed server is told as lost, and takes events from a new connection when it is back', async (t) => {
  const server = await startRedis(t, 'password');
  const broker = await opened(t, server.env);
  await isToldAsLost(t, broker, {
    kill: () => server.kill(),
    publish:
      /^Redis at \S+ did not take the events: (?:it closed the connection|the connection was cut|Command aborted due to connection close)\.$/u,
    lost: /^The connection to Redis at \S+ is lost: (?:it closed the connection|the connection was cut)\.$/u,
    opening: () => opened(t, server.env),
    refused: `Redis at 127.0.0.1:${server.port} cannot be used: nobody listens there.`,
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

  await hangsNobody(t, broker, () => opened(t, server.env));
});

test('1,000 connections that are damaged while they are opened or amid publishing end by themselves', async (t) => {
  const { port } = await startRedis(t);

  await outlivesDamage(t, {
    port,
    connections: 1_000,
    pieces: 5,
    unasked: ['$-1\r\n', '*-1\r\n', '+OK\r\n', '-ERR no\r\n', '*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n'],
    opened: (scope, at) => opened(scope, { EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${at}` }),
  });
});
