/** Managed services that answer anything while they are opened: each opening ends, and the next one may succeed. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createHttp2Server, constants } from 'node:http2';
import { join } from 'node:path';
import test from 'ava';
import { openBroker } from '../../../transport/events/brokers/adapters.ts';
import type { BrokerSettings } from '../../../transport/events/brokers/settings.ts';
import { createLog } from '../../../transport/net/pino-log.ts';
import { brokerEvent } from '../../support/brokers/events.ts';
import { damageWrite } from '../../support/net/damaged-bytes.ts';
import { openDamagingProxy } from '../../support/net/damaging-proxy.ts';
import { hostileAnswers, openHostileTarget } from '../../support/net/hostile-answers.ts';
import { listening } from '../../support/net/listening.ts';
import { silentLog } from '../../support/log.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { seededNumbers } from '../../support/seeded.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { environment } from './published/contract.ts';

/** Answers of SNS that are damaged, beside as many that no web server gives. */
const DAMAGED = 1_000;

/** Openings of Pub/Sub: each loads what its library knows of the protocol. */
const PUBSUB_OPENINGS = 200;

const AT_ONCE = 10;

const SNS: BrokerSettings = { adapter: 'cloud_a_sns', region: 'eu-west-1', topicArnPrefix: 'arn:aws:sns:eu-west-1:1:' };
const PUBSUB: BrokerSettings = { adapter: 'cloud_b_pubsub', project: 'edge-tests', topicIdPrefix: '' };

/** Opens it, publishes one event and closes it; whether that went well. Rejects with what is no sentence of ours. */
async function published(settings: BrokerSettings): Promise<boolean> {
  try {
    const broker = await openBroker(settings, silentLog);
    try {
      await broker.publish([brokerEvent('edge.core.test', 'core')]);
      return true;
    } finally {
      await broker.close();
    }
  } catch (error) {
    if (!/SNS|Pub\/Sub/u.test((error as Error).message)) throw error;
    return false;
  }
}

/** Publishes as long as `isWanted`, some at a time; how often it went well. */
async function publishedWhile(settings: BrokerSettings, isWanted: () => boolean) {
  const counts = { well: 0, refused: 0 };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (isWanted()) counts[(await published(settings)) ? 'well' : 'refused'] += 1;
    }),
  );
  return counts;
}

/** Without credentials. */
const snsNames = (port: number) => ({
  AWS_ENDPOINT_URL_SNS: `http://127.0.0.1:${port}`,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
});

function snsEnvironment(scope: Scope, port: number): void {
  environment(scope, { ...snsNames(port), AWS_ACCESS_KEY_ID: 'anybody', AWS_SECRET_ACCESS_KEY: 'anything' });
}

/** As the service answers a batch of nothing, and one of one. */
const EMPTY_BATCH =
  '<ErrorResponse><Error><Type>Sender</Type><Code>EmptyBatchRequest</Code><Message>no entries</Message></Error></ErrorResponse>';
const TAKEN =
  '<PublishBatchResponse><PublishBatchResult><Successful><member><Id>0</Id><MessageId>1</MessageId></member></Successful></PublishBatchResult></PublishBatchResponse>';

function snsServer() {
  return createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (text: string) => (body += text));
    request.once('end', () => {
      const isEmpty = !body.includes('PublishBatchRequestEntries.member');
      response.writeHead(isEmpty ? 400 : 200, { 'content-type': 'text/xml' }).end(isEmpty ? EMPTY_BATCH : TAKEN);
    });
  });
}

test.serial(
  `${2 * DAMAGED} hostile or damaged answers of SNS end their openings, and an honest one is opened`,
  async (t) => {
    const hostile = createScope();
    const answers = hostileAnswers();
    let served = 0;
    snsEnvironment(hostile, await openHostileTarget(hostile, answers, () => (served += 1) - 1));
    const ofHostile = await publishedWhile(SNS, () => served < answers.length);
    await hostile.end();

    const numbers = seededNumbers(20_261_129);
    let damaged = 0;
    const server = snsServer();
    server.on('connection', (socket) => {
      if (damaged < DAMAGED) damageWrite(socket, 1 + (numbers() % 3), numbers, () => (damaged += 1));
    });
    snsEnvironment(t, await listening(t, server));
    const ofDamaged = await publishedWhile(SNS, () => damaged < DAMAGED);

    t.log({ ofHostile, ofDamaged });
    t.true(ofHostile.refused > 0 && ofDamaged.refused > 0);
    t.true(await published(SNS));
  },
);

