/** Whatever comes out of a tunnel instead of an admin's HTTP/2: the tunnel ends, and the agent opens the next one. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import test from 'ava';
import { WebSocketServer, type WebSocket } from 'ws';
import { AgentTunnels, NEW_TUNNEL_MS, TUNNELS_MAX } from '../../../../agent/access/tunnel/tunnels.ts';
import { FAILURE_HEADER, TUNNEL_UNREAD_BYTES_MAX, USE_HEADER } from '../../../../transport/protocol/tunnel.ts';
import { notDialled, type Dialled } from '../../../../transport/net/streams/dialled.ts';
import { webSocketStream } from '../../../../transport/net/streams/web-socket-stream.ts';
import type { Scope } from '../../../support/scope.ts';
import { listening } from '../../../support/net/listening.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { FLAG, frame, TYPE } from '../../../support/net/hostile-tunnel.ts';

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(TYPE.settings, FLAG.none, 0)]);
const TOKEN = 'x'.repeat(43);

/** HTTP/2 itself refused the request, as it does for some characters. */
const NOT_HTTP2 = 'reset';

/** An agent whose targets answer like this, and somebody who takes its tunnels. */
async function fixture(
  scope: Scope,
  answer: () => Promise<Dialled> = async () => notDialled('refused', 'nobody is there'),
) {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const port = await listening(scope, server);
  const dialled: string[] = [];
  let aheadMs = 0;
  const tunnels = new AgentTunnels({
    monotonicMs: () => performance.now() + aheadMs,
    egress: {
      dial: async ({ host }, use) => {
        dialled.push(`${use} ${host}`);
        return answer();
      },
    },
    join: () => {},
    log: silentLog,
  });
  scope.teardown(() => tunnels.close());
  const ask = (): void => tunnels.open([`http://127.0.0.1:${port}`], TOKEN);
  const open = async (): Promise<WebSocket> => {
    ask();
    const [socket] = (await once(sockets, 'connection')) as [WebSocket];
    return socket.on('error', () => {});
  };
  const grow = (): void => {
    aheadMs += NEW_TUNNEL_MS;
  };
  return { tunnels, sockets, ask, open, grow, dialled };
}

const HEADERS = (block: Buffer, stream = 1): Buffer =>
  Buffer.concat([PREFACE, frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, block)]);

for (const [what, bytes] of [
  ['bytes that are no HTTP/2', randomBytes(4_096)],
  ['the beginning of a web page', Buffer.from('HTTP/1.1 200 OK\r\n\r\n<html>'.repeat(100))],
  ['text', 'text'],
  ['a message of 5 MB', Buffer.alloc(5_000_000)],
  ['a frame of 16 MB', Buffer.concat([PREFACE, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])])],
  ['headers that nobody can read', HEADERS(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))],
  ['headers on an even stream', HEADERS(Buffer.from([0x82, 0x84, 0x86]), 2)],
  ['data for no stream', Buffer.concat([PREFACE, frame(TYPE.data, FLAG.none, 9, Buffer.alloc(100))])],
  [
    'headers that go on for ever',
    Buffer.concat([
      PREFACE,
      frame(TYPE.headers, FLAG.none, 1, Buffer.from([0x82])),
      ...Array.from({ length: 2_000 }, () =>
        frame(TYPE.continuation, FLAG.none, 1, Buffer.from([0, 1, 0x61, 1, 0x62])),
      ),
    ]),
  ],
] as const) {
  test(`${what} ends a tunnel and nothing else`, async (t) => {
    const { tunnels, open, dialled } = await fixture(t);
    const socket = await open();

    socket.send(bytes);
    await once(socket, 'close');
    await until('it is forgotten', () => tunnels.count() === 0);
    await open();

    t.is(tunnels.count(), 1);
    t.deepEqual(dialled, []);
  });
}

