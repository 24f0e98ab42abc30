/** Settings of the event broker that hold together, and those that do not. */
import test from 'ava';
import { readAdminConfig } from '../../../settings/admin.ts';

const MASTER_KEY = 'master-key-of-the-tests-1234';

function problems(env: Readonly<Record<string, string>>): readonly string[] {
  const read = readAdminConfig({ MASTER_KEY, EVENT_BROKER_ENABLED: 'true', ...env });
  return read.ok ? [] : read.problems;
}

test('a query or fragment in the URL of a server, which would be lost, is refused without being repeated', (t) => {
  const line = (name: string) => [
    `${name} has a ? or # in it, which no server would see: it should be hosts and ports`,
  ];

  t.deepEqual(
    problems({ EVENT_BROKER_ADAPTER: 'redis', EVENT_BROKER_REDIS_URLS: 'redis://host?password=hunter2' }),
    line('EVENT_BROKER_REDIS_URLS'),
  );
  t.deepEqual(
    problems({ EVENT_BROKER_ADAPTER: 'mqtt', EVENT_BROKER_MQTT_URLS: 'mqtt://host,wss://other/path#part' }),
    line('EVENT_BROKER_MQTT_URLS'),
  );
  t.deepEqual(problems({ EVENT_BROKER_ADAPTER: 'nats', EVENT_BROKER_NATS_URLS: 'nats://host:4222,tls://other' }), []);
});

test('a Kafka server has a port from 1 to 65535', (t) => {
  const isTaken = (servers: string) =>
    problems({ EVENT_BROKER_ADAPTER: 'kafka', EVENT_BROKER_KAFKA_URLS: servers }).length === 0;

  t.deepEqual(['host:0', 'host:65536', 'host', 'host:1', 'host:65535,[::1]:9092'].map(isTaken), [
    false,
    false,
    false,
    true,
    true,
  ]);
});

test('the path of a WebSocket has no spaces, query or fragment', (t) => {
  const isTaken = (path: string) =>
    problems({
      EVENT_BROKER_ADAPTER: 'mqtt',
      EVENT_BROKER_MQTT_URLS: 'mqtt://host',
      EVENT_BROKER_MQTT_WEBSOCKET: 'true',
      EVENT_BROKER_MQTT_WEBSOCKET_PATH: path,
    }).length === 0;

  t.deepEqual(['/', '/a/b', 'a', '/a b', '/a?b', '/a#b'].map(isTaken), [true, true, false, false, false, false]);
});
