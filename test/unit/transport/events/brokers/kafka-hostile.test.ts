/** A Kafka that says what no honest one does: it costs this program one connection, and no time of anybody else. */
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Broker } from '../../../../../transport/events/brokers/broker.ts';
import { ANSWER_BYTES_MAX } from '../../../../../transport/events/brokers/kafka-answers.ts';
import { openKafka, CONNECTION_MS_MIN } from '../../../../../transport/events/brokers/kafka.ts';
import {
  SCRAM_ITERATIONS_MAX,
  SESSION_MS_MAX,
  SESSION_MS_MIN,
} from '../../../../../transport/events/brokers/kafka-sign-in.ts';
import { brokerEvent } from '../../../../support/brokers/events.ts';
import { startFakeKafka, type KafkaSayings } from '../../../../support/brokers/fake-kafka.ts';
import { brokerSettings } from '../../../../support/brokers/settings.ts';
import { silentLog } from '../../../../support/log.ts';
import { until } from '../../../../support/until.ts';

const EVENT = brokerEvent('edge.core.test', 'subject');

const LOGIN = { EVENT_BROKER_KAFKA_USERNAME: 'edge', EVENT_BROKER_KAFKA_PASSWORD: 'word' };

async function opened(t: ExecutionContext, sayings: KafkaSayings, env: Readonly<Record<string, string>> = {}) {
  const address = `127.0.0.1:${await startFakeKafka(t, sayings)}`;
  const broker = await openKafka(brokerSettings('kafka', { EVENT_BROKER_KAFKA_URLS: address, ...env }), silentLog);
  t.teardown(() => broker.close());
  return broker;
}

for (const brokerPort of [70_000, -1, 0]) {
  test.serial(`a broker at port ${brokerPort} takes no events, and says so`, async (t) => {
    const broker = await opened(t, { brokerPort });

    const problem = await t.throwsAsync(broker.publish([EVENT]));

    t.regex(problem.message, /^Kafka at .* did not take the events: /u);
  });
}

/** Its first answer of SCRAM, with so many iterations. */
const scram = (iterations: number | string) => (said: string) => ({
  answer: `r=${/,r=(?<nonce>.*)$/su.exec(said)?.groups?.['nonce']}x,s=c2FsdA==,i=${iterations}`,
});

/** How often it is begun while something goes on. Each takes one of the few threads of files, names and hashes. */
async function countPbkdf2(during: Promise<unknown>): Promise<number> {
  let begun = 0;
  const hook = createHook({ init: (_id, type) => void (begun += Number(type === 'PBKDF2REQUEST')) }).enable();
  await during;
  hook.disable();
  return begun;
}

for (const mechanism of ['scram_sha_256', 'scram_sha_512'])
  test.serial(`by ${mechanism} a broker has this program compute no more than an honest one asks for`, async (t) => {
    const env = { ...LOGIN, EVENT_BROKER_KAFKA_SASL_MECHANISM: mechanism };

    for (const iterations of [SCRAM_ITERATIONS_MAX + 1, 2 ** 31 - 1]) {
      const opening = t.throwsAsync(opened(t, { signIn: scram(iterations) }, env));
      t.is(await countPbkdf2(opening), 0);
      t.regex(
        (await opening).message,
        new RegExp(`cannot be used: it wants ${iterations} iterations for a password, more than 100000\\.$`, 'u'),
      );
    }

    const honest = t.throwsAsync(opened(t, { signIn: scram(SCRAM_ITERATIONS_MAX) }, env));
    t.is(await countPbkdf2(honest), 1);
    t.regex((await honest).message, /it refuses EVENT_BROKER_KAFKA_USERNAME or EVENT_BROKER_KAFKA_PASSWORD\.$/u);
  });

for (const lifetimeMs of [1, 32 * 86_400_000, Number.MAX_SAFE_INTEGER])
  test.serial(`a session of ${lifetimeMs} ms has this program sign in once, and not again and again`, async (t) => {
    let signIns = 0;
    const signIn = () => {
      signIns += 1;
      return { lifetimeMs };
    };
    const startMs = performance.now();
    const broker = await opened(t, { signIn }, { ...LOGIN, EVENT_BROKER_KAFKA_SASL_MECHANISM: 'plain' });
    const connections = signIns;

    for (let count = 0; count < 100; count += 1) await broker.publish([EVENT]);

    const sessionMs = Math.max(lifetimeMs, SESSION_MS_MIN);
    t.is(connections, 1);
    t.true(signIns <= 1 + (performance.now() - startMs) / (0.8 * sessionMs), `${signIns} sign-ins`);
  });

test.serial('iterations that are no number are no more than others, and nothing is computed', async (t) => {
  const env = { ...LOGIN, EVENT_BROKER_KAFKA_SASL_MECHANISM: 'scram_sha_256' };

  const opening = t.throwsAsync(opened(t, { signIn: scram('x') }, env));

  t.is(await countPbkdf2(opening), 0);
  t.regex((await opening).message, /it refuses EVENT_BROKER_KAFKA_USERNAME or EVENT_BROKER_KAFKA_PASSWORD\.$/u);
});