test('a request that is no CONNECT, of no known use, or to no target is refused in words, and dials nothing', async (t) => {
  const { open, dialled } = await fixture(t);
  const bytes = webSocketStream(await open(), TUNNEL_UNREAD_BYTES_MAX);
  const session = connect('http://tunnel', { createConnection: () => bytes });
  t.teardown(() => session.destroy());
  const ask = async (headers: OutgoingHttpHeaders): Promise<unknown> => {
    const stream = session.request(headers);
    return once(stream.resume(), 'response').then(
      ([answer]: IncomingHttpHeaders[]) => [answer?.[':status'], answer?.[FAILURE_HEADER]],
      () => NOT_HTTP2,
    );
  };

  for (const headers of [
    { ':method': 'GET', ':path': '/' },
    { ':method': 'CONNECT', ':authority': 'a:1' },
    { ':method': 'CONNECT', ':authority': 'a:1', [USE_HEADER]: 'ssh' },
    { ':method': 'CONNECT', ':authority': 'a:1', [USE_HEADER]: 'proxy' },
    ...['a', 'a:0', 'a:65536', ':1', 'a b:1', '[::1:1', 'a:1:2', 'a:-1', 'a:1e3'].map((authority) => ({
      ':method': 'CONNECT',
      ':authority': authority,
      [USE_HEADER]: 'self',
    })),
  ]) {
    const answer = await ask(headers);
    if (answer !== NOT_HTTP2) t.deepEqual(answer, [502, 'failed'], JSON.stringify(headers));
  }
  t.deepEqual(dialled, []);
  t.deepEqual(await ask({ ':method': 'CONNECT', ':authority': '[::1]:1', [USE_HEADER]: 'chain' }), [502, 'refused']);
  t.deepEqual(dialled, ['chain ::1']);
});

/** An agent whose streams stay as they are, and who takes its tunnels: `ended` has their places as they end. */
async function openFixture(scope: Scope) {
  const { tunnels, sockets, ask, grow } = await fixture(scope, () => new Promise(() => {}));
  const ended: number[] = [];
  const sessions: ClientHttp2Session[] = [];
  sockets.on('connection', (socket: WebSocket) => {
    const bytes = webSocketStream(
      socket.on('error', () => {}),
      TUNNEL_UNREAD_BYTES_MAX,
    );
    const session = connect('http://tunnel', { createConnection: () => bytes }).on('error', () => {});
    scope.teardown(() => session.destroy());
    const place = sessions.push(session) - 1;
    session.once('close', () => ended.push(place));
  });
  const openMore = async (count = 1): Promise<void> => {
    const wanted = sessions.length + count;
    for (let left = count; left > 0; left -= 1) ask();
    await until(`tunnel ${wanted}`, () => sessions.length === wanted);
  };
  const dial = async (from: number): Promise<void> => {
    for (const session of sessions.slice(from))
      session.request({ ':method': 'CONNECT', ':authority': 'a:1', [USE_HEADER]: 'self' }).on('error', () => {});
    await until('a stream in each', () => tunnels.streams === tunnels.count());
  };
  return { tunnels, openMore, dial, grow, ended };
}

test("a tunnel beyond an agent's limit ends the oldest tunnel without streams, or the oldest if all have streams", async (t) => {
  const { tunnels, openMore, dial, grow, ended } = await openFixture(t);

  await openMore();
  await dial(0);
  for (let count = 1; count < TUNNELS_MAX; count += 1) await openMore();
  grow();
  for (let more = 0; more < 2; more += 1) await openMore();
  await until('two ends', () => ended.length === 2);
  t.deepEqual(ended, [1, 2]);
  await dial(3);
  await openMore();
  await until('another end', () => ended.length === 3);

  t.deepEqual(ended, [1, 2, 0]);
  t.is(tunnels.count(), TUNNELS_MAX);
});

test('tunnels that are asked for in one moment all come where each of the others has a stream', async (t) => {
  const { tunnels, openMore, dial, ended } = await openFixture(t);
  for (let count = 0; count < TUNNELS_MAX; count += 1) await openMore();
  await dial(0);

  await openMore(3);
  await until('three ends', () => ended.length === 3);
  await dial(TUNNELS_MAX);

  t.deepEqual(
    ended.toSorted((one, other) => one - other),
    [0, 1, 2],
  );
  t.is(tunnels.streams, TUNNELS_MAX);
});
