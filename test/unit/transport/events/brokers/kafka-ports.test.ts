/** A Kafka that sends its clients to a port that is none: an answer like any other, which must not end the program. */
import test, { type ExecutionContext } from 'ava';
import { TOPICS } from '../../../../../actors/event-topics.ts';
import { openBroker } from '../../../../../transport/events/brokers/adapters.ts';
import { brokerEvent } from '../../../../support/brokers/events.ts';
import { brokerSettings } from '../../../../support/brokers/settings.ts';
import { silentLog } from '../../../../support/log.ts';
import { target } from '../../../../support/net/listening.ts';

/** Numbers of requests. Source: kafka.apache.org/protocol, API keys. */
const METADATA = 3;
const API_VERSIONS = 18;

const NO_TAGS = Buffer.from([0]);
const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const compact = (text: string): Buffer => Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)]);
const array = (items: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from([items.length + 1]), ...items]);

const VERSIONS = Buffer.concat([
  int16(0),
  array(
    [
      [0, 9],
      [METADATA, 12],
      [API_VERSIONS, 3],
    ].map(([key = 0, most = 0]) => Buffer.concat([int16(key), int16(0), int16(most), NO_TAGS])),
  ),
  int32(0),
  NO_TAGS,
]);

/** Every topic is at broker 1, which is at that port. */
function metadataOf(port: number): Buffer {
  const partition = Buffer.concat([
    int16(0),
    int32(0),
    int32(1),
    int32(0),
    array([int32(1)]),
    array([int32(1)]),
    array([]),
    NO_TAGS,
  ]);
  const topics = TOPICS.map((name) =>
    Buffer.concat([
      int16(0),
      compact(name),
      Buffer.alloc(16, 7),
      Buffer.from([0]),
      array([partition]),
      int32(0),
      NO_TAGS,
    ]),
  );
  return Buffer.concat([
    NO_TAGS,
    int32(0),
    array([Buffer.concat([int32(1), compact('127.0.0.1'), int32(port), NO_TAGS, NO_TAGS])]),
    NO_TAGS,
    int32(1),
    array(topics),
    NO_TAGS,
  ]);
}

/** Answers what every client asks first. */
function kafkaAt(t: ExecutionContext, brokerPort: number): Promise<number> {
  return target(t, (socket) => {
    let held = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
        const request = held.subarray(4, 4 + held.readInt32BE(0));
        held = held.subarray(4 + request.length);
        const body = request.readInt16BE(0) === API_VERSIONS ? VERSIONS : metadataOf(brokerPort);
        socket.write(Buffer.concat([int32(body.length + 4), request.subarray(4, 8), body]));
      }
    });
  });
}

for (const port of [70_000, -1, 0]) {
  test.serial(`a broker at port ${port} takes no events, and says so`, async (t) => {
    const broker = await openBroker(
      brokerSettings('kafka', { EVENT_BROKER_KAFKA_URLS: `127.0.0.1:${await kafkaAt(t, port)}` }),
      silentLog,
    );
    t.teardown(() => broker.close());

    const problem = await t.throwsAsync(broker.publish([brokerEvent('edge.core.test', 'subject')]));

    t.regex(problem.message, /^Kafka at .* did not take the events: /u);
  });
}