for (const said of ['HTTP/1.1 400 Bad Request\r\n\r\n', '\u00ff\u00ff\u00ff\u00ff'])
  test.serial(`what begins with ${JSON.stringify(said.slice(0, 4))} is no Kafka broker`, async (t) => {
    const refusal = await t.throwsAsync(
      opened(t, { dialled: (socket) => void socket.write(Buffer.from(said, 'latin1')) }),
    );

    t.regex(refusal.message, /cannot be used: what listens there is no Kafka broker\.$/u);
  });

test.serial('an answer that is too long is not taken: neither while a broker is opened, nor unasked', async (t) => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(ANSWER_BYTES_MAX + 1);
  const tooLong = Buffer.concat([length, Buffer.alloc(20_000_000)]);
  let isTaken: boolean | undefined;
  const send = (socket: Socket) => socket.write(tooLong, (error) => (isTaken = !error));
  const wasTaken = () => until('it to be sent, or not', () => isTaken !== undefined && { isTaken });

  const told = (what: string) =>
    new RegExp(
      `${what}: it announces an answer of ${ANSWER_BYTES_MAX + 1} bytes, more than ${ANSWER_BYTES_MAX}\\.$`,
      'u',
    );

  const refusal = await t.throwsAsync(opened(t, { dialled: send }));
  t.regex(refusal.message, told('cannot be used'));
  t.deepEqual(await wasTaken(), { isTaken: false });

  for (const laterMs of [0, CONNECTION_MS_MIN]) {
    const sockets: Socket[] = [];
    const broker = await opened(t, { dialled: (socket) => sockets.push(socket) });
    isTaken = undefined;
    skewed(t, laterMs);
    sockets.forEach(send);
    t.deepEqual(await wasTaken(), { isTaken: false });
    t.regex((await broker.lost).message, told('is lost'));
  }
});

test.serial('a connection that is cut is not told by what a server was left for while it was opened', async (t) => {
  const sockets: Socket[] = [];
  const tooLong = await startFakeKafka(t, { dialled: (socket) => void socket.write(Buffer.alloc(4, 0x20)) });
  const honest = await startFakeKafka(t, { dialled: (socket) => sockets.push(socket) });
  const broker = await openKafka(
    brokerSettings('kafka', {
      ...LOGIN,
      EVENT_BROKER_KAFKA_SASL_MECHANISM: 'plain',
      EVENT_BROKER_KAFKA_URLS: `127.0.0.1:${tooLong},127.0.0.1:${honest}`,
    }),
    silentLog,
  );
  t.teardown(() => broker.close());

  const published = t.throwsAsync(broker.publish([EVENT]));
  for (const socket of sockets) socket.destroy();

  t.regex(
    (await published).message,
    /did not take the events: (?:it closed the connection|the connection was cut)\.$/u,
  );
});

/** Has the clock of this program stand more than so many ms later from now on. */
function skewed(t: ExecutionContext, ms: number): void {
  const now = performance.now.bind(performance);
  performance.now = () => now() + ms + 1;
  t.teardown(() => (performance.now = now));
}

const isLost = (broker: Broker): Promise<boolean> => Promise.race([broker.lost.then(() => true), nextTurn(false)]);

test.serial(
  'a broker that hangs up on a quiet client is dialled again, and one that goes on with it is lost',
  async (t) => {
    const sockets: Socket[] = [];
    let isSick = false;
    let sickDials = 0;
    const dialledOn = Promise.withResolvers<string>();
    const broker = await opened(t, {
      dialled(socket) {
        sockets.push(socket);
        if (isSick && (sickDials += 1) > 50) dialledOn.resolve('dialled without a pause');
      },
      answered: (_request, socket) => isSick && socket.end(),
    });
    const dialled = sockets.length;

    skewed(t, CONNECTION_MS_MIN);
    for (const socket of sockets) socket.end();
    const next = await until('another connection', () => sockets[dialled]);
    await broker.publish([EVENT]);
    t.false(await isLost(broker));

    skewed(t, CONNECTION_MS_MIN);
    isSick = true;
    next.end();

    t.regex(
      String(await Promise.race([broker.lost, dialledOn.promise])),
      /^Error: The connection to Kafka at .* is lost: it closed the connection\.$/u,
    );
    t.true(sickDials <= 2, `${sickDials} dials`);
  },
);

test.serial('a server that lets nobody in is asked when it is its turn, and not for ever', async (t) => {
  const sockets: Socket[] = [];
  let dials = 0;
  const closed = await startFakeKafka(t, {
    dialled(socket) {
      dials += 1;
      socket.end();
    },
  });
  const open = await startFakeKafka(t, {
    dialled: (socket) => sockets.push(socket),
    signIn: () => ({ lifetimeMs: SESSION_MS_MAX }),
  });
  const broker = await openKafka(
    brokerSettings('kafka', {
      ...LOGIN,
      EVENT_BROKER_KAFKA_SASL_MECHANISM: 'plain',
      EVENT_BROKER_KAFKA_URLS: `127.0.0.1:${closed},127.0.0.1:${open}`,
    }),
    silentLog,
  );
  t.teardown(() => broker.close());
  const before = dials;
  skewed(t, CONNECTION_MS_MIN);

  for (const socket of sockets.slice()) {
    socket.end();
    await once(socket, 'close');
  }
  await until('another connection', () => sockets.length > 1);
  for (let count = 0; count < 50; count += 1) await broker.publish([EVENT]);

  t.true(dials - before <= 2, `${dials - before} dials`);
  t.false(await isLost(broker));
});
