/** A database whose bytes are no answers of PostgreSQL: its connection ends, and nothing else does. */
import { globSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { PoolClient } from 'pg';
import { ANSWER_BYTES_MAX, AnswerFrames } from '../../../../persistence/connections/answer-frames.ts';
import { isLost } from '../../../../persistence/connections/availability.ts';
import { DatabaseClient } from '../../../../persistence/connections/database-client.ts';
import { Series } from '../../../../persistence/connections/series.ts';
import { selfSigned } from '../../../../transport/vpn/relay/self-signed.ts';
import { damagedMessages, message } from '../../../support/database/damaged-messages.ts';
import { LET_IN } from '../../../support/database/silent-server.ts';
import { forEachAnswer } from '../../../support/net/hostile-answers.ts';
import { listening } from '../../../support/net/listening.ts';
import { seededNumbers } from '../../../support/seeded.ts';
import { ROOT } from '../../../support/source/source-text.ts';

/** How such a server answers one statement. Source: PostgreSQL, protocol-message-formats. */
const COLUMN = Buffer.concat([
  Buffer.from('\0\u0001one\0'),
  Buffer.alloc(6),
  Buffer.of(0, 0, 0, 23, 0, 4),
  Buffer.alloc(6),
]);
const ANSWERED = [
  message('T', COLUMN),
  message('D', Buffer.concat([Buffer.of(0, 1, 0, 0, 0, 1), Buffer.from('1')])),
  message('C', 'SELECT 1\0'),
  message('Z', 'I'),
];

/** What the audit's server said: each of them ended a process. */
const KNOWN = [
  [message('R', ''), []],
  [message('R', Buffer.of(0, 0, 0, 3)), []], // a password, and none is set
  [message('R', Buffer.of(0, 0, 0, 5)), []],
  [Buffer.concat(LET_IN), [message('T', COLUMN), message('D', Buffer.of(0, 5))]],
  [Buffer.concat(LET_IN), [message('T', Buffer.of(0, 9))]],
  [Buffer.concat(LET_IN), [message('A', '')]],
  [Buffer.concat(LET_IN), [message('C', '')]],
  [Buffer.concat(LET_IN), [message('E', 'S')]],
] as const;

/** One server's words: as it is greeted, and as it is asked. */
interface Reply {
  readonly greeting: Buffer;
  readonly answer: Buffer;
}

/** So many of each, half of them damaged while it lets in, half as it answers. */
const ANSWERS = 1_000;
const ANSWERS_BY_TLS = 100;

/** Servers that are asked at a time. */
const AT_ONCE = 20;

function corpus(count: number): readonly Reply[] {
  const numbers = seededNumbers(20_261_130);
  const known = KNOWN.map(([greeting, answer]) => ({ greeting, answer: Buffer.concat([...answer]) }));
  return Array.from({ length: count }, (_, index) => {
    const given = known[index];
    if (given !== undefined) return given;
    return index % 2 === 0
      ? { greeting: damagedMessages(LET_IN, numbers), answer: Buffer.concat(ANSWERED) }
      : { greeting: Buffer.concat(LET_IN), answer: damagedMessages(ANSWERED, numbers) };
  });
}

/** Says it to one client, and hangs up. */
function say(socket: Socket, { greeting, answer }: Reply): void {
  socket.on('error', () => {});
  socket.once('data', () => {
    if (!greeting.equals(Buffer.concat(LET_IN))) socket.end(greeting);
    else {
      socket.write(greeting);
      socket.once('data', () => socket.end(answer));
    }
  });
}

type Outcome = 'answered' | 'lost' | 'wrong';

/** What comes of one statement. */
async function ask(port: number, ssl: false | { readonly rejectUnauthorized: false }): Promise<Outcome> {
  const client = new DatabaseClient({ host: '127.0.0.1', port, user: 'edge', database: 'edge', ssl });
  const ended = Promise.withResolvers<void>();
  client.on('error', () => {}).once('end', ended.resolve);
  try {
    await client.connect();
    await client.query('select 1 as one');
    return 'answered';
  } catch (error) {
    return isLost(error) ? 'lost' : 'wrong';
  } finally {
    await Promise.race([client.end().catch(() => {}), ended.promise]);
  }
}

async function outcomesOf(
  t: ExecutionContext,
  said: readonly Reply[],
  serve: (next: () => Reply) => Parameters<typeof listening>[1],
  ssl: false | { readonly rejectUnauthorized: false },
): Promise<Readonly<Record<Outcome, number>>> {
  let next = 0;
  const server = serve(() => {
    next += 1;
    return said[(next - 1) % said.length] as Reply;
  });
  const port = await listening(t, server);
  const outcomes = { answered: 0, lost: 0, wrong: 0 };
  await forEachAnswer(said as never, AT_ONCE, async () => {
    outcomes[await ask(port, ssl)] += 1;
  });
  return outcomes;
}

test(`${ANSWERS} answers that no PostgreSQL gives end their connections, and no process`, async (t) => {
  const outcomes = await outcomesOf(t, corpus(ANSWERS), (next) => createServer((socket) => say(socket, next())), false);

  t.log(outcomes);
  t.true(outcomes.lost > ANSWERS / 4);
});

test(`${ANSWERS_BY_TLS} such answers over TLS do the same`, async (t) => {
  const { certificate, key } = selfSigned('127.0.0.1', Date.now());
  const secured = createTlsServer({ cert: certificate, key });
  const inner = await listening(t, secured);

  const outcomes = await outcomesOf(
    t,
    corpus(ANSWERS_BY_TLS),
    (next) => {
      secured.on('secureConnection', (socket) => say(socket, next()));
      return createServer((socket) =>
        socket.once('data', () => {
          socket.write('S');
          const far = connect(inner, '127.0.0.1').on('error', () => socket.destroy());
          socket
            .on('error', () => far.destroy())
            .pipe(far)
            .pipe(socket);
        }),
      );
    },
    { rejectUnauthorized: false },
  );

  t.log(outcomes);
  t.true(outcomes.lost > ANSWERS_BY_TLS / 4);
});

test('a server that is done with a series before it answered all of it is lost', async (t) => {
  const first = Buffer.concat(['1', '2'].map((type) => message(type, '')).concat(ANSWERED.slice(2)));
  const port = await listening(
    t,
    createServer((socket) => say(socket, { greeting: Buffer.concat(LET_IN), answer: first })),
  );
  const client = new DatabaseClient({
    host: '127.0.0.1',
    port,
    user: 'edge',
    database: 'edge',
    pipeline: true,
  });
  client.on('error', () => {});
  await client.connect();
  const series = new Series(client as unknown as PoolClient);
  const asked = ['select 1', 'select 2'].map((text) => series.client.query(text));

  const error: unknown = await t.throwsAsync(series.end());

  t.true(isLost(error));
  t.deepEqual(
    (await Promise.allSettled(asked)).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('a message that says to be longer than any is not waited for, and nothing is at its bound', (t) => {
  const head = (bytes: number): Buffer => {
    const said = message('D', '');
    said.writeUInt32BE(bytes, 1);
    return said;
  };

  t.notThrows(() => new AnswerFrames().check(head(ANSWER_BYTES_MAX)));
  t.throws(() => new AnswerFrames().check(head(ANSWER_BYTES_MAX + 1)));
});

test('what a server says is looked through however it is cut', (t) => {
  const whole = Buffer.concat([...LET_IN, message('N', 'SNOTICE\0M\0\0'), ...ANSWERED]);

  for (let cut = 0; cut <= whole.length; cut += 1) {
    const frames = new AnswerFrames();
    frames.check(whole.subarray(0, cut));
    t.notThrows(() => frames.check(whole.subarray(cut)), `${cut}`);
  }
});

test('nothing dials a database by another client', (t) => {
  const dialled = globSync('{api,cli,persistence,supervisors,settings,transport}/**/*.ts', { cwd: ROOT }).filter(
    (file) => /import \{(?:[^}]*,)? *Client\b[^}]*\} from 'pg'/u.test(readFileSync(join(ROOT, file), 'utf8')),
  );

  t.deepEqual(dialled, ['persistence/connections/database-client.ts']);
});
