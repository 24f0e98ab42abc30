/** One Redis server: how it is signed in to, trusted, published to, and lost. */
import { BATCH_EVENTS_MAX } from '../../../transport/events/brokers/broker.ts';
import { numberedEvents } from '../../support/brokers/events.ts';
import { REDIS_MODES, startRedis } from '../../support/brokers/redis.ts';
import { freeze } from '../../support/frozen.ts';
import { recordingLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';
import { until } from '../../support/until.ts';
import { patient } from '../../support/busy.ts';
import { trust } from '../../support/certificates.ts';
import { opened, events } from './redis-fixture.ts';
import { target, openTarget } from '../../support/listening.ts';

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
  const silent = await openTarget(t, (socket) => socket.resume().on('end', () => socket.end()));
  const web = await target(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));

  const error = await t.throwsAsync(
    opened(t, { EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${web},redis://127.0.0.1:1,redis://no-such-host.invalid` }),
  );
  t.regex(
    error.message,
    new RegExp(
      `^Redis at 127\\.0\\.0\\.1:${web} cannot be used: what listens there is no Redis server\\. Redis at 127\\.0\\.0\\.1:1 cannot be used: nobody listens there\\. Redis at no-such-host\\.invalid:6379 cannot be used: the host name is not known\\.$`,
      'u',
    ),
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
