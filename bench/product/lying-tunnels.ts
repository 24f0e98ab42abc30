/**
 * Worker: agents whose sessions are honest and whose tunnels lie. In turns a tunnel floods with frames of HTTP/2, and
 * one lies in what it answers over HTTP.
 */
import { performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { webSocketStream } from '../../transport/net/streams/web-socket-stream.ts';
import { PING_INTERVAL_MS } from '../../transport/protocol/limits.ts';
import { STREAM_WINDOW_BYTES, TUNNEL_UNREAD_BYTES_MAX } from '../../transport/protocol/tunnel.ts';
import { PROTOCOL_VERSION, SESSION_PATH, SESSION_SUBPROTOCOL } from '../../transport/protocol/version.ts';
import { FLAG, frame, OK, openTunnel, TYPE, type HostileTunnel } from '../../test/support/net/hostile-tunnel.ts';
import { createScope } from '../../test/support/scope.ts';
import { serveQuestions } from '../method/worker.ts';
import { REGISTRATION } from './simulated-agent.ts';

/** A tunnel that nobody cuts makes way for the next lie after this, in ms. */
const NEXT_LIE_MS = 3_000;

/** Frames that are written beforehand go in so many bytes at once: what a lie costs its liar, the admin has not. */
const AT_ONCE_BYTES = 65_536;

/** Frames a second of the lie that stays within the share of a tunnel, and how often some of them go, in ms. */
const WITHIN_PER_SECOND = 18_000;
const WITHIN_EVERY_MS = 10;

/** A liar, as it enrolled. */
export interface Liar {
  readonly node: string;
  readonly token: string;
}

/** How one tunnel of a liar ended. Code 0: its lie was over, and nobody had cut it. */
interface Cut {
  readonly lie: string;
  readonly code: number;
  readonly ms: number;
  readonly frames: number;
}

const cuts: Cut[] = [];
const scope = createScope();
let opened = 0;
let refused = 0;
let streams = 0;
let stopped = false;

const times = (bytes: Buffer, total = AT_ONCE_BYTES): Buffer =>
  Buffer.concat(Array.from({ length: Math.ceil(total / bytes.length) }, () => bytes));
const SETTINGS = frame(TYPE.settings, FLAG.none, 0);
const PING = frame(TYPE.ping, FLAG.none, 0, Buffer.alloc(8));
const accepted = (stream: number): Buffer => frame(TYPE.headers, FLAG.endHeaders, stream, OK);
const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);

/** What is sent once there is a stream, and then again and again. */
type Flood = (stream: number) => readonly [first: Buffer, again: Buffer];
const FLOODS: Readonly<Record<string, Flood>> = {
  PING: () => [SETTINGS, PING],
  SETTINGS: () => [SETTINGS, frame(TYPE.settings, FLAG.none, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
  WINDOW_UPDATE: () => [SETTINGS, frame(TYPE.window, FLAG.none, 0, Buffer.from([0, 0, 0, 1]))],
  RST_STREAM: (stream) => [SETTINGS, frame(TYPE.reset, FLAG.none, stream, Buffer.from([0, 0, 0, 8]))],
  PRIORITY: (stream) => [SETTINGS, frame(TYPE.priority, FLAG.none, stream, Buffer.alloc(5))],
  'empty DATA': (stream) => [accepted(stream), frame(TYPE.data, FLAG.none, stream)],
  'DATA of one byte': (stream) => [accepted(stream), frame(TYPE.data, FLAG.none, stream, Buffer.alloc(1))],
  'DATA beyond the window': (stream) => [accepted(stream), frame(TYPE.data, FLAG.none, stream, Buffer.alloc(16_384))],
  CONTINUATION: (stream) => [
    frame(TYPE.headers, FLAG.none, stream, OK),
    frame(TYPE.continuation, FLAG.none, stream, Buffer.from([0, 1, 0x61, 1, 0x62])),
  ],
  'largest headers': (stream) => [
    SETTINGS,
    frame(
      TYPE.headers,
      FLAG.endHeaders,
      stream,
      Buffer.concat([Buffer.from([0x08]), literal('103'), times(Buffer.from([0, 1, 0x61, 1, 0x62]), 16_000)]),
    ),
  ],
};

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close\r\n';
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;
const chunk = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF]);
const CRLF = Buffer.from('\r\n');
const EXPOSITION = times(Buffer.from('lies_total{of="a liar",at="its tunnel"} 1234567.5\n'));
const ZEROS = Buffer.alloc(AT_ONCE_BYTES);
const LARGEST = times(EXPOSITION, 4_000_000);
const BOMB = gzipSync(LARGEST);

