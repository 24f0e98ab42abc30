/** One Redis server: how it is signed in to, trusted, published to, and lost. */
import { numberedEvents } from '../../support/brokers/events.ts';
import { REDIS_MODES, startRedis, type RedisServer } from '../../support/brokers/redis.ts';
import { freeze } from '../../support/frozen.ts';
import { recordingLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { trust } from '../../support/net/certificates.ts';
import { adapterAsking, opened, openedAsking, events } from './redis-fixture.ts';
import { hangsNobody, isToldAsLost, outlivesDamage, publishAll, refusalOf, strangers, type Env } from './contract.ts';

const test = await peerTest('redis-server');

const LEFT = 'is not used any more: it is the replica of another.';

const urlOf = ({ port }: RedisServer): string => `redis://127.0.0.1:${port}`;

/** How often it was asked, or refused to say, what it is. */
async function countOf(server: RedisServer, what: 'calls' | 'rejected_calls'): Promise<number> {
  const line = /cmdstat_role:.*/u.exec(await server.cli('INFO', 'commandstats'))?.[0] ?? '';
  return Number(new RegExp(`[:,]${what}=(?<count>\\d+)`, 'u').exec(line)?.groups?.['count'] ?? 0);
}

/** Resolves when it was asked and has answered what it is now: one question may be on its way. */
async function isAskedOnceMore(server: RedisServer): Promise<void> {
  const before = await countOf(server, 'calls');
  await until('it to be asked', async () => (await countOf(server, 'calls')) > before + 2);
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

test('a server that is made the replica of another is left for that one, and is not taken again before it', async (t) => {
  const [server, another] = [await startRedis(t), await startRedis(t)];
  const reader = await another.read();
  const open = adapterAsking({ EVENT_BROKER_REDIS_URLS: [server, another].map(urlOf).join(',') });
  const broker = await open(t);

  await server.cli('REPLICAOF', '127.0.0.1', String(another.port));

  t.is((await broker.lost).message, `Redis at 127.0.0.1:${server.port} ${LEFT}`);
  const { made, seen } = events('edge.core.test');
  await (await open(t)).publish(made);
  await until('the event at the one that is none', () => reader.messages().length > 0);
  t.deepEqual(reader.messages(), seen);
});

test('a replica is taken where there is no other, and left again and again unless it always was one', async (t) => {
  const [server, another] = [await startRedis(t), await startRedis(t)];
  const replicate = async (...whom: readonly string[]): Promise<string> => server.cli('REPLICAOF', ...whom);
  const open = adapterAsking({ EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:1,${urlOf(server)}` });
  await replicate('127.0.0.1', String(another.port));

  const meant = await open(t);
  await isAskedOnceMore(server);
  await meant.publish(events('edge.core.test').made);
  t.is(await Promise.race([meant.lost, Promise.resolve('used')]), 'used');
  await replicate('NO', 'ONE');
  await isAskedOnceMore(server);
  await replicate('127.0.0.1', String(another.port));

  for (const broker of [meant, await open(t), await open(t)])
    t.is((await broker.lost).message, `Redis at 127.0.0.1:${server.port} ${LEFT}`);
});

test('a server that does not tell what it is, or that others may ask, is taken and not asked again', async (t) => {
  const [acl, renamed] = [await startRedis(t, 'acl'), await startRedis(t, 'none', ['rename-command ROLE ""'])];
  const all = { EVENT_BROKER_REDIS_USERNAME: 'tests', EVENT_BROKER_REDIS_PASSWORD: 'any' };

  await (await openedAsking(t, acl.env)).publish(events('edge.core.test').made);
  await (await openedAsking(t, renamed.env)).publish(events('edge.core.test').made);
  await openedAsking(t, { ...acl.env, ...all });
  await isAskedOnceMore(acl);

  t.is(await countOf(acl, 'rejected_calls'), 1);
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
    pieces: 6,
    unasked: ['$-1\r\n', '*-1\r\n', '+OK\r\n', '-ERR no\r\n', '*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n'],
    opened: (scope, at) => opened(scope, { EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${at}` }),
  });
});
