/** How a NATS server is signed in to and trusted, and what it does not take. */
import { openNats } from '../../../transport/events/brokers/nats.ts';
import { STREAMS } from '../../../transport/events/brokers/nats-streams.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { authorization, NATS_MODES, startNats } from '../../support/brokers/nats.ts';
import { trust } from '../../support/net/certificates.ts';
import { recordingLog } from '../../support/log.ts';
import { target } from '../../support/net/listening.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { connectionsOf, outlivesDamage, refusalOf, strangers, toldTooLarge } from './contract.ts';

const test = await peerTest('nats-server');

test.before(() => {
  console.log = () => {}; // the client prints what it cannot read; cli/resident-program.ts takes that into the log
});

const opened = connectionsOf('nats', openNats);

/** One of each topic. */
const ONE_OF_EACH = [
  'edge.node.registered',
  'edge.enrollment_key.verified',
  'edge.command_execution.created',
  'edge.self_update_request.completed',
  'edge.ssh_username.verified',
  'edge.core.test',
] as const;

for (const mode of NATS_MODES) {
  test(`signing in by ${mode}, events reach a subscriber under their types, with JetStream and without`, async (t) => {
    const server = await startNats(t, mode);
    const reader = await server.read('edge.>');
    trust(server.certificates);
    const events = ONE_OF_EACH.map((type) => brokerEvent(type, 'subject'));

    for (const jetStream of ['false', 'true']) {
      const broker = await opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: jetStream });
      await broker.publish(events);
    }

    await until('all events', () => reader.messages.length === 2 * events.length);
    t.deepEqual(
      reader.messages.map(({ subject, text }) => ({ subject, text })),
      [...events, ...events].map(({ type, text }) => ({ subject: type, text })),
    );
    t.deepEqual(
      reader.messages.map(({ headers }) => /^Nats-Msg-Id: ?(?<id>.*)$/mu.exec(headers)?.groups?.['id']?.trim()),
      [...events.map(() => undefined), ...events.map(({ id }) => id)],
    );
  });
}

for (const mode of ['token', 'user', 'nkey', 'jwt'] as const) {
  test(`a wrong ${mode} is refused with the name of its setting, and is not repeated`, async (t) => {
    const { wrong, port } = await startNats(t, mode);

    const error = await refusalOf(
      t,
      opened(t, { EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${port}`, ...wrong?.env }),
      wrong?.secret ?? '',
    );

    t.true(error.startsWith(`NATS at 127.0.0.1:${port} cannot be used: it refuses EVENT_BROKER_NATS_`), error);
    t.true(
      Object.keys(wrong?.env ?? {}).every((name) => error.includes(name)),
      error,
    );
  });
}

test('a server that gave up waiting for the sign-in refuses no credential', async (t) => {
  const port = await target(t, (socket) => {
    socket.write('INFO {"server_id":"A","version":"2.10.0","proto":1,"auth_required":true,"max_payload":1048576}\r\n');
    socket.once('data', () => socket.end("-ERR 'Authentication Timeout'\r\n"));
  });

  t.is(
    await refusalOf(
      t,
      opened(t, { EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${port}`, EVENT_BROKER_NATS_TOKEN: 'token-of-the-tests' }),
      'token-of-the-tests',
    ),
    `NATS at 127.0.0.1:${port} cannot be used: it gave up waiting for the sign-in, as it or this admin is too busy.`,
  );
});

test('what cannot be a NATS server is told in one sentence each, and the next one is tried', async (t) => {
  const server = await startNats(t);
  const { silent, web } = await strangers(t);
  const urls = (...all: readonly string[]) => ({ EVENT_BROKER_NATS_URLS: all.join(',') });

  const error = await refusalOf(
    t,
    opened(
      t,
      urls(
        `nats://127.0.0.1:${web}`,
        'nats://127.0.0.1:1',
        'nats://no-such-host.invalid',
        `tls://127.0.0.1:${server.port}`,
      ),
    ),
  );
  t.is(
    error,
    [
      `NATS at 127.0.0.1:${web} cannot be used: what listens there is no NATS server.`,
      'NATS at 127.0.0.1:1 cannot be used: nobody listens there.',
      'NATS at no-such-host.invalid:4222 cannot be used: the host name is not known.',
      `NATS at 127.0.0.1:${server.port} cannot be used: server does not support 'tls'.`,
    ].join(' '),
  );

  const broker = await opened(t, urls(...[silent.port, web, server.port].map((port) => `nats://127.0.0.1:${port}`)));
  await t.notThrowsAsync(broker.publish([brokerEvent('edge.core.test', 'core')]));
  await until('nothing to stay behind', () => silent.sockets.size === 0);
});

