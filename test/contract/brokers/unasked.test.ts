/**
 * Brokers that send what nobody asked for: their connections end with a reason, and nothing of it is gathered.
 *
 * Promises: L2.
 */
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { FRAME_BYTES_MAX } from '../../../transport/events/brokers/amqp-frames.ts';
import { openAmqp } from '../../../transport/events/brokers/amqp.ts';
import { openMqtt, PACKET_BYTES_MAX } from '../../../transport/events/brokers/mqtt.ts';
import { ANSWER_BYTES_MAX } from '../../../transport/events/brokers/redis-answers.ts';
import { openRedis } from '../../../transport/events/brokers/redis.ts';
import {
  amqpFrame,
  headerFrame,
  METHODS,
  methodFrame,
  openAnsweringAmqp,
  shortString,
} from '../../support/brokers/answering-amqp.ts';
import { brokerEvent, numberedEvents } from '../../support/brokers/events.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { openTarget } from '../../support/net/listening.ts';
import { until } from '../../support/until.ts';
import { PLAIN } from './mqtt-fixture.ts';

/** Writes it again and again, until nobody reads. */
function writeOn(socket: Socket | undefined, piece: Buffer): void {
  socket?.write(piece, (error) => {
    if (!error) writeOn(socket, piece);
  });
}

const NOBODY_ASKED = 'it sends messages that nobody asked for';

const CONNACK = Buffer.from([0x20, 2, 0, 0]);

/** A message on the topic `a`: its head, and as many bytes as it announces. */
const mqttMessage = (qos: 0 | 1 | 2) =>
  Buffer.from([0x30 | (qos << 1), qos === 0 ? 4 : 6, 0, 1, 0x61, ...(qos === 0 ? [] : [0, 1]), 0x78]);
/** The head of a packet of 256 MiB. */
const MQTT_ENDLESS = Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1, 0x61]);

/** A connection to a server that took it, said so many bytes at once, and can say more; what it was told since. */
async function openedMqtt(t: ExecutionContext, atOnce: Buffer = Buffer.alloc(0)) {
  const pieces: Buffer[] = [];
  const { port, sockets } = await openTarget(t, (socket) => {
    socket.once('data', () => {
      socket.write(Buffer.concat([CONNACK, atOnce]));
      socket.on('data', (piece: Buffer) => pieces.push(piece));
    });
    socket.on('end', () => socket.end());
  });
  const broker = await openMqtt({ ...PLAIN, urls: [`mqtt://127.0.0.1:${port}`] }, silentLog);
  t.teardown(() => broker.close());
  const [socket] = sockets;
  if (socket === undefined) throw new Error('nobody is connected');
  const told = () => Buffer.concat(pieces).toString('latin1');
  return { broker, socket, told, name: `The connection to the MQTT server 127.0.0.1:${port}` };
}

test('an MQTT server that sends a message of QoS 2 is left', async (t) => {
  const { broker, socket, name } = await openedMqtt(t);

  socket.write(mqttMessage(2));

  t.is((await broker.lost).message, `${name} is lost: ${NOBODY_ASKED}.`);
});

const EVENT = brokerEvent('edge.core.test', 'core');
const TOPIC = 'edge/core/test';

/** How a message with the identifier 1 is confirmed. */
const PUBACK = '@\u0002\0\u0001';

/** With an identifier of 1, if it has one, and so much text that a few are more than one packet may be. */
const longMessage = (qos: 0 | 1) => {
  const head = mqttMessage(qos).subarray(2, -1);
  return Buffer.concat([Buffer.from([0x30 | (qos << 1), 0x80 | head.length, 0x40]), head, Buffer.alloc(8_192, 'x')]);
};
const LONG_MESSAGES = PACKET_BYTES_MAX / 4_096;

