/** How connections to brokers are opened and used by all tests of them, and what holds for every adapter. */
import { inspect } from 'node:util';
import type { ExecutionContext } from 'ava';
import { BATCH_EVENTS_MAX, type Broker, type PublishedEvent } from '../../../transport/events/brokers/broker.ts';
import type { BrokerSettings } from '../../../transport/events/brokers/settings.ts';
import type { Log } from '../../../transport/net/log.ts';
import { isCrowded, scaled } from '../../support/busy.ts';
import { numberedEvents, numbersBySubject } from '../../support/brokers/events.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { silentLog, type recordingLog } from '../../support/log.ts';
import { openDamagingProxy } from '../../support/net/damaging-proxy.ts';
import { openTarget, silentPort, target } from '../../support/net/listening.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { seededNumbers } from '../../support/seeded.ts';

/** Settings as an operator would give them. */
export type Env = Readonly<Record<string, string>>;

/** Opens a connection, which is closed with the scope. */
export type Open = (scope: Scope, env: Env, log?: Log) => Promise<Broker>;

/** Connections of one adapter. */
export function connectionsOf<Name extends BrokerSettings['adapter']>(
  adapter: Name,
  open: (settings: Extract<BrokerSettings, { adapter: Name }>, log: Log) => Promise<Broker>,
): Open {
  return async (scope, env, log = silentLog) => {
    const broker = await openWithRetry(() => open(brokerSettings(adapter, env), log));
    scope.teardown(() => broker.close());
    return broker;
  };
}

/**
 * Opens a connection. On a crowded machine a server may take longer to answer than a connection waits, and is asked
 * once more, as an admin does.
 */
export async function openWithRetry(open: () => Promise<Broker>): Promise<Broker> {
  try {
    return await open();
  } catch (error) {
    if (!isCrowded() || !/does not answer/u.test((error as Error).message)) throw error;
    return open();
  }
}

/** Fails unless opening is refused in one line, with none of the secrets anywhere in the error; the line. */
export async function refusalOf(
  t: ExecutionContext,
  opening: Promise<Broker>,
  ...secrets: readonly string[]
): Promise<string> {
  const error = await t.throwsAsync(opening);
  t.notRegex(error.message, /\n/u);
  const all = inspect(error, { depth: null, showHidden: true, maxStringLength: null, maxArrayLength: null });
  t.false(secrets.some((secret) => all.includes(secret)));
  return error.message;
}

/** Publishes all of them, so many at a time. */
export async function publishAll(
  broker: Broker,
  events: readonly PublishedEvent[],
  atOnce = BATCH_EVENTS_MAX,
): Promise<void> {
  for (let first = 0; first < events.length; first += atOnce) await broker.publish(events.slice(first, first + atOnce));
}

/** Publishes without end; rejects when events are not taken any more. */
export async function publishOn(broker: Broker, atOnce = BATCH_EVENTS_MAX): Promise<never> {
  for (;;) await broker.publish(numberedEvents(atOnce, 1));
}

/**
 * Publishes them; the server is killed when so many were taken. What the publish says then, and how many were taken.
 */
export async function publishUntilKilled(
  t: ExecutionContext,
  broker: Broker,
  events: readonly PublishedEvent[],
  { after, kill }: { readonly after: number; readonly kill: () => unknown },
): Promise<{ readonly problem: string; readonly taken: number }> {
  let taken = 0;
  const publishing = async (): Promise<void> => {
    for (; taken < events.length; taken += 100) {
      if (taken === after) kill();
      await broker.publish(events.slice(taken, taken + 100));
    }
  };
  return { problem: (await t.throwsAsync(publishing())).message, taken };
}

/** The texts are those of the events: all of each subject in order, whatever came twice. */
export function areAll(t: ExecutionContext, texts: readonly string[], events: readonly PublishedEvent[]): void {
  t.deepEqual(numbersOf(texts), numbersOf(events.map(({ text }) => text)));
}

/** An object: where subjects are read one after the other they come in another order. */
const numbersOf = (texts: readonly string[]) => Object.fromEntries(numbersBySubject(texts));

/** One event was too large for the broker, which is told as an error, and nothing else is. */
export function toldTooLarge(t: ExecutionContext, log: ReturnType<typeof recordingLog>, { id }: PublishedEvent): void {
  t.deepEqual(
    log.lines
      .filter(({ level }) => level === 'error')
      .map(({ message, fields }) => [message, (fields as { readonly event: string }).event]),
    [['an event is too large for the broker', id]],
  );
}

