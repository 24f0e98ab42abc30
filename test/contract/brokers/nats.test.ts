import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { BATCH_EVENTS_MAX } from '../../../transport/events/brokers/broker.ts';
import { openNats } from '../../../transport/events/brokers/nats.ts';
import { STREAMS } from '../../../transport/events/brokers/nats-streams.ts';
import { brokerEvent, numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import { NATS_MODES, startNats } from '../../support/brokers/nats.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { freeze } from '../../support/frozen.ts';
import { trust } from '../../support/certificates.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';
import { until } from '../../support/until.ts';
import { patient } from '../../support/busy.ts';

const test = await peerTest('nats-server');

/** One of each topic. */
const ONE_OF_EACH = [
  'edge.node.registered',
  'edge.enrollment_key.verified',
  'edge.command_execution.created',
  'edge.self_update_request.completed',
  'edge.ssh_username.verified',
  'edge.core.test',
] as const;

async function opened(t: ExecutionContext, env: Readonly<Record<string, string>>, log = silentLog) {
  const broker = await openNats(brokerSettings('nats', env), log);
  t.teardown(() => broker.close());
  return broker;
}

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

    const error = await t.throwsAsync(
      openNats(
        brokerSettings('nats', { EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${port}`, ...wrong?.env }),
        silentLog,
      ),
    );

    t.true(
      error.message.startsWith(`NATS at 127.0.0.1:${port} cannot be used: it refuses EVENT_BROKER_NATS_`),
      error.message,
    );
    t.true(
      Object.keys(wrong?.env ?? {}).every((name) => error.message.includes(name)),
      error.message,
    );
    t.false(error.message.includes(wrong?.secret ?? ''));
  });
}

test('what cannot be a NATS server is told in one sentence each, and the next one is tried', async (t) => {
  const server = await startNats(t);
  const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  const web = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
  await Promise.all([once(silent, 'listening'), once(web, 'listening')]);
  t.teardown(() => {
    silent.close();
    web.close();
  });
  const [a, b] = [silent, web].map((one) => (one.address() as AddressInfo).port);

  const error = await t.throwsAsync(
    openNats(
      {
        adapter: 'nats',
        urls: [
          `nats://127.0.0.1:${b}`,
          'nats://127.0.0.1:1',
          'nats://no-such-host.invalid',
          `tls://127.0.0.1:${server.port}`,
        ],
        jetStream: false,
        auth: null,
      },
      silentLog,
    ),
  );
  t.is(
    error.message,
    [
      `NATS at 127.0.0.1:${b} cannot be used: what listens there is no NATS server.`,
      'NATS at 127.0.0.1:1 cannot be used: nobody listens there.',
      'NATS at no-such-host.invalid:4222 cannot be used: the host name is not known.',
      `NATS at 127.0.0.1:${server.port} cannot be used: server does not support 'tls'.`,
    ].join(' '),
  );

  const broker = await opened(t, {
    EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${a},nats://127.0.0.1:${b},nats://127.0.0.1:${server.port}`,
  });
  await t.notThrowsAsync(broker.publish([brokerEvent('edge.core.test', 'core')]));
  t.is(
    await new Promise((resolve) => {
      silent.getConnections((_, count) => resolve(count));
    }),
    0,
  );
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

test('10,000 events arrive once each and in order, and are still in their stream after the server was killed', async (t) => {
  const server = await startNats(t, 'user');
  const reader = await server.read('edge.>');
  const broker = await opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  const events = numberedEvents(10_000, 7);

  for (let from = 0; from < events.length; from += BATCH_EVENTS_MAX)
    await broker.publish(events.slice(from, from + BATCH_EVENTS_MAX));
  await until('all events', () => reader.messages.length === events.length);
  await broker.publish(events.slice(-BATCH_EVENTS_MAX)); // as after a confirmation that got lost

  t.deepEqual(
    numbersBySubject(reader.messages.slice(0, events.length).map(({ text }) => text)),
    numbersBySubject(events.map(({ text }) => text)),
  );
  await server.kill();
  await server.start();
  const info = await (await server.read()).ask('$JS.API.STREAM.INFO.EDGE_COMMANDS_EVENTS');
  t.like(info, { state: { messages: 10_000 } });
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
    t.deepEqual(
      log.lines
        .filter(({ level }) => level === 'error')
        .map(({ message, fields }) => [message, (fields as { readonly event: string }).event]),
      [['an event is too large for the broker', large.id]],
    );
  });
}

test('without JetStream 10,000 events arrive once each and in order', async (t) => {
  const server = await startNats(t);
  const reader = await server.read('edge.>');
  const broker = await opened(t, server.env);
  const events = numberedEvents(10_000, 7);

  for (let from = 0; from < events.length; from += BATCH_EVENTS_MAX)
    await broker.publish(events.slice(from, from + BATCH_EVENTS_MAX));

  await until('all events', () => reader.messages.length === events.length);
  t.deepEqual(
    reader.messages.map(({ text }) => text),
    events.map(({ text }) => text),
  );
});

