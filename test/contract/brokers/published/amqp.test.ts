/**
 * Events by RabbitMQ, end to end: a whole admin, a real server in every way of connecting, and an independent client
 * with a durable queue.
 */
import ava from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import { startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import {
  bindQueue,
  isRouted,
  RABBIT_PASSWORD,
  readQueue,
  startRabbit,
  takeMessages,
  type RabbitServer,
} from '../../../support/brokers/rabbitmq.ts';
import { trust } from '../../../support/net/certificates.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { allCame, envelopes, eventsAcross, isWell, publishesWhatHappens, toldOnce } from './contract.ts';

const test = await peerTest('rabbitmq-server');

const scope = createScope();
let rabbit: RabbitServer;

// One server for all tests: it takes seconds to start.
test.before(async () => {
  rabbit = await startRabbit(scope);
  trust(rabbit.certificates);
});

ava.after.always('the server ends', () => scope.end());

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

    const queue = await readQueue(t, rabbit.url(), mode);

    const { told } = await publishesWhatHappens(t, admin, () => queue.texts);

    t.deepEqual(
      (await takeMessages(rabbit.url(), `${mode}: completed`, 1)).map(
        (message) => (JSON.parse(message.content.toString()) as Envelope).id,
      ),
      told.slice(-1).map(({ id }) => id),
    );
  });
}

test.serial(
  'a wrong password delays no command, is told once by the name of its setting, and is in no log line',
  async (t) => {
    const password = `${RABBIT_PASSWORD}-wrong`;
    const admin = await startPublishingAdmin(t, 'amqp091', { EVENT_BROKER_RABBITMQ_URL: rabbit.url({ password }) });

    await toldOnce(
      t,
      admin,
      `RabbitMQ at 127.0.0.1:${rabbit.port} (EVENT_BROKER_RABBITMQ_URL) cannot be used: it refuses the user name or password of EVENT_BROKER_RABBITMQ_URL.`,
      [password, encodeURIComponent(password)],
    );
  },
);

test.serial(
  'a server that is killed while events flow has them all in a durable queue afterwards, in order',
  async (t) => {
    await bindQueue(rabbit.url(), 'durable', 'edge.core.test');
    const admin = await startPublishingAdmin(t, 'amqp091', { EVENT_BROKER_RABBITMQ_URL: rabbit.url() });
    const events = await eventsAcross(admin, { goes: () => rabbit.process().kill(), comes: () => rabbit.start() });

    const queue = await readQueue(t, rabbit.url(), 'durable');
    await allCame(admin, () => queue.texts, events).catch(async (error: Error) => {
      const routes = (await isRouted(rabbit.url(), 'edge.core.test')) ? 'routes them' : 'has lost the binding';
      throw new Error(`${error.message}; the server ${routes}`, { cause: error });
    });
    t.deepEqual(
      envelopes(queue.texts).map(({ id }) => id),
      events.map(({ id }) => id),
    );
    await isWell(admin);
  },
);