test('a server whose certificate nobody vouches for, or that is for another host, is not trusted', async (t) => {
  const server = await startNats(t, 'tls');

  await t.throwsAsync(opened(t, server.env), {
    message: /its certificate is signed by nobody who is trusted here\.$/u,
  });
  await t.throwsAsync(opened(t, { EVENT_BROKER_NATS_URLS: `nats://localhost:${server.port}` }), {
    message: /its certificate is signed by nobody who is trusted here\.$/u,
  });
});

for (const jetStream of ['false', 'true']) {
  test(`what is larger than the server takes is left out and told, and holds up nothing (JetStream: ${jetStream})`, async (t) => {
    const server = await startNats(t, 'none', 'max_payload: 4096');
    const reader = await server.read('edge.>');
    const log = recordingLog();
    const broker = await opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: jetStream }, log);
    const [before, large, after] = [
      brokerEvent('edge.core.test', 'core'),
      brokerEvent('edge.core.test', 'core', { message: 'é'.repeat(2_000) }),
      brokerEvent('edge.core.test', 'core', { message: 'é'.repeat(1_500) }),
    ];

    await broker.publish([before, large, after]);

    await until('what fits', () => reader.messages.length === 2);
    t.deepEqual(
      reader.messages.map(({ text }) => text),
      [before.text, after.text],
    );
    toldTooLarge(t, log, large);
  });
}

test('a user without publish rights gets an error, JetStream or not; without stream rights, existing streams serve', async (t) => {
  const users = (permissions: string) =>
    authorization(
      `users: [ { user: boss, password: boss }, { user: edge, password: edge, permissions: { ${permissions} } } ]`,
    );
  const edge = { EVENT_BROKER_NATS_USERNAME: 'edge', EVENT_BROKER_NATS_PASSWORD: 'edge' };
  const event = [brokerEvent('edge.core.test', 'core')];
  const dumb = await startNats(t, 'none', users('publish: { deny: ["edge.>"] }'));
  for (const jetStream of ['false', 'true']) {
    const broker = await opened(t, { ...dumb.env, ...edge, EVENT_BROKER_NATS_JETSTREAM: jetStream });
    await t.throwsAsync(broker.publish(event), {
      message: /did not take the events: this user may not publish to edge\.core\.test\.$/u,
    });
  }

  const narrow = await startNats(t, 'none', users('publish: ["edge.>"]'));
  await opened(t, {
    ...narrow.env,
    EVENT_BROKER_NATS_USERNAME: 'boss',
    EVENT_BROKER_NATS_PASSWORD: 'boss',
    EVENT_BROKER_NATS_JETSTREAM: 'true',
  });
  const log = recordingLog();
  const trusted = await opened(t, { ...narrow.env, ...edge, EVENT_BROKER_NATS_JETSTREAM: 'true' }, log);

  await t.notThrowsAsync(trusted.publish(event));
  t.deepEqual(
    log.lines.map(({ message }) => message),
    Object.keys(STREAMS).map(() => 'This user of NATS may not manage streams, so they are taken to exist.'),
  );
});

for (const jetStream of ['false', 'true'])
  test(`500 connections damaged while opening or publishing end by themselves (JetStream: ${jetStream})`, async (t) => {
    const { port } = await startNats(t);

    await outlivesDamage(t, {
      port,
      connections: 500,
      pieces: jetStream === 'true' ? 20 : 6,
      opened: (scope, at) =>
        opened(scope, {
          EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${at}`,
          EVENT_BROKER_NATS_JETSTREAM: jetStream,
        }),
    });
  });