/** A server that is killed under a publish is told as lost, and refuses until it is back. */
export async function isToldAsLost(
  t: ExecutionContext,
  broker: Broker,
  {
    kill,
    publish,
    lost,
    opening,
    refused,
  }: {
    readonly kill: () => Promise<unknown>;
    readonly publish: RegExp;
    readonly lost: RegExp;
    readonly opening: () => Promise<Broker>;
    readonly refused: string;
  },
): Promise<void> {
  const underWay = t.throwsAsync(publishOn(broker), { message: publish });

  await kill();

  t.regex((await broker.lost).message, lost);
  await underWay;
  await t.throwsAsync(opening(), { message: refused });
}

/** A server that hangs rejects a publish and a connection in time, and holds up neither end. */
export async function hangsNobody(t: ExecutionContext, broker: Broker, opening: () => Promise<Broker>): Promise<void> {
  const startMs = performance.now();

  await Promise.all([
    t.throwsAsync(broker.publish(numberedEvents(3, 1)), {
      message: /did not take the events: (?:it has not confirmed 3 events within 10000 ms|it does not answer)\.$/u,
    }),
    t.throwsAsync(opening(), { message: /cannot be used: it does not answer within \d+ ms\.$/u }),
  ]);
  await broker.close();

  t.true(performance.now() - startMs < scaled(12_500));
}

/** Ports of what cannot be a server: one that takes connections and says nothing, and one that speaks HTTP. */
export async function strangers(scope: Scope) {
  return {
    silent: await openTarget(scope, (socket) => socket.resume().on('end', () => socket.end())),
    web: await target(scope, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  };
}

/** A server that accepts and says nothing is given up in time; the refusal. */
export async function givesUpSilence(t: ExecutionContext, opened: (port: number) => Promise<Broker>): Promise<string> {
  const port = await silentPort(t);
  const startMs = performance.now();
  const refusal = await refusalOf(t, opened(port));
  t.true(performance.now() - startMs < scaled(13_000));
  return refusal;
}

/** Connections that are damaged at a time. */
const DAMAGED_AT_ONCE = 25;

/** One in so many pieces there has something behind it that nobody asked for. */
const UNASKED_ONE_IN = 8;

/** Events of one publish there; each connection publishes so often. */
const DAMAGED_EVENTS = 20;
const DAMAGED_PUBLISHES = 3;

/**
 * Connections by a way that damages one of the first so many pieces that the server says on each, be it while one is
 * opened or amid publishing: each ends in a value or in a sentence of the adapter, and one that is not damaged then
 * takes events.
 */
export async function outlivesDamage(
  t: ExecutionContext,
  {
    port,
    connections,
    pieces,
    opened,
    passed = (bytes) => bytes,
    unasked = [],
  }: {
    readonly port: number;
    readonly connections: number;
    readonly pieces: number;
    readonly opened: (scope: Scope, port: number) => Promise<Broker>;
    /** What the server says, as it is to be heard by whoever comes by this port. */
    readonly passed?: (bytes: Buffer, port: number) => Buffer;
    /** What a server may say that nobody asked for: one of it stands behind some of what is said. */
    readonly unasked?: readonly string[];
  },
): Promise<void> {
  const numbers = seededNumbers(20_261_129);
  const proxy = await openDamagingProxy(t, port, numbers);
  const more = (): string => (numbers() % UNASKED_ONE_IN === 0 ? (unasked[numbers() % unasked.length] ?? '') : '');
  proxy.passed = (bytes) => Buffer.concat([passed(bytes, proxy.port), Buffer.from(more())]);
  const counts = { refused: 0, lost: 0, taken: 0 };
  const publish = async (): Promise<keyof typeof counts> => {
    const scope = createScope();
    let isOpen = false;
    try {
      const broker = await opened(scope, proxy.port);
      isOpen = true;
      for (let count = 0; count < DAMAGED_PUBLISHES; count += 1)
        await broker.publish(numberedEvents(DAMAGED_EVENTS, 5));
      return 'taken';
    } catch (error) {
      if (!/NATS|Kafka|RabbitMQ|Redis|MQTT/u.test((error as Error).message)) throw error;
      return isOpen ? 'lost' : 'refused';
    } finally {
      await scope.end();
    }
  };
  proxy.pieceOf = () => 1 + (numbers() % pieces);

  let begun = 0;
  await Promise.all(
    Array.from({ length: DAMAGED_AT_ONCE }, async () => {
      while ((begun += 1) <= connections) counts[await publish()] += 1;
    }),
  );
  t.log({ ...counts, damaged: proxy.damaged() });
  proxy.pieceOf = () => Infinity;
  proxy.passed = (bytes) => passed(bytes, proxy.port);

  t.true(proxy.damaged() > connections / 2);
  t.true(counts.refused > 0 && counts.lost > connections / 10, 'some while it is opened, some amid publishing');
  t.is(await publish(), 'taken');
}
