import test from 'ava';
import { natsCredentialNames, natsOptions, natsServers } from '../../../../../transport/events/brokers/nats-options.ts';
import { covers } from '../../../../../transport/events/brokers/nats-streams.ts';
import { brokerSettings } from '../../../../support/brokers/settings.ts';

const settings = (env: Readonly<Record<string, string>> = {}) =>
  brokerSettings('nats', { EVENT_BROKER_NATS_URLS: 'tls://one.example,nats://10.0.0.2:4333,tls://[::1]:4222', ...env });

test('servers keep their order, their port has a default, and tls: insists on TLS', (t) => {
  t.deepEqual(natsServers(settings()), [
    { host: 'one.example', port: 4222, needsTls: true },
    { host: '10.0.0.2', port: 4333, needsTls: false },
    { host: '::1', port: 4222, needsTls: true },
  ]);
});

test('the client neither reconnects nor follows gossip, and a certificate must be for what the URL says', (t) => {
  const [named, plain, address] = natsServers(settings()).map((server) => natsOptions(settings(), server, 1_000));

  t.like(named, {
    servers: ['one.example:4222'],
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: 1_000,
    tls: { servername: 'one.example' },
  });
  t.like(plain, { servers: ['10.0.0.2:4333'], tls: undefined });
  t.like(address, { servers: ['[::1]:4222'], tls: { host: '::1' } });
});

test('a token comes before a user, and a refusal names the settings that were used', (t) => {
  const both = settings({
    EVENT_BROKER_NATS_TOKEN: 'token',
    EVENT_BROKER_NATS_USERNAME: 'edge',
    EVENT_BROKER_NATS_PASSWORD: 'word',
  });
  const user = settings({ EVENT_BROKER_NATS_USERNAME: 'edge', EVENT_BROKER_NATS_PASSWORD: 'word' });
  const options = [both, user].map((one) => natsOptions(one, { host: 'a', port: 1, needsTls: false }, 1_000));

  t.deepEqual(
    options.map(({ token, user: name, pass }) => ({ token, name, pass })),
    [
      { token: 'token', name: undefined, pass: undefined },
      { token: undefined, name: 'edge', pass: 'word' },
    ],
  );
  t.deepEqual(
    [both, user].map(({ auth }) => natsCredentialNames(auth)),
    ['EVENT_BROKER_NATS_TOKEN', 'EVENT_BROKER_NATS_USERNAME with EVENT_BROKER_NATS_PASSWORD'],
  );
});

test('a pattern covers a subject when every message of the subject matches it', (t) => {
  const pairs = [
    ['>', 'edge.node.>'],
    ['edge.>', 'edge.node.>'],
    ['edge.node.>', 'edge.node.>'],
    ['edge.*.>', 'edge.node.>'],
    ['edge.core.*', 'edge.core.test'],
    ['edge.core.test', 'edge.core.test'],
  ] as const;
  const not = [
    ['edge.node.*', 'edge.node.>'],
    ['edge.node.registered', 'edge.node.>'],
    ['edge.node', 'edge.node.>'],
    ['edge.core.test.>', 'edge.core.test'],
    ['edge.ssh.>', 'edge.node.>'],
  ] as const;

  t.deepEqual(
    pairs.filter(([pattern, subject]) => !covers(pattern, subject)),
    [],
  );
  t.deepEqual(
    not.filter(([pattern, subject]) => covers(pattern, subject)),
    [],
  );
});
