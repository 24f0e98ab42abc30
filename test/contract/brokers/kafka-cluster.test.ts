import { openKafka } from '../../../transport/events/brokers/kafka.ts';
import { numberedEvents } from '../../support/brokers/events.ts';
import { startMockKafka, takeKafka } from '../../support/brokers/kafka.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { areAll, connectionsOf, publishAll } from './contract.ts';

const test = await peerTest('kcat');

// The cluster is librdkafka's mock: it is there where Apache Kafka cannot be fetched, and it has three servers, which
// lead different partitions.
test('a cluster of three that creates topics on demand gets events in all partitions, in the order of each subject', async (t) => {
  const { brokers } = await startMockKafka(t);
  const broker = await connectionsOf('kafka', openKafka)(t, { EVENT_BROKER_KAFKA_URLS: brokers });
  const events = numberedEvents(2_000, 40);

  await publishAll(broker, events);

  const messages = await takeKafka(brokers, 'edge-commands-events', events.length);
  t.is(messages.length, events.length);
  areAll(
    t,
    messages.map(({ text }) => text),
    events,
  );
  t.true(new Set(messages.map(({ partition }) => partition)).size > 1);
});
