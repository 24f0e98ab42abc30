import ava, { type ExecutionContext } from 'ava';
import { openAmqp } from '../../../transport/events/brokers/amqp.ts';
import { brokerEvent, numberedEvents } from '../../support/brokers/events.ts';
import {
  bindQueue,
  RABBIT_PASSWORD,
  startRabbit,
  takeMessages,
  withChannel,
  type RabbitServer,
} from '../../support/brokers/rabbitmq.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { trust } from '../../support/net/certificates.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import {
  areAll,
  connectionsOf,
  givesUpSilence,
  outlivesDamage,
  publishAll,
  publishOn,
  publishUntilKilled,
  refusalOf,
} from './contract.ts';

const test = await peerTest('rabbitmq-server');

const scope = createScope();
let rabbit: RabbitServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  rabbit = await startRabbit(scope);
});

ava.after.always('the server ends', () => scope.end());

const amqp = connectionsOf('amqp091', openAmqp);
const opened = (t: ExecutionContext, url: string, isSsl = false, log = silentLog) =>
  amqp(t, { EVENT_BROKER_RABBITMQ_URL: url, EVENT_BROKER_RABBITMQ_SSL: String(isSsl) }, log);

const refusal = (t: ExecutionContext, url: string, isSsl = false) =>
  refusalOf(t, opened(t, url, isSsl), RABBIT_PASSWORD, encodeURIComponent(RABBIT_PASSWORD));

const textOf = (message: { readonly content: Buffer }) => message.content.toString();

test.serial('events go to a durable topic exchange under their types, persistent, as CloudEvents', async (t) => {
  const broker = await opened(t, rabbit.url());
  await bindQueue(rabbit.url(), 'routing', 'edge.node.*');
  const events = [
    brokerEvent('edge.node.registered', 'node-1', { name: 'Größe "1"\n' }),
    brokerEvent('edge.core.test', 'core'),
    brokerEvent('edge.node.status_changed', 'node-1'),
  ];

  await broker.publish(events);

  t.deepEqual(
    (await takeMessages(rabbit.url(), 'routing', 2)).map((message) => ({
      exchange: message.fields.exchange,
      key: message.fields.routingKey,
      id: message.properties.messageId as unknown,
      mode: message.properties.deliveryMode as unknown,
      contentType: message.properties.contentType as unknown,
      text: textOf(message),
    })),
    [events[0], events[2]].map((event) => ({
      exchange: 'edge.events',
      key: event?.type,
      id: event?.id,
      mode: 2,
      contentType: 'application/cloudevents+json; charset=utf-8',
      text: event?.text,
    })),
  );
});

test.serial('10,000 events arrive once each, in the order of each subject', async (t) => {
  const broker = await opened(t, rabbit.url());
  await bindQueue(rabbit.url(), 'many');
  const events = numberedEvents(10_000, 100);

  await publishAll(broker, events);

  const messages = await takeMessages(rabbit.url(), 'many', events.length);
  t.is(messages.length, events.length);
  areAll(t, messages.map(textOf), events);
});

test.serial(
  'a connection with TLS is made where the setting or the URL says so, to a server whose certificate is trusted',
  async (t) => {
    const url = rabbit.url({ isTls: true, host: 'localhost' });
    t.regex(await refusal(t, url), /: its certificate is signed by nobody who is trusted here\.$/u);
    trust(rabbit.certificates);
    await bindQueue(rabbit.url(), 'tls');

    for (const broker of [
      await opened(t, url),
      await opened(t, url.replace('amqps:', 'amqp:'), true),
      await opened(t, rabbit.url({ isTls: true })),
    ])
      await broker.publish([brokerEvent('edge.core.test', 'core')]);

    t.is((await takeMessages(rabbit.url(), 'tls', 3)).length, 3);
  },
);

test.serial(
  'a user who may only publish does so once the exchange is there, and one who may not is told when publishing',
  async (t) => {
    await bindQueue(rabbit.url(), 'permissions');
    const writer = await opened(t, rabbit.url({ user: 'writer' }));
    const nobody = await opened(t, rabbit.url({ user: 'nobody' }));

    await writer.publish([brokerEvent('edge.core.test', 'core')]);
    await t.throwsAsync(nobody.publish([brokerEvent('edge.core.test', 'core')]), {
      message:
        /did not take the events: its user of EVENT_BROKER_RABBITMQ_URL may not publish to the exchange edge\.events\.$/u,
    });

    t.is((await takeMessages(rabbit.url(), 'permissions', 1)).length, 1);
  },
);