/** Errors of SNS that hold something else where a text should be, and what is told of each. */
const UNTOLD = 'its answer says no reason that can be read';
const ODD_ERRORS: Readonly<Record<string, string>> = {
  '<Code>X</Code><Message><a>1</a></Message>': UNTOLD,
  '<Code>X</Code><Message><toString>1</toString></Message>': UNTOLD,
  '<Code>X</Code><Message>one</Message><Message>two</Message>': UNTOLD,
  '<Code><a>1</a></Code><Message>one</Message>': UNTOLD,
  '<Code>X</Code><Code>Y</Code><Message>one</Message>': 'one',
  '<Code>constructor</Code><Message>one</Message>': 'one',
  '<Code>InvalidParameter</Code><Message><a>1</a></Message>': UNTOLD,
  '<Code>NotFound</Code><Message><a>1</a></Message>': UNTOLD,
  one: UNTOLD,
};

test.serial('an error of SNS that holds elements where a text should be is told, and logged, in words', async (t) => {
  let body = EMPTY_BATCH;
  let status = 400;
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(status, { 'content-type': 'text/xml' }).end(body));
  });
  snsEnvironment(t, await listening(t, server));
  const broker = await openBroker(SNS, silentLog);
  t.teardown(() => broker.close());
  const lines: string[] = [];
  const log = createLog('test', 'info', { write: (line) => void lines.push(line) });

  const told: Record<string, string> = {};
  for (const error of Object.keys(ODD_ERRORS)) {
    body = `<ErrorResponse><Error>${error}</Error></ErrorResponse>`;
    status = 403; // what refuses an opening; with 400 it is about the batch of nothing
    const opening = await t.throwsAsync(openBroker(SNS, silentLog));
    t.regex(opening.message, /^SNS does not take events for /u);
    status = 400;
    await openBroker(SNS, silentLog).then(
      (other) => other.close(),
      (refused: Error) => t.regex(refused.message, /^SNS does not take events for /u),
    );
    const refused = await t.throwsAsync(broker.publish([brokerEvent('edge.core.test', 'core')]));
    told[error] = /: (?<reason>[^:]*)\.$/u.exec(refused.message)?.groups?.['reason'] ?? refused.message;
    log.warn({ error: refused }, 'an event is not taken');
  }

  t.deepEqual(told, ODD_ERRORS);
  t.is(lines.length, Object.keys(ODD_ERRORS).length);
});

test.serial('what AWS says of a role that it does not give is told', async (t) => {
  const said = 'Not authorized to perform sts:AssumeRoleWithWebIdentity';
  const sts = createServer((request, response) => {
    request.resume().once('end', () => {
      response
        .writeHead(403, { 'content-type': 'text/xml' })
        .end(`<ErrorResponse><Error><Code>AccessDenied</Code><Message>${said}</Message></Error></ErrorResponse>`);
    });
  });
  const token = join(temporaryDirectory(t), 'token');
  await writeFile(token, 'anything');
  const port = await listening(t, sts);
  environment(t, {
    ...snsNames(port),
    AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${port}`,
    AWS_ROLE_ARN: 'arn:aws:iam::1:role/edge',
    AWS_WEB_IDENTITY_TOKEN_FILE: token,
  });

  await t.throwsAsync(openBroker(SNS, silentLog), {
    message: new RegExp(`^SNS does not take events for arn:\\S+: ${said}\\.$`, 'u'),
  });
});

/** A Pub/Sub that confirms what it is sent, and takes no request of nothing. */
function pubSubServer() {
  return createHttp2Server().on('stream', (stream) => {
    stream.on('error', () => {});
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    void once(stream, 'end').then(() => {
      const isEmpty = !Buffer.concat(pieces).includes('specversion');
      const head = { [constants.HTTP2_HEADER_STATUS]: 200, 'content-type': 'application/grpc' };
      if (isEmpty)
        return stream.respond({ ...head, 'grpc-status': 3, 'grpc-message': 'no messages' }, { endStream: true });
      stream.respond(head, { waitForTrailers: true });
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': 0 }));
      return stream.end(Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x31])); // one id: "1"
    });
  });
}

test.serial(
  `damaged answers of Pub/Sub end their ${PUBSUB_OPENINGS} openings, and an honest one is opened`,
  async (t) => {
    const numbers = seededNumbers(20_261_129);
    const proxy = await openDamagingProxy(t, await listening(t, pubSubServer()), numbers);
    environment(t, { PUBSUB_EMULATOR_HOST: `127.0.0.1:${proxy.port}` });
    let openings = 0;
    proxy.pieceOf = () => 1 + (numbers() % 5);
    const counts = await publishedWhile(PUBSUB, () => (openings += 1) <= PUBSUB_OPENINGS);

    t.log({ ...counts, damaged: proxy.damaged() });
    t.true(counts.refused > PUBSUB_OPENINGS / 4);
    proxy.pieceOf = () => Infinity;
    t.true(await published(PUBSUB));
  },
);