/** Writes one thing as often as it is taken, until the stream is over. */
function endless(stream: ServerHttp2Stream, head: string, again: Buffer): void {
  stream.write(head);
  const some = (): void => {
    while (!stream.destroyed && stream.write(again));
  };
  stream.on('drain', some);
  some();
}

/** What is answered to a request over HTTP. */
const ANSWERS: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  'an endless body': (stream) => endless(stream, CHUNKED, chunk(EXPOSITION)),
  'an endless body in chunks of one byte': (stream) => endless(stream, CHUNKED, times(chunk(Buffer.from('#')))),
  'an endless header': (stream) => endless(stream, `${HEAD}x: `, times(Buffer.from('x'))),
  '200 MB of zeros': (stream) => endless(stream, `${HEAD}content-length: 200000000\r\n\r\n`, ZEROS),
  'zeros without end': (stream) => endless(stream, CHUNKED, chunk(ZEROS)),
  'interim answers': (stream) => endless(stream, '', times(Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'))),
  'a byte a second': (stream) => {
    stream.write(CHUNKED);
    const timer = setInterval(() => stream.write('1\r\n#\r\n'), 1_000);
    stream.once('close', () => clearInterval(timer));
  },
  'many headers': (stream) => stream.end(`${HEAD}${'a: b\r\n'.repeat(1_300)}content-length: 5\r\n\r\nup 1\n`),
  'gzip that is none': (stream) => stream.end(`${HEAD}content-encoding: gzip\r\ncontent-length: 5\r\n\r\nup 1\n`),
  'a bomb of gzip': (stream) => {
    stream.write(`${HEAD}content-encoding: gzip\r\ncontent-length: ${BOMB.length}\r\n\r\n`);
    stream.end(BOMB);
  },
  'more than it says': (stream) => stream.end(`${HEAD}content-length: 5\r\n\r\n${'up 1\n'.repeat(10_000)}`),
  'less than it says': (stream) => stream.end(`${HEAD}content-length: 50000\r\n\r\nup 1\n`),
  'no end': (stream) => void stream.write(`${HEAD}content-length: 50000\r\n\r\nup 1\n`),
  nothing: () => {},
  'the largest exposition': (stream) => {
    stream.write(`${HEAD}content-length: ${LARGEST.length}\r\n\r\n`);
    stream.end(LARGEST);
  },
  'JSON in JSON': (stream) =>
    stream.end(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 60000\r\n\r\n${'['.repeat(60_000)}`,
    ),
};

/** Notes how it ended. */
function noted(tunnel: Pick<HostileTunnel, 'socket'>, lie: string, frames: () => number): void {
  const beganMs = performance.now();
  let isOver = false;
  const enough = setTimeout(() => {
    isOver = true;
    tunnel.socket.terminate();
  }, NEXT_LIE_MS);
  tunnel.socket.once('close', (code: number) => {
    clearTimeout(enough);
    cuts.push({ lie, code: isOver ? 0 : code, ms: performance.now() - beganMs, frames: frames() });
  });
}

async function flood(tunnel: HostileTunnel, lie: string, of: Flood): Promise<void> {
  let sent = 0;
  noted(tunnel, lie, () => sent);
  tunnel.socket.send(SETTINGS);
  const [first, again] = of(await tunnel.firstStream);
  tunnel.socket.send(first);
  const bytes = times(again);
  const each = bytes.length / again.length;
  // Node tells of each write to a broken socket at once, before `readyState` does: more would be written for ever
  const some = (error?: Error | null): void => {
    if ((error ?? null) !== null || tunnel.socket.readyState !== WebSocket.OPEN) return;
    sent += each;
    tunnel.socket.send(bytes, some);
  };
  some();
}

/** As many as a tunnel may, and one answer that never comes. */
async function within(tunnel: HostileTunnel, lie: string, again: Buffer): Promise<void> {
  let sent = 0;
  noted(tunnel, lie, () => sent);
  tunnel.socket.send(SETTINGS);
  await tunnel.firstStream;
  const each = (WITHIN_PER_SECOND * WITHIN_EVERY_MS) / 1_000;
  const bytes = times(again, again.length * each);
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const count = Math.floor((nowMs - lastMs) / WITHIN_EVERY_MS);
    lastMs += count * WITHIN_EVERY_MS;
    for (let index = 0; index < count && tunnel.socket.readyState === WebSocket.OPEN; index += 1) {
      sent += each;
      tunnel.socket.send(bytes);
    }
  }, WITHIN_EVERY_MS);
  tunnel.socket.once('close', () => clearInterval(timer));
}

/** An agent's end of a tunnel, whose streams answer in turns. */
function answer(tunnel: HostileTunnel, turn: number): void {
  let frames = 0;
  noted(tunnel, 'answers', () => frames);
  tunnel.socket.removeAllListeners('message');
  const bytes = webSocketStream(tunnel.socket, TUNNEL_UNREAD_BYTES_MAX);
  bytes.on('error', () => {}); // `close` follows
  const session = performServerHandshake(bytes, { settings: { initialWindowSize: STREAM_WINDOW_BYTES } });
  session.on('error', () => bytes.destroy());
  const lies = Object.values(ANSWERS);
  session.on('stream', (stream) => {
    frames += 1;
    streams += 1;
    const lie = lies[(turn + frames) % lies.length];
    stream.on('error', () => {}); // the admin had enough
    stream.respond({ ':status': 200 });
    stream.once('data', () => lie?.(stream));
  });
}

const WITHIN: Readonly<Record<string, Buffer>> = {
  'WINDOW_UPDATE within the share': frame(TYPE.window, FLAG.none, 0, Buffer.from([0, 0, 0, 1])),
  'empty frames for streams that are over, within the share': frame(
    TYPE.reset,
    FLAG.none,
    1,
    Buffer.from([0, 0, 0, 8]),
  ),
};

function lieThrough(tunnel: HostileTunnel, turn: number): void {
  const floods = [
    ...Object.entries(FLOODS).map(
      ([lie, of]) =>
        () =>
          void flood(tunnel, lie, of),
    ),
    ...Object.entries(WITHIN).map(
      ([lie, again]) =>
        () =>
          void within(tunnel, lie, again),
    ),
  ];
  if (turn % 2 === 0) answer(tunnel, turn * 7);
  else floods[((turn - 1) / 2) % floods.length]?.();
}

function lie(port: number, { node, token }: Liar, place: number): void {
  let turn = place * 5;
  const socket = new WebSocket(`ws://127.0.0.1:${port}${SESSION_PATH}`, SESSION_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${token}` },
  });
  let seq = 0;
  const say = (body: object): void => {
    seq += 1;
    socket.send(JSON.stringify({ seq, ...body }));
  };
  const report = { services: [] };
  socket.on('open', () =>
    say({ type: 'hello', protocol: PROTOCOL_VERSION, node, registration: REGISTRATION, report, holding: [] }),
  );
  const timer = setInterval(() => {
    if (socket.readyState === WebSocket.OPEN) say({ type: 'ping' });
  }, PING_INTERVAL_MS / 2);
  socket.on('message', (data: Buffer) => {
    const said = JSON.parse(data.toString()) as { readonly type: string; readonly token?: string };
    if (said.type !== 'open-tunnel' || said.token === undefined || stopped) return;
    turn += 1;
    const mine = turn;
    opened += 1;
    openTunnel(scope, `http://127.0.0.1:${port}`, said.token).then(
      (tunnel) => lieThrough(tunnel, mine),
      () => {
        refused += 1;
      },
    );
  });
  socket.on('error', () => {}); // `close` follows
  socket.on('close', (code) => {
    clearInterval(timer);
    cuts.push({ lie: 'the session', code, ms: 0, frames: seq });
    if (!stopped) setTimeout(() => lie(port, { node, token }, turn), 500);
  });
}

serveQuestions({
  lie: ({ port, liars }: { port: number; liars: readonly Liar[] }) => {
    for (const [place, one] of liars.entries()) lie(port, one, place);
  },
  /** What became of their tunnels since the last question. */
  told: () => {
    const told = { opened, refused, streams, cuts: cuts.splice(0) };
    [opened, refused, streams] = [0, 0, 0];
    return told;
  },
  stop: () => {
    stopped = true;
  },
});