for (const qos of [0, 1] as const)
  test.serial(
    `an MQTT server that subscribes its clients by itself gets events, however much of QoS ${qos} it sends`,
    async (t) => {
      const { broker, socket, told } = await openedMqtt(
        t,
        Buffer.concat(Array.from({ length: LONG_MESSAGES }, () => longMessage(qos))),
      );
      const published = broker.publish([EVENT]);
      const id = await until('the event', () => {
        const at = told().indexOf(TOPIC) + TOPIC.length;
        return told().includes(EVENT.text) && told().slice(at, at + 2);
      });

      socket.write(Buffer.from(`@\u0002${id}`, 'latin1'));
      await published;

      await until('all confirmations', () => told().split(PUBACK).length > qos * LONG_MESSAGES);
      t.is(await Promise.race([broker.lost, Promise.resolve('not lost')]), 'not lost');
    },
  );

test.serial('an MQTT server that sends messages and reads no confirmation has none kept for it', async (t) => {
  const dialled: Socket[] = [];
  const note = (message: unknown) => dialled.push((message as { readonly socket: Socket }).socket);
  diagnostics.subscribe('net.client.socket', note);
  const { broker, socket, told } = await openedMqtt(t);
  diagnostics.unsubscribe('net.client.socket', note);
  const client = await until('its end', () => dialled.find(({ remotePort }) => remotePort === socket.localPort));
  socket.pause();
  const large = brokerEvent('edge.core.test', 'core', { text: 'x'.repeat(8_000_000) });
  const refused = t.throwsAsync(broker.publish([large]));
  await until('more than the system takes', () => client.writableNeedDrain);
  const held = client.writableLength;

  const messages = Buffer.alloc(100 * mqttMessage(1).length, mqttMessage(1));
  socket.write(messages);
  await until('them to come', () => client.bytesRead >= CONNACK.length + messages.length);
  await nextTurn();

  t.is(client.writableLength, held);
  socket.resume();
  await until('all confirmations', () => told().endsWith(PUBACK.repeat(100)));
  await broker.close();
  await refused;
});

for (const qos of [0, 1, 2] as const)
  test(`an MQTT server that sends a message of QoS ${qos} before it is open is refused`, async (t) => {
    const { port } = await openTarget(t, (other) => other.on('end', () => other.end()).write(mqttMessage(qos)));
    await t.throwsAsync(openMqtt({ ...PLAIN, urls: [`mqtt://127.0.0.1:${port}`] }, silentLog), {
      message: `No server of EVENT_BROKER_MQTT_URLS takes the connection (127.0.0.1:${port}: ${NOBODY_ASKED}).`,
    });
  });

test('an MQTT server that begins a packet without an end is left before much of it was taken', async (t) => {
  const { broker, socket, name } = await openedMqtt(t);

  socket.write(MQTT_ENDLESS);
  writeOn(socket, Buffer.alloc(PACKET_BYTES_MAX / 2));

  t.is((await broker.lost).message, `${name} is lost: it sends a packet that is no answer.`);
});

