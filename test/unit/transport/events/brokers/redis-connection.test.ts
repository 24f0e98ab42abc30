import test from 'ava';
import { redisOptions, redisReason, redisServers } from '../../../../../transport/events/brokers/redis-connection.ts';
import { brokerSettings } from '../../../../support/brokers/settings.ts';

const LOGIN = { EVENT_BROKER_REDIS_USERNAME: 'edge', EVENT_BROKER_REDIS_PASSWORD: 'word' };

test('servers keep their order, and one rediss: URL encrypts them all', (t) => {
  const servers = redisServers(
    brokerSettings('redis', { EVENT_BROKER_REDIS_URLS: 'redis://one.example,rediss://[::1]:7000', ...LOGIN }),
  );
  const login = {
    username: 'edge',
    password: 'word',
    credentialNames: 'EVENT_BROKER_REDIS_USERNAME with EVENT_BROKER_REDIS_PASSWORD',
  };

  t.deepEqual(servers, [
    { host: 'one.example', port: 6379, isEncrypted: true, ...login },
    { host: '::1', port: 7000, isEncrypted: true, ...login },
  ]);
});

test('sentinels have a port and a password of their own', (t) => {
  const [sentinel] = redisServers(
    brokerSettings('redis', {
      EVENT_BROKER_REDIS_URLS: 'redis://one.example',
      EVENT_BROKER_REDIS_MODE: 'sentinel',
      EVENT_BROKER_REDIS_SENTINEL_GROUP: 'edge',
      EVENT_BROKER_REDIS_SENTINEL_PASSWORD: 'theirs',
      ...LOGIN,
    }),
  );

  t.deepEqual(sentinel, {
    host: 'one.example',
    port: 26_379,
    isEncrypted: false,
    username: null,
    password: 'theirs',
    credentialNames: 'EVENT_BROKER_REDIS_SENTINEL_PASSWORD',
  });
});

test('the client neither reconnects, repeats nor queues, and does not sign in by itself', (t) => {
  const [server] = redisServers(brokerSettings('redis', { EVENT_BROKER_REDIS_URLS: 'redis://one.example', ...LOGIN }));
  if (server === undefined) throw new Error('no server');
  const options = redisOptions(server, 1_000);

  t.like(options, {
    host: 'one.example',
    port: 6379,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    lazyConnect: true,
    connectTimeout: 1_000,
  });
  t.deepEqual([options.username, options.password, options.tls], [undefined, undefined, undefined]);
  t.is(
    redisReason(new Error('WRONGPASS invalid username-password pair'), server),
    'it refuses EVENT_BROKER_REDIS_USERNAME with EVENT_BROKER_REDIS_PASSWORD',
  );
});
