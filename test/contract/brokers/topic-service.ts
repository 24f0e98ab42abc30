/** What holds for every service of topics: SNS and Pub/Sub. */
import type { ExecutionContext } from 'ava';
import { EVENT_TYPES } from '../../../actors/events.ts';
import type { Broker, PublishedEvent } from '../../../transport/events/brokers/broker.ts';
import { scaled } from '../../support/busy.ts';
import { brokerEvent, numberedEvents } from '../../support/brokers/events.ts';
import { until } from '../../support/until.ts';
import { areAll, publishAll } from './contract.ts';

/** Who reads all topics. */
export interface Consumer<Message extends TopicMessage = TopicMessage> {
  messages(): readonly Message[];
}

/** One message as a consumer got it. */
export interface TopicMessage {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const bodiesOf = (consumer: Consumer) => consumer.messages().map(({ body }) => body);

/** Publishes these and waits until as many arrived. */
async function arrive(consumer: Consumer, broker: Broker, events: readonly PublishedEvent[]): Promise<void> {
  await publishAll(broker, events, 100);
  await until('all events to arrive', () => consumer.messages().length >= events.length);
}

/** Every type of event arrives by its topic with its type and the name of the core as attributes. */
export async function everyTypeArrives(t: ExecutionContext, consumer: Consumer, broker: Broker): Promise<void> {
  const events = EVENT_TYPES.map((type) => brokerEvent(type, `about-${type}`, { name: 'Größe "1"\n' }));

  await arrive(consumer, broker, events);

  t.is(consumer.messages().length, events.length);
  t.deepEqual(
    Object.fromEntries(consumer.messages().map(({ body, attributes }) => [body, attributes])),
    Object.fromEntries(events.map((event) => [event.text, { type: event.type, corename: 'tests' }])),
  );
}

/** Of three events a consumer that asked for one type gets that one. */
export async function onlyWantedArrives(t: ExecutionContext, consumer: Consumer, broker: Broker): Promise<void> {
  const wanted = brokerEvent('edge.node.status_changed', 'node-1');

  await broker.publish([
    brokerEvent('edge.node.registered', 'node-1'),
    wanted,
    brokerEvent('edge.node.reregistered', 'node-1'),
  ]);
  await until('the event to arrive', () => consumer.messages().length > 0);

  t.deepEqual(bodiesOf(consumer), [wanted.text]);
}

/** Many events arrive once each, in the order of each subject. */
export async function manyArrive(
  t: ExecutionContext,
  consumer: Consumer,
  broker: Broker,
  { count, subjects }: { readonly count: number; readonly subjects: number },
): Promise<void> {
  const events = numberedEvents(count, subjects);

  await arrive(consumer, broker, events);

  t.is(consumer.messages().length, count);
  areAll(t, bodiesOf(consumer), events);
}

/** A service that stands still fails a publish in time, and goes on when it runs again. */
export async function waitsNotForOneThatStands(
  t: ExecutionContext,
  consumer: Consumer,
  broker: Broker,
  { process, message }: { readonly process: { pause(): void; resume(): void }; readonly message: RegExp },
): Promise<void> {
  const event = brokerEvent('edge.core.test', 'core');
  process.pause();
  t.teardown(() => process.resume());
  const startMs = performance.now();

  await t.throwsAsync(broker.publish([event]), { message });

  t.true(performance.now() - startMs < scaled(13_000));
  process.resume();
  await broker.publish([event]);
  await until('the event to arrive', () => consumer.messages().length > 0);
}

/**
 * A service that is killed fails a publish, and takes the rest by a new connection when it is back. What that publish
 * took, in ms.
 */
export async function goesOnWhereItWasKilled(
  t: ExecutionContext,
  consumer: Consumer,
  broker: Broker,
  {
    kill,
    message,
    back,
  }: { readonly kill: () => Promise<unknown>; readonly message: RegExp; readonly back: () => Promise<Broker> },
): Promise<number> {
  const events = numberedEvents(200, 5);
  await arrive(consumer, broker, events.slice(0, 100));

  await kill();
  await t.throwsAsync(broker.publish(events.slice(100)), { message });
  await broker.close();
  const again = await back();
  const startMs = performance.now();
  await again.publish(events.slice(100));
  const tookMs = performance.now() - startMs;
  await until('the others', () => consumer.messages().length >= events.length);

  areAll(t, bodiesOf(consumer), events);
  return tookMs;
}
