/** Brokers that say anything: opening one ends in a value or a rejection, and no byte of theirs ends the program. */
import type { Socket } from 'node:net';
import * as fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import { openBroker } from '../../../transport/events/brokers/adapters.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { brokerSettings } from '../../support/brokers/settings.ts';
import { damageWrite } from '../../support/net/damaged-bytes.ts';
import { silentLog } from '../../support/log.ts';
import { target } from '../../support/net/listening.ts';
import { seededNumbers } from '../../support/seeded.ts';

/** What each honest broker begins with; what follows is noise. */
const BROKERS = {
  nats: {
    env: (port: number) => ({ EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${port}` }),
    begins: [
      'INFO {"server_id":"x","max_payload":1048576}\r\n',
      'INFO {"version":"2.10.0","max_payload":1048576}\r\n',
      'INFO {"version":"2.10.0"}\r\nPONG\r\n',
      'INFO {"version":"2.10.0","tls_required":true}\r\n',
      'INFO {"version":"2.10.0","tls_available":true}\r\n\u0015\u0003\u0001',
      'INFO {"version":"2.10.0","auth_required":true,"nonce":7}\r\n',
      'INFO {"version":"2.10.0","ldm":true}\r\n+OK\r\nPONG\r\n',
      'INFO {"version":"2.10.0"}\r\n+OK\r\nPONG\r\nINFO null\r\n',
      'INFO {"version":"2.10.0"}\r\nPONG\r\n-ERR \'Permissions Violation for Publish to "\u0001"\'\r\n',
      'INFO {}\r\nPING\r\n',
      'INFO {"max_payload":-1}\r\nPONG\r\n',
      'INFO [\r\n',
      "INFO {}\r\n-ERR '\u0001'\r\n",
      'INFO {}\r\nMSG a 1 99999999999\r\n',
    ],
  },
  kafka: {
    env: (port: number) => ({ EVENT_BROKER_KAFKA_URLS: `127.0.0.1:${port}` }),
    begins: [
      '\0\0\0\u0010\0\0\0\u0001',
      '\u007f\u00ff\u00ff\u00ff',
      '\0\0\0\0',
      '\0\0\0\u0008\0\0\0\0\0\0\u00ff\u00ff',
    ],
  },
  amqp091: {
    env: (port: number) => ({ EVENT_BROKER_RABBITMQ_URL: `amqp://127.0.0.1:${port}/` }),
    begins: [
      'AMQP\0\0\u0009\u0001',
      '\u0001\0\0\0\0\0\u0015\0\n\0\n\0\u0009\0\0\0\0\0\0\0\u0005PLAIN\0\0\0\0\u00ce',
      '\u0001\0\0\u00ff\u00ff\u00ff\u00ff',
      '\u0008\0\0\0\0\0\0\u00ce',
      '\u0001\0\0\0\0\0\u0004\0\n\0\n\u00ce',
    ],
  },
  redis: {
    env: (port: number) => ({ EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${port}` }),
    begins: [
      '+OK\r\n+PONG\r\n',
      '-ERR \u0001\r\n',
      '$-2\r\n',
      '*99999999\r\n',
      ':1e9\r\n',
      '%1\r\n',
      '$5\r\nab\r\n',
      '-LOADING\r\n',
      '+OK\r\n+OK\r\n+OK\r\n',
    ],
  },
  mqtt: {
    env: (port: number) => ({ EVENT_BROKER_MQTT_URLS: `mqtt://127.0.0.1:${port}` }),
    begins: [
      '\u0020\u0002\0\0',
      '\u0020\u0002\0\u0005',
      '\u0020\u00ff\u00ff\u00ff\u00ff',
      '\u0030\u0002\0\u00ff',
      '\u0020\u0002\0\0\u0040\u0002\u00ff\u00ff',
      '\u00f0\0',
      '\u0020\u0002\0\0\u0062\u0002\0\u0001',
      '\u0020\u0002\0\0\u0034\u0006\0\u0001a\0\u0001x',
      '\u0020\u0002\0\0\u0030\u00ff\u00ff\u00ff\u007f\0\u0001a',
    ],
  },
} as const;

/** Answers to one adapter: an attempt costs more than an HTTP request. */
const ANSWERS = 200;

/** Of the server whose parser is reached only by one that says its version. */
const CONVERSATIONS = 1_000;

/** Attempts at a time. */
const AT_ONCE = 100;

test.before(() => {
  console.log = () => {}; // the client of NATS prints what it cannot read; cli/resident-program.ts takes that into the log
});

/** A server that says so to its n-th client, at once, and hangs up on its first word. */
function brokerThatSays(t: ExecutionContext, answers: readonly Buffer[]): Promise<number> {
  let clients = 0;
  return target(t, (socket) => {
    const said = answers[clients % answers.length] ?? Buffer.alloc(0);
    clients += 1;
    socket.once('data', () => socket.end()).write(said);
  });
}

for (const [adapter, { env, begins }] of Object.entries(BROKERS)) {
  test.serial(`${adapter}: ${ANSWERS} hostile beginnings are rejections`, async (t) => {
    const noise = fc.uint8Array({ maxLength: 200 });
    const answers = fc
      .sample(fc.tuple(fc.option(fc.constantFrom(...(begins as readonly string[]))), noise), {
        numRuns: ANSWERS,
        seed: 20_261_122,
      })
      .map(([begin, rest]) => Buffer.concat([Buffer.from(begin ?? '', 'latin1'), rest]));
    const port = await brokerThatSays(t, answers);
    let next = 0;
    const problems: string[] = [];

    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < ANSWERS) {
          next += 1;
          try {
            const broker = await openBroker(brokerSettings(adapter as keyof typeof BROKERS, env(port)), silentLog);
            try {
              await broker.publish([brokerEvent('edge.core.test', 'subject')]);
            } finally {
              await broker.close();
            }
          } catch (error) {
            problems.push((error as Error).message);
          }
        }
      }),
    );

    t.true(problems.length > 0);
    t.deepEqual(
      problems.filter((problem) => !/NATS|Kafka|RabbitMQ|Redis|MQTT/u.test(problem)),
      [],
      'each is a sentence of the adapter',
    );
  });
}

