/**
 * Which form a tunnel takes: HTTP/2 on the connection itself, and a WebSocket where something in between is against it.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { TUNNEL_UPGRADE } from '../../../../transport/protocol/version.ts';
import { listening, target } from '../../../support/net/listening.ts';
import { NODE, tunnelsFixture, type Fixture } from '../../../support/net/tunnels-fixture.ts';
import { until } from '../../../support/until.ts';

/** What was asked for, in order. */
interface Between {
  readonly url: string;
  readonly asked: string[];
}

/**
 * Something between an agent and its admin that does `otherwise` with what is no WebSocket, and passes WebSockets on.
 */
async function between(
  t: ExecutionContext,
  to: () => string,
  otherwise: (socket: Duplex, pass: () => Duplex) => void,
): Promise<Between> {
  const asked: string[] = [];
  const server = createServer();
  server.on('upgrade', (request, socket, head) => {
    const upgrade = request.headers.upgrade ?? '';
    asked.push(`${upgrade} ${request.headers.authorization ?? ''}`);
    const pass = (): Duplex => passOn(request, socket, head, to());
    socket.on('error', () => {});
    if (upgrade === 'websocket') pass();
    else otherwise(socket, pass);
  });
  return { url: `http://127.0.0.1:${await listening(t, server)}`, asked };
}

function passOn(request: IncomingMessage, near: Duplex, head: Buffer, to: string): Duplex {
  const far = connect(Number(new URL(to).port), '127.0.0.1');
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.on('close', () => far.destroy());
  const lines = request.rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${request.rawHeaders[at + 1] ?? ''}\r\n`] : [],
  );
  far.write(`GET ${request.url ?? ''} HTTP/1.1\r\n${lines.join('')}\r\n`);
  far.write(head);
  near.pipe(far).pipe(near);
  return far;
}

const refusal = (status: string) => (socket: Duplex) =>
  void socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);

/** Upgrades that were asked for, without their tokens. */
const forms = ({ asked }: Between): readonly string[] => asked.map((one) => one.split(' ')[0] ?? '');

/** A connection by a tunnel that is ended then, and another one. */
async function usedTwice(t: ExecutionContext, { reach, agent, tunnels }: Fixture): Promise<void> {
  const port = await target(t, (socket) => socket.end('here'));
  for (const time of ['first', 'second']) {
    const reached = await reach(port);
    if (!reached.ok) throw new Error(reached.message);
    t.is(await text(reached.stream), 'here', time);
    tunnels.end(NODE);
    await until('the end of the tunnel', () => agent.count() === 0);
  }
}

test('an agent asks for a connection without a WebSocket, by which bytes go both ways, and an end one way', async (t) => {
  let admin = '';
  const passing = await between(
    t,
    () => admin,
    (_socket, pass) => void pass(),
  );
  const { reach, url } = await tunnelsFixture(t, { ownUrl: passing.url });
  admin = url;
  const port = await target(t, (socket) => {
    void text(socket).then((said) => socket.end(`you said ${said}`));
  });

  const reached = await reach(port);
  if (!reached.ok) throw new Error(reached.message);
  reached.stream.end('hello');

  t.is(await text(reached.stream), 'you said hello');
  t.deepEqual(forms(passing), [TUNNEL_UPGRADE]);
});

for (const status of ['400 Bad Request', '404 Not Found', '426 Upgrade Required', '502 Bad Gateway'])
  test(`what answers with ${status} gets a WebSocket with the same token, and the next tunnel begins with that`, async (t) => {
    let admin = '';
    const picky = await between(t, () => admin, refusal(status));
    const fixture = await tunnelsFixture(t, { ownUrl: picky.url });
    admin = fixture.url;

    await usedTwice(t, fixture);

    t.deepEqual(forms(picky), [TUNNEL_UPGRADE, 'websocket', 'websocket']);
    t.is(picky.asked[1], `websocket Bearer ${fixture.tokens[0] ?? ''}`);
  });

test('what has no room for a moment gets a WebSocket, and is asked without one the next time', async (t) => {
  let admin = '';
  const busy = await between(t, () => admin, refusal('503 Service Unavailable'));
  const fixture = await tunnelsFixture(t, { ownUrl: busy.url });
  admin = fixture.url;

  await usedTwice(t, fixture);

  t.deepEqual(forms(busy), [TUNNEL_UPGRADE, 'websocket', TUNNEL_UPGRADE, 'websocket']);
});

test('what lets the upgrade through and nothing else gets a WebSocket from then on', async (t) => {
  let admin = '';
  const deceiving = await between(
    t,
    () => admin,
    (socket) =>
      void socket.end(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${TUNNEL_UPGRADE}\r\n\r\n`),
  );
  const fixture = await tunnelsFixture(t, { ownUrl: deceiving.url });
  admin = fixture.url;

  await usedTwice(t, fixture);

  t.deepEqual(forms(deceiving), [TUNNEL_UPGRADE, 'websocket', 'websocket']);
});

test('a token that nobody waits for is no reason for a WebSocket', async (t) => {
  const strict = await between(t, () => '', refusal('401 Unauthorized'));
  const { reach, tokens } = await tunnelsFixture(t, { ownUrl: strict.url });
  const port = await target(t, (socket) => socket.end('here'));

  const reached = await reach(port); // by the URL of the session, with the same token
  if (!reached.ok) throw new Error(reached.message);

  t.is(await text(reached.stream), 'here');
  t.deepEqual(strict.asked, [`${TUNNEL_UPGRADE} Bearer ${tokens[0] ?? ''}`]);
});

test('an agent that is told nothing of it opens a WebSocket', async (t) => {
  let admin = '';
  const passing = await between(
    t,
    () => admin,
    () => t.fail('something else was asked for'),
  );
  const { reach, url } = await tunnelsFixture(t, { ownUrl: passing.url, isHttp2: false });
  admin = url;
  const port = await target(t, (socket) => socket.end('here'));

  const reached = await reach(port);
  if (!reached.ok) throw new Error(reached.message);

  t.is(await text(reached.stream), 'here');
  t.deepEqual(forms(passing), ['websocket']);
});