for (const jetStream of ['false', 'true']) {
  test(`a killed server is told as lost, and takes events from a new connection when it is back (JetStream: ${jetStream})`, async (t) => {
    const server = await startNats(t);
    const env = { ...server.env, EVENT_BROKER_NATS_JETSTREAM: jetStream };
    const broker = await opened(t, env);
    await broker.publish(numberedEvents(3, 1));

    const publishOn = async (): Promise<never> => {
      for (;;) await broker.publish(numberedEvents(BATCH_EVENTS_MAX, 1));
    };
    const underWay = t.throwsAsync(publishOn(), {
      message: new RegExp(`^NATS at 127\\.0\\.0\\.1:${server.port} did not take the events: `, 'u'),
    });
    await server.kill();

    t.regex(
      (await broker.lost).message,
      /^The connection to NATS at \S+ is lost: (?:the server closed it|the connection was cut)\.$/u,
    );
    await underWay;
    await t.throwsAsync(opened(t, env), {
      message: `NATS at 127.0.0.1:${server.port} cannot be used: nobody listens there.`,
    });

    await server.start();
    const reader = await server.read('edge.>');
    const later = numberedEvents(5, 1, 100);
    await (await opened(t, env)).publish(later);
    await until('the later events', () => reader.messages.length >= later.length);
    t.deepEqual(
      reader.messages.map(({ text }) => text),
      later.map(({ text }) => text),
    ); // nothing from while it was away
  });
}

test('a server that hangs rejects a publish and a connection in time, and holds up neither end', async (t) => {
  const server = await startNats(t);
  const broker = await opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  await freeze(server.process());
  const startMs = performance.now();

  await Promise.all([
    t.throwsAsync(broker.publish(numberedEvents(3, 1)), {
      message: /did not take the events: (?:it has not confirmed 3 events within 10000 ms|it does not answer)\.$/u,
    }),
    t.throwsAsync(opened(t, server.env), { message: /it does not answer within \d+ ms\.$/u }),
  ]);
  await broker.close();

  t.true(performance.now() - startMs < patient(12_500));
});

test('a user who may not publish is told so, with JetStream and without; one who may not manage streams is trusted to have them', async (t) => {
  const users = (permissions: string) =>
    `authorization { users: [ { user: boss, password: boss }, { user: edge, password: edge, permissions: { ${permissions} } } ] }`;
  const edge = { EVENT_BROKER_NATS_USERNAME: 'edge', EVENT_BROKER_NATS_PASSWORD: 'edge' };
  const event = [brokerEvent('edge.core.test', 'core')];
  const dumb = await startNats(t, 'none', users('publish: { deny: ["edge.>"] }'));
  const plain = await opened(t, { ...dumb.env, ...edge });
  await t.throwsAsync(plain.publish(event), {
    message: /did not take the events: this user may not publish to edge\.core\.test\.$/u,
  });
  const storing = await opened(t, { ...dumb.env, ...edge, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  await t.throwsAsync(storing.publish(event), {
    message: /did not take the events: this user may not publish to edge\.core\.test\.$/u,
  });

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

test('streams are created once, with bounds, and those of the operator keep their limits and subjects', async (t) => {
  const server = await startNats(t);
  const operator = await server.read();
  await operator.ask('$JS.API.STREAM.CREATE.EDGE_NODES_EVENTS', {
    name: 'EDGE_NODES_EVENTS',
    subjects: ['edge.node.>', 'shop.>'],
    storage: 'memory',
    max_age: 3_600_000_000_000,
  });
  await operator.ask('$JS.API.STREAM.CREATE.EDGE_CORE_EVENTS', {
    name: 'EDGE_CORE_EVENTS',
    subjects: ['edge.core.*'],
    storage: 'file',
    max_msgs: 17,
  });
  const env = { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' };

  await opened(t, env);
  await opened(t, env);

  const configs = await Promise.all(
    Object.keys(STREAMS).map(
      async (name) => (await operator.ask(`$JS.API.STREAM.INFO.${name}`))['config'] as Record<string, unknown>,
    ),
  );
  t.deepEqual(
    configs.map(({ name, subjects, storage, max_age: age, max_bytes: bytes, max_msgs: messages }) => ({
      name,
      subjects,
      storage,
      age,
      bytes,
      messages,
    })),
    [
      {
        name: 'EDGE_NODES_EVENTS',
        subjects: ['edge.node.>', 'shop.>', 'edge.enrollment_key.>'],
        storage: 'memory',
        age: 3_600_000_000_000,
        bytes: -1,
        messages: -1,
      },
      ...['EDGE_COMMANDS_EVENTS', 'EDGE_SELF_UPDATES_EVENTS', 'EDGE_SSH_EVENTS'].map((name) => ({
        name,
        subjects: STREAMS[name],
        storage: 'file',
        age: 604_800_000_000_000,
        bytes: 268_435_456,
        messages: -1,
      })),
      { name: 'EDGE_CORE_EVENTS', subjects: ['edge.core.*'], storage: 'file', age: 0, bytes: -1, messages: 17 },
    ],
  );
});

test('a server without JetStream, or one whose subjects belong to another stream, is told with the setting and the stream', async (t) => {
  const server = await startNats(t);
  await (
    await server.read()
  ).ask('$JS.API.STREAM.CREATE.ALL', { name: 'ALL', subjects: ['edge.>'], storage: 'memory' });

  await t.throwsAsync(opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' }), {
    message:
      /^NATS at \S+ cannot be used with EVENT_BROKER_NATS_JETSTREAM: stream EDGE_\w+: JetStream says "subjects overlap with an existing stream"\.$/u,
  });
});
