/**
 * Events by RabbitMQ, end to end: a whole admin, a real server in every way of connecting, and an independent client
 * with a durable queue.
 */
import ava from 'ava';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Envelope } from '../../../../actors/events.ts';
import { COMMAND_EVENT_TYPES, startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import {
  bindQueue,
  RABBIT_PASSWORD,
  readQueue,
  startRabbit,
  takeMessages,
  type RabbitServer,
} from '../../../support/brokers/rabbitmq.ts';
import { brokerSettings } from '../../../support/brokers/settings.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('rabbitmq-server');

const scope = createScope();
let rabbit: RabbitServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  rabbit = await startRabbit(scope);
  // as NODE_EXTRA_CA_CERTS does
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(rabbit.certificates.ca, 'utf8')]);
});

ava.after.always('the server ends', () => scope.end());

/** Without repeats, as at least once is promised. */
function envelopes(texts: readonly string[]): Envelope[] {
  return [
    ...new Map(texts.map((text) => JSON.parse(text) as Envelope).map((envelope) => [envelope.id, envelope])).values(),
  ];
}

const MODES: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  'without TLS': () => ({ EVENT_BROKER_RABBITMQ_URL: rabbit.url() }),
  'with TLS by the setting': () => ({
    EVENT_BROKER_RABBITMQ_URL: rabbit.url({ isTls: true }).replace('amqps:', 'amqp:'),
    EVENT_BROKER_RABBITMQ_SSL: 'true',
  }),
  'with TLS by the URL': () => ({ EVENT_BROKER_RABBITMQ_URL: rabbit.url({ isTls: true, host: 'localhost' }) }),
};

for (const [mode, env] of Object.entries(MODES)) {
  test.serial(`connected ${mode}, the admin publishes what happens under its type`, async (t) => {
    await bindQueue(rabbit.url(), mode);
    await bindQueue(rabbit.url(), `${mode}: completed`, 'edge.command_execution.completed');
    const admin = await startPublishingAdmin(t, mode === 'without TLS' ? 'rabbitmq' : 'amqp091', env());

    const [event] = await admin.testEvents(1);
    const execution = await admin.command();

    const queue = await readQueue(t, rabbit.url(), mode);
    const told = await until('the end of the execution', () => {
      const seen = envelopes(queue.texts).filter(({ data }) => data['command_execution_id'] === execution.id);
      return seen.length >= COMMAND_EVENT_TYPES.length && seen;
    });
    t.deepEqual(
      told.map(({ type }) => type),
      [...COMMAND_EVENT_TYPES],
    );
    t.deepEqual(
      envelopes(queue.texts).find(({ id }) => id === event?.id),
      event,
    );
    t.deepEqual(
      (await takeMessages(rabbit.url(), `${mode}: completed`, 1)).map(
        (message) => (JSON.parse(message.content.toString()) as Envelope).id,
      ),
      told.slice(-1).map(({ id }) => id),
    );
    t.is(await admin.brokerProblem(), null);
  });
}

test.serial(
  'a wrong password delays no command, is told once by the name of its setting, and is in no log line',
  async (t) => {
    const password = `${RABBIT_PASSWORD}-wrong`;
    const admin = await startPublishingAdmin(t, 'amqp091', { EVENT_BROKER_RABBITMQ_URL: rabbit.url({ password }) });

    await admin.testEvents(1);
    const execution = await admin.command();
    const line = await admin.log.seen(/events cannot be published now/u);

    t.is(execution.status, 'completed');
    t.like(line, {
      level: 'warn',
      fields: {
        error: `RabbitMQ at 127.0.0.1:${rabbit.port} (EVENT_BROKER_RABBITMQ_URL) cannot be used: it refuses the user name or password of EVENT_BROKER_RABBITMQ_URL.`,
      },
    });
    t.false(
      [password, encodeURIComponent(password)].some((secret) => JSON.stringify(admin.log.lines).includes(secret)),
    );
    t.regex((await admin.brokerProblem()) ?? '', /^the broker cannot be reached: \d+ events wait$/u);
  },
);

test.serial(
  'a server that is killed while events flow has them all in a durable queue afterwards, in order',
  async (t) => {
    await bindQueue(rabbit.url(), 'durable', 'edge.core.test');
    const admin = await startPublishingAdmin(t, 'amqp091', { EVENT_BROKER_RABBITMQ_URL: rabbit.url() });
    const events = [...(await admin.testEvents(30))];
    const flowing = admin.testEvents(150);

    rabbit.process().kill();
    await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
    await rabbit.start();
    events.push(...(await flowing), ...(await admin.testEvents(20)));

    const queue = await readQueue(t, rabbit.url(), 'durable');
    await until('all events', () => envelopes(queue.texts).length >= events.length);
    t.deepEqual(
      envelopes(queue.texts).map(({ id }) => id),
      events.map(({ id }) => id),
    );
    await until('health', async () => (await admin.brokerProblem()) === null);
  },
);

test('wrong settings stop the start, with a line that names each', (t) => {
  const problem = (env: Readonly<Record<string, string>>): string =>
    t.throws(() => brokerSettings('amqp091', env)).message;

  t.regex(problem({}), /^EVENT_BROKER_RABBITMQ_URL is not set: /u);
  for (const url of [
    'http://edge:the-word@127.0.0.1',
    'edge:the-word@127.0.0.1',
    'amqp://edge:the-word%@127.0.0.1',
    'amqp:///the-word',
  ]) {
    t.regex(problem({ EVENT_BROKER_RABBITMQ_URL: url }), /^EVENT_BROKER_RABBITMQ_URL .*it should be a URL like amqp:/u);
    t.false(problem({ EVENT_BROKER_RABBITMQ_URL: url }).includes('the-word'), url);
  }
  t.regex(
    problem({ EVENT_BROKER_RABBITMQ_URL: 'amqp://127.0.0.1', EVENT_BROKER_RABBITMQ_SSL: 'perhaps' }),
    /^EVENT_BROKER_RABBITMQ_SSL /u,
  );
});