/** A connection to a Redis that answers whatever it is asked, and can say more. */
async function openedRedis(t: ExecutionContext) {
  const { port, sockets } = await openTarget(t, (socket) => {
    socket.on('end', () => socket.end());
    socket.on('data', (said: Buffer) => {
      const commands = said.toString('latin1').match(/^\*/gmu)?.length ?? 0;
      socket.write('+PONG\r\n'.repeat(commands));
    });
  });
  const broker = await openRedis(
    brokerSettings('redis', { EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${port}` }),
    silentLog,
  );
  t.teardown(() => broker.close());
  const [socket] = sockets;
  return { broker, socket, name: `Redis at 127.0.0.1:${port}` };
}

const NO_REDIS = 'what listens there is no Redis server';

for (const [what, begun, goesOn, reason] of [
  ['text', `$${ANSWER_BYTES_MAX + 1}\r\n`, 'x', NO_REDIS],
  ['list', '*1000000\r\n', '$0\r\n\r\n:1\r\n', 'its answer has no end'],
  ['line', '+', 'x', 'its answer has no end'],
] as const)
  test(`a Redis that begins a ${what} without an end is left`, async (t) => {
    const { broker, socket, name } = await openedRedis(t);

    socket?.write(begun);
    writeOn(socket, Buffer.from(goesOn.repeat(20_000)));

    t.is((await broker.lost).message, `The connection to ${name} is lost: ${reason}.`);
  });

test('a Redis that says an answer which nobody asked for is left, and so is one whose text is shorter than nothing', async (t) => {
  for (const [said, reason] of [
    ['+OK\r\n', 'it answers what nobody asked'],
    [`${'+\r\n'.repeat(60)}$$2\r\n+\r\n`, NO_REDIS],
  ] as const) {
    const { broker, socket, name } = await openedRedis(t);
    socket?.write(said);
    t.is((await broker.lost).message, `The connection to ${name} is lost: ${reason}.`);
  }
});

test('an invalid answer of Redis to a publish, or a hang-up, is named by the failed publish and the lost connection', async (t) => {
  for (const [answer, reason] of [
    ['$$2\r\n', NO_REDIS],
    [null, 'it closed the connection'],
  ] as const) {
    const { broker, socket, name } = await openedRedis(t);
    socket?.removeAllListeners('data').once('data', () => (answer === null ? socket.end() : socket.write(answer)));

    await t.throwsAsync(broker.publish([EVENT]), { message: `${name} did not take the events: ${reason}.` });

    t.is((await broker.lost).message, `The connection to ${name} is lost: ${reason}.`);
  }
});

/** A connection to RabbitMQ that took events. */
async function openedAmqp(t: ExecutionContext, log = silentLog) {
  const server = await openAnsweringAmqp(t);
  const settings = brokerSettings('amqp091', { EVENT_BROKER_RABBITMQ_URL: `amqp://127.0.0.1:${server.port}/` });
  const broker = await openAmqp(settings, log);
  t.teardown(() => broker.close());
  await broker.publish(numberedEvents(1, 1));
  return { broker, server, name: `The connection to RabbitMQ at 127.0.0.1:${server.port} (EVENT_BROKER_RABBITMQ_URL)` };
}

/** What is said of a message before its header. */
const RETURN = methodFrame(
  1,
  METHODS.return,
  Buffer.concat([Buffer.alloc(2), shortString(''), shortString('edge.events'), shortString('a')]),
);
const DELIVER = methodFrame(
  1,
  METHODS.deliver,
  Buffer.concat([shortString('nobody'), Buffer.alloc(9), shortString('edge.events'), shortString('a')]),
);

for (const [what, said] of Object.entries({
  'returns a message without an end': [RETURN, headerFrame(1, 30_000_000_000_000n), amqpFrame(3, 1, Buffer.alloc(9))],
  'delivers an empty one': [DELIVER, headerFrame(1, 0n)],
}))
  test(`a RabbitMQ that ${what} is left`, async (t) => {
    const { broker, server, name } = await openedAmqp(t);

    server.say(Buffer.concat(said));

    t.is((await broker.lost).message, `${name} is lost: ${NOBODY_ASKED}.`);
  });

test('a RabbitMQ that announces a frame which is too long is left, and the longest is read', async (t) => {
  const { broker, server, name } = await openedAmqp(t);
  server.say(amqpFrame(8, 0, Buffer.alloc(FRAME_BYTES_MAX - 1)));
  await broker.publish(numberedEvents(1, 1));

  server.say(amqpFrame(8, 0, Buffer.alloc(FRAME_BYTES_MAX)).subarray(0, 7));

  t.is((await broker.lost).message, `${name} is lost: it sends a frame of ${FRAME_BYTES_MAX + 1} bytes.`);
});

test('repeated blocked notices of RabbitMQ are logged once, and publishing resumes after an unblocked notice', async (t) => {
  const log = recordingLog();
  const { broker, server } = await openedAmqp(t, log);
  const blocked = methodFrame(0, METHODS.blocked, shortString('low'));

  server.say(Buffer.concat(Array.from({ length: 1_000 }, () => blocked)));
  server.say(methodFrame(0, METHODS.unblocked, Buffer.alloc(0)));
  server.say(methodFrame(0, METHODS.unblocked, Buffer.alloc(0)));
  await until('it takes events again', () => log.lines.some(({ level }) => level === 'info'));
  await broker.publish(numberedEvents(10, 2));

  t.deepEqual(log.lines, [
    { level: 'warn', fields: { reason: 'low' }, message: 'RabbitMQ takes no events now' },
    { level: 'info', fields: {}, message: 'RabbitMQ takes events again' },
  ]);
});
