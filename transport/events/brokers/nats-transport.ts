/**
 * Bounds of what a NATS server makes the client hold, where the client has none: its first line, its messages, answers
 * that it does not read, and a socket that was given up. For exactly the version in package.json: these are methods of
 * the client, and tests look whether they still do what is said here.
 */
import { Parser, type ServerInfo } from '@nats-io/transport-node';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';

/** A line of a server, in bytes, at most: the first one holds the addresses of a whole cluster. */
export const LINE_BYTES_MAX = 65_536;

/**
 * A message of a server, in bytes, at most. Only JetStream sends any, and small ones. Source: nats-server warns of a
 * larger max_payload (MAX_PAYLOAD_MAX_SIZE).
 */
export const MESSAGE_BYTES_MAX = 8_388_608;

/** Answers to pings that the server has not taken. An honest one pings every two minutes, and waits for an answer. */
export const PONGS_MAX = 1_000;

/** Said of who begins otherwise. */
export const NO_NATS = 'what listens there is no NATS server';

const LINE_END = 0x0a;
const PONG = Buffer.from('PONG\r\n');

/** Source: NATS documentation, client protocol. */
const INFO = /^INFO\s+(?<json>[^\r\n]+)\r\n/iu;

/** PONGs that are written and not yet taken by the system. */
const waiting = new WeakMap<NodeTransport, number>();

const { prototype } = NodeTransport;
const closed: (this: NodeTransport, error?: Error, isOwn?: boolean) => Promise<void> = Reflect.get(
  prototype,
  '_closed',
);
const send: (this: NodeTransport, frame: Uint8Array) => void = Reflect.get(prototype, 'send');
const iterate: (this: NodeTransport) => AsyncIterableIterator<Uint8Array> = Reflect.get(prototype, 'iterate');
const parse: (this: Parser, chunk: Uint8Array) => void = Reflect.get(Parser.prototype, 'parse');

/** As the client's, which looks through all that came at each chunk, however much that is. */
prototype.peekInfo = async function peekInfo() {
  const { socket, yields } = this;
  const { promise, resolve, reject } = Promise.withResolvers<ServerInfo>();
  let bytes = 0;
  let problem: Error | undefined;
  socket.on('error', (error) => {
    problem = error;
  });
  socket.on('close', () => reject(problem));
  socket.on('data', (chunk) => {
    yields.push(chunk);
    bytes += chunk.length;
    if (!chunk.includes(LINE_END)) {
      if (bytes > LINE_BYTES_MAX) reject(new Error(NO_NATS));
      return;
    }
    try {
      resolve(JSON.parse(INFO.exec(Buffer.concat(yields).toString())?.groups?.['json'] ?? '') as ServerInfo);
    } catch (error) {
      reject(new Error(NO_NATS, { cause: error }));
    }
  });
  try {
    return await promise;
  } finally {
    socket.removeAllListeners();
  }
};

/** The client leaves a socket open on which nobody has signed in yet, whatever it waits for there. */
Reflect.set(prototype, '_closed', async function closedAlways(this: NodeTransport, error?: Error, isOwn?: boolean) {
  if (this.connected) return closed.call(this, error, isOwn);
  this.done = true; // one that is still being dialled is destroyed by it
  this.socket?.destroy();
});

/** The client answers each ping, also those of who reads no answer. */
prototype.send = function sendPong(frame) {
  if (!PONG.equals(frame)) return send.call(this, frame);
  const pongs = waiting.get(this) ?? 0;
  if (pongs >= PONGS_MAX) {
    void this.close(new Error('it sends pings and reads no answers'));
    return;
  }
  waiting.set(this, pongs + 1);
  this.socket?.write(frame, () => waiting.set(this, (waiting.get(this) ?? 1) - 1));
};

/** Nobody reads on where the reader threw, but the client would take what comes for half a minute more. */
prototype.iterate = async function* chunks(this: NodeTransport) {
  try {
    yield* iterate.call(this);
  } finally {
    if (!this.done) void this.close(new Error('what it says cannot be read'));
  }
};

Parser.prototype.parse = function parseBounded(chunk) {
  parse.call(this, chunk);
  if ((this.argBuf?.length ?? 0) > LINE_BYTES_MAX) throw new Error('a line is too long');
  if ((this.msgBuf?.length ?? 0) > MESSAGE_BYTES_MAX) throw new Error('a message is too long');
};
