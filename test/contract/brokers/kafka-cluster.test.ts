import { openKafka } from '../../../transport/events/brokers/kafka.ts';
import { numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import { startMockKafka, takeKafka } from '../../support/brokers/kafka.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/peer-test.ts';

const test = await peerTest('kcat');

// The cluster is librdkafka's mock: it is there where Apache Kafka cannot be fetched, and it has three servers, which
// lead different partitions.
test('in a cluster of three, which creates the topics when asked for, events come to all partitions in the order of each subject', async (t) => {
  const { brokers } = await startMockKafka(t);
  const broker = await openKafka(brokerSettings('kafka', { EVENT_BROKER_KAFKA_URLS: brokers }), silentLog);
  t.teardown(() => broker.close());
  const events = numberedEvents(2_000, 40);

  for (let first = 0; first < events.length; first += 500) await broker.publish(events.slice(first, first + 500));

  const messages = await takeKafka(brokers, 'edge-commands-events', events.length);
  t.is(messages.length, events.length);
  t.deepEqual(
    Object.fromEntries(numbersBySubject(messages.map(({ text }) => text))),
    Object.fromEntries(numbersBySubject(events.map(({ text }) => text))),
  );
  t.true(new Set(messages.map(({ partition }) => partition)).size > 1);
});