/** What an honest server of NATS says at first, and with its answer to whatever it was sent. */
const NATS_INFO = 'INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}\r\n';
const NATS_BESIDE = [
  'INFO {"server_id":"x","version":"2.10.0","connect_urls":["127.0.0.1:4222"]}\r\n',
  'PING\r\n',
  '+OK\r\n',
  'MSG edge.core.test 1 5\r\nhello\r\n',
  'HMSG edge.core.test 1 12 17\r\nNATS/1.0\r\n\r\nhello\r\n',
];

const NATS_OBJECTION = '-ERR \'Permissions Violation for Publish to "edge.core.test"\'\r\n';

/** Speaks as one, and says all that a server may besides. */
function speakNats(socket: Socket, objection = ''): void {
  socket.write(NATS_INFO);
  socket.on('data', (said: Buffer) => {
    const pings = said.toString('latin1').match(/^PING\r$/gmu)?.length ?? 0;
    if (pings > 0) socket.write(NATS_BESIDE.join('') + objection + 'PONG\r\n'.repeat(pings));
  });
}

/** What came of one connection. */
type Outcome = 'taken' | 'refused' | 'lost';

async function published(port: number): Promise<Outcome> {
  const settings = brokerSettings('nats', BROKERS.nats.env(port));
  let isOpen = false;
  try {
    const broker = await openBroker(settings, silentLog);
    isOpen = true;
    try {
      await broker.publish([brokerEvent('edge.core.test', 'subject')]);
    } finally {
      await broker.close();
    }
    return 'taken';
  } catch (error) {
    if (!(error as Error).message.includes('NATS')) throw error;
    return isOpen ? 'lost' : 'refused';
  }
}

test.serial(
  `nats: ${CONVERSATIONS} conversations that are damaged at the greeting, the sign-in or an answer end by themselves`,
  async (t) => {
    const outcomes = { taken: 0, refused: 0, lost: 0 };

    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, speaker) => {
        const numbers = seededNumbers(20_261_129 + speaker);
        let damagedAt = 0;
        const port = await target(t, (socket) => {
          damageWrite(socket, damagedAt, numbers);
          speakNats(socket, speaker % 4 === 0 ? NATS_OBJECTION : '');
        });
        for (let count = 0; count < CONVERSATIONS / AT_ONCE; count += 1) {
          damagedAt = 1 + (numbers() % 3);
          outcomes[await published(port)] += 1;
        }
      }),
    );

    t.log(outcomes);
    t.true(outcomes.refused > CONVERSATIONS / 4);
    t.true(outcomes.lost > CONVERSATIONS / 10, 'some are damaged while events are published');
    t.is(await published(await target(t, (socket) => speakNats(socket))), 'taken');
  },
);
