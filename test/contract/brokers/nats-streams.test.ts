/** What of events a NATS server keeps: its streams, and what happens when it is killed or hangs. */
import { BATCH_EVENTS_MAX } from '../../../transport/events/brokers/broker.ts';
import { openNats } from '../../../transport/events/brokers/nats.ts';
import { STREAMS } from '../../../transport/events/brokers/nats-streams.ts';
import { numberedEvents } from '../../support/brokers/events.ts';
import { startNats } from '../../support/brokers/nats.ts';
import { storedIn } from '../../support/brokers/nats-reader.ts';
import { freeze } from '../../support/frozen.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { areAll, connectionsOf, hangsNobody, isToldAsLost, publishAll } from './contract.ts';

const test = await peerTest('nats-server');

const opened = connectionsOf('nats', openNats);

test('10,000 events arrive once each and in order, and are still in their stream after the server was killed', async (t) => {
  const server = await startNats(t, 'user');
  const reader = await server.read('edge.>');
  const broker = await opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  const events = numberedEvents(10_000, 7);

  await publishAll(broker, events);
  await until('all events', () => reader.messages.length === events.length);
  await broker.publish(events.slice(-BATCH_EVENTS_MAX)); // as after a confirmation that got lost

  areAll(
    t,
    reader.messages.slice(0, events.length).map(({ text }) => text),
    events,
  );
  await server.kill();
  await server.start();
  const info = await (await server.read()).ask('$JS.API.STREAM.INFO.EDGE_COMMANDS_EVENTS');
  t.like(info, { state: { messages: 10_000 } });
});

test('an event that its stream refuses is not overtaken by a later one of its entity', async (t) => {
  const server = await startNats(t);
  const operator = await server.read();
  const stream = { name: 'EDGE_COMMANDS_EVENTS', subjects: STREAMS['EDGE_COMMANDS_EVENTS'] };
  await operator.ask(`$JS.API.STREAM.CREATE.${stream.name}`, { ...stream, max_msg_size: 1_000 });
  const broker = await opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  const [first, ...later] = numberedEvents(9, 3);
  if (first === undefined) throw new Error('no event');
  const events = [{ ...first, text: first.text.padEnd(2_000) }, ...later];

  await t.throwsAsync(broker.publish(events), { message: /^NATS at \S+ did not take the events: /u });
  await until('the events of the others', async () => (await storedIn(operator, stream.name)).length >= 6);
  await operator.ask(`$JS.API.STREAM.UPDATE.${stream.name}`, stream);
  await broker.publish(events);

  areAll(t, await storedIn(operator, stream.name), events);
});

test('without JetStream 10,000 events arrive once each and in order', async (t) => {
  const server = await startNats(t);
  const reader = await server.read('edge.>');
  const broker = await opened(t, server.env);
  const events = numberedEvents(10_000, 7);

  await publishAll(broker, events);

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

    await isToldAsLost(t, broker, {
      kill: () => server.kill(),
      publish: /^NATS at \S+ did not take the events: /u,
      lost: /^The connection to NATS at \S+ is lost: (?:the server closed it|the connection was cut)\.$/u,
      opening: () => opened(t, env),
      refused: `NATS at 127.0.0.1:${server.port} cannot be used: nobody listens there.`,
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

  await hangsNobody(t, broker, () => opened(t, server.env));
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

test('the error names the setting and the stream when a server lacks JetStream or another stream has its subjects', async (t) => {
  const server = await startNats(t);
  await (
    await server.read()
  ).ask('$JS.API.STREAM.CREATE.ALL', { name: 'ALL', subjects: ['edge.>'], storage: 'memory' });

  await t.throwsAsync(opened(t, { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' }), {
    message:
      /^NATS at \S+ cannot be used with EVENT_BROKER_NATS_JETSTREAM: stream EDGE_\w+: JetStream says "subjects overlap with an existing stream"\.$/u,
  });
});
