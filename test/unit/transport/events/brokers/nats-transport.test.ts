/** A NATS server that says what no honest one does, or nothing: it costs one connection, and that for a time. */
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { openNats } from '../../../../../transport/events/brokers/nats.ts';
import {
  LINE_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  PONGS_MAX,
} from '../../../../../transport/events/brokers/nats-transport.ts';
import { brokerSettings } from '../../../../support/brokers/settings.ts';
import { silentLog } from '../../../../support/log.ts';
import { target } from '../../../../support/net/listening.ts';
import { until } from '../../../../support/until.ts';

const INFO = '{"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}';

const MIB = 1_048_576;

test.before(() => {
  console.log = () => {}; // the client prints what it cannot read; cli/resident-program.ts takes that into the log
});

/** A server that greets on its first connection, where it is asked what it is, and serves the second one so. */
async function settingsOf(t: ExecutionContext, serve: (socket: Socket) => void) {
  let connections = 0;
  const port = await target(t, (socket) => {
    connections += 1;
    if (connections === 1) socket.end(`INFO ${INFO}\r\n`);
    else serve(socket);
  });
  return brokerSettings('nats', { EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${port}` });
}

/** Opens it; why that was refused, and whether its socket is closed then. */
async function refused(t: ExecutionContext, serve: (socket: Socket) => void): Promise<string> {
  let isClosed = false;
  const settings = await settingsOf(t, (socket) => {
    socket
      .on('end', () => socket.end())
      .on('close', () => (isClosed = true))
      .resume();
    serve(socket);
  });
  const { message } = await t.throwsAsync(openNats(settings, silentLog));
  await until('its socket to be closed', () => isClosed, 5_000);
  return message;
}

for (const [what, says] of [
  ['nothing', ''],
  ['that it wants TLS, and does not shake hands', `INFO ${INFO.replace('{', '{"tls_required":true,')}\r\n`],
  ['who it is, and lets nobody in', `INFO ${INFO}\r\n`],
] as const)
  test(`a socket on which a server says ${what} is closed in time`, async (t) => {
    t.regex(await refused(t, (socket) => void socket.write(says)), /cannot be used: it does not answer/u);
  });

test('a server that sends 20 MB without an end of line is no NATS server', async (t) => {
  let isTaken = false;
  const message = await refused(
    t,
    (socket) => void socket.write(Buffer.alloc(20_000_000, 'a'), (error) => (isTaken = !error)),
  );

  t.regex(message, /cannot be used: what listens there is no NATS server\.$/u);
  t.false(isTaken, 'not all of it');
});

/** One that is signed in to, with its end of the connection. */
async function opened(t: ExecutionContext) {
  const server = Promise.withResolvers<Socket>();
  const settings = await settingsOf(t, (socket) => {
    socket.on('end', () => socket.end()).write(`INFO ${INFO}\r\n`);
    socket.once('data', () => {
      socket.write('PONG\r\n');
      server.resolve(socket);
    });
  });
  const broker = await openNats(settings, silentLog);
  t.teardown(() => broker.close());
  return { broker, server: await server.promise };
}

test('pings are answered, and those of a server that reads no answer end the connection', async (t) => {
  const { broker, server } = await opened(t);
  let answers = '';
  server.on('data', (said: Buffer) => (answers += said.toString()));
  server.write('PING\r\n'.repeat(PONGS_MAX));
  await until('all answers', () => answers.split('PONG').length > PONGS_MAX);

  server.pause();
  const before = process.memoryUsage().heapUsed;
  server.write('PING\r\n'.repeat(500_000));

  t.regex(
    (await broker.lost).message,
    /^The connection to NATS at .* is lost: it sends pings and reads no answers\.$/u,
  );
  t.true(process.memoryUsage().heapUsed - before < 100 * MIB);
});

for (const [what, says, bytes] of [
  ['cannot be read', 'NONSENSE\r\n', 1],
  ['never ends as a message', `MSG edge 1 ${32 * MIB}\r\n`, MESSAGE_BYTES_MAX + MIB],
  ['never ends as a line', 'INFO ', LINE_BYTES_MAX + MIB],
] as const)
  test(`what ${what} ends the connection at once`, async (t) => {
    const { broker, server } = await opened(t);

    server.write(says);
    server.write(Buffer.alloc(bytes, 'a'));

    t.regex((await broker.lost).message, /^The connection to NATS at .* is lost: what it says cannot be read\.$/u);
    await until('its socket to be closed', () => server.closed);
  });