test.serial(
  'what is wrong with the settings is said in one line that names the setting and not the password',
  async (t) => {
    const at = `RabbitMQ at 127.0.0.1:${rabbit.port} (EVENT_BROKER_RABBITMQ_URL) cannot be used`;

    t.is(
      await refusal(t, rabbit.url({ password: `${RABBIT_PASSWORD}!` })),
      `${at}: it refuses the user name or password of EVENT_BROKER_RABBITMQ_URL.`,
    );
    t.is(
      await refusal(t, rabbit.url().replace('edge%2Ftests', 'elsewhere')),
      `${at}: the virtual host of EVENT_BROKER_RABBITMQ_URL does not exist, or that user may not use it.`,
    );
    t.is(
      await refusal(t, rabbit.url(), true),
      `${at}: it does not speak TLS there, which EVENT_BROKER_RABBITMQ_SSL or amqps asks for.`,
    );
    t.regex(
      await refusal(t, rabbit.url({ isTls: true }).replace('amqps:', 'amqp:')),
      /; EVENT_BROKER_RABBITMQ_SSL may have to be true\.$/u,
    );
    t.is(
      await refusal(t, 'amqp://127.0.0.1:1'),
      'RabbitMQ at 127.0.0.1:1 (EVENT_BROKER_RABBITMQ_URL) cannot be used: nobody listens there.',
    );
  },
);

test.serial('an exchange of the same name that is of another kind is told of', async (t) => {
  await withChannel(rabbit.url(), async (channel) => {
    await channel.deleteExchange('edge.events');
    await channel.assertExchange('edge.events', 'fanout', { durable: false });
  });
  t.teardown(() => withChannel(rabbit.url(), async (channel) => channel.deleteExchange('edge.events')));

  t.regex(
    await refusal(t, rabbit.url()),
    /cannot be used: its exchange edge\.events is of another kind, and should be a durable topic exchange\.$/u,
  );
});

test.serial(
  'a deleted exchange fails the publish and ends the connection, and the next connection declares it again',
  async (t) => {
    const broker = await opened(t, rabbit.url());
    await withChannel(rabbit.url(), async (channel) => channel.deleteExchange('edge.events'));

    await t.throwsAsync(broker.publish(numberedEvents(10, 2)), {
      message: /did not take the events: it has no exchange edge\.events\.$/u,
    });
    t.regex((await broker.lost).message, /^The connection to RabbitMQ at .* is lost: it closed the channel\.$/u);
    await t.notThrowsAsync((await opened(t, rabbit.url())).publish(numberedEvents(10, 2)));
  },
);

test('a server that accepts and says nothing is given up in time', async (t) => {
  t.regex(
    await givesUpSilence(t, (port) => opened(t, `amqp://edge:secret@127.0.0.1:${port}`)),
    /cannot be used: it does not answer/u,
  );
});

test.serial(
  'a killed server is lost at once; its durable queue keeps confirmed events, and publishing resumes afterwards',
  async (t) => {
    const broker = await opened(t, rabbit.url());
    await bindQueue(rabbit.url(), 'durable');
    const events = numberedEvents(6_000, 50);

    const { problem, taken } = await publishUntilKilled(t, broker, events, {
      after: 2_000,
      kill: () => rabbit.process().kill(),
    });

    t.regex(problem, /did not take the events: (?:the connection was cut|it closed the connection)\.$/u);
    t.regex((await broker.lost).message, /^The connection to RabbitMQ at .* is lost: /u);
    await t.throwsAsync(broker.publish(numberedEvents(1, 1)));
    await rabbit.process().ended();
    t.regex(await refusal(t, rabbit.url()), /nobody listens there/u);
    await rabbit.start();
    // it is there and bound, as it was: a server confirms also what it has no queue for
    await bindQueue(rabbit.url(), 'durable');
    await publishAll(await opened(t, rabbit.url()), events.slice(taken));

    const messages = await takeMessages(rabbit.url(), 'durable', events.length);
    areAll(t, messages.map(textOf), events);
  },
);

test.serial('a server that is short of memory takes no events: the publish fails in time and says why', async (t) => {
  const log = recordingLog();
  const broker = await opened(t, rabbit.url(), false, log);
  await broker.publish(numberedEvents(1, 1)); // a server blocks connections that publish
  await rabbit.control('set_vm_memory_high_watermark', '0.0000001');

  await t.throwsAsync(publishOn(broker, 10), {
    message: /did not take the events: it takes no events now \(low on memory\)\.$/u,
  });
  t.deepEqual(log.lines, [
    { level: 'warn', fields: { reason: 'low on memory' }, message: 'RabbitMQ takes no events now' },
  ]);

  await broker.close();
  await rabbit.control('set_vm_memory_high_watermark', '0.4');
  await t.notThrowsAsync((await opened(t, rabbit.url())).publish(numberedEvents(1, 1)));
});

test.serial(
  '500 connections damaged after their first bytes, while opening or publishing, end by themselves',
  async (t) => {
    await outlivesDamage(t, {
      port: rabbit.port,
      connections: 500,
      pieces: 9,
      opened: (scope, at) =>
        amqp(scope, { EVENT_BROKER_RABBITMQ_URL: rabbit.url().replace(`:${rabbit.port}/`, `:${at}/`) }),
    });
  },
);
