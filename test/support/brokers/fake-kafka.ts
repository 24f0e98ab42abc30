/** A broker that speaks enough of Kafka to be opened and published to, and says what no honest one does. */
import type { Socket } from 'node:net';
import { TOPICS } from '../../../actors/event-topics.ts';
import { target } from '../net/listening.ts';
import type { Scope } from '../scope.ts';

/** Numbers of requests. Source: kafka.apache.org/protocol, API keys. */
export const KAFKA_REQUESTS = { produce: 0, metadata: 3, saslHandshake: 17, apiVersions: 18, saslAuthenticate: 36 };

/** Highest version of each that it speaks. */
const VERSIONS_MAX = [
  [KAFKA_REQUESTS.produce, 9],
  [KAFKA_REQUESTS.metadata, 12],
  [KAFKA_REQUESTS.saslHandshake, 1],
  [KAFKA_REQUESTS.apiVersions, 3],
  [KAFKA_REQUESTS.saslAuthenticate, 2],
] as const;

/** What it says beside what every broker does. */
export interface KafkaSayings {
  /** Where it says that the broker of all topics listens; unless told it is that broker. */
  readonly brokerPort?: number;
  /** Its answer to one message of a sign-in, and how long it says that the session lasts, in ms. */
  readonly signIn?: (said: string) => { readonly answer?: string; readonly lifetimeMs?: number };
  /** Hears of each request that it answered. */
  readonly answered?: (request: number, socket: Socket) => void;
  /** Hears of each connection. */
  readonly dialled?: (socket: Socket) => void;
}

const NO_TAGS = Buffer.from([0]);

/** Starts one; its port. */
export function startFakeKafka(scope: Scope, sayings: KafkaSayings): Promise<number> {
  return target(scope, (socket) => {
    let held = Buffer.alloc(0);
    sayings.dialled?.(socket);
    socket.on('data', (chunk) => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
        const request = held.subarray(4, 4 + held.readInt32BE(0));
        held = held.subarray(4 + request.length);
        const body = bodyOf(request, sayings, socket);
        socket.write(Buffer.concat([int32(body.length + 4), request.subarray(4, 8), body]));
        sayings.answered?.(request.readInt16BE(0), socket);
      }
    });
    socket.on('end', () => socket.end());
  });
}

function bodyOf(request: Buffer, { brokerPort, signIn }: KafkaSayings, socket: Socket): Buffer {
  switch (request.readInt16BE(0)) {
    case KAFKA_REQUESTS.apiVersions:
      return request.readInt16BE(2) < 3 ? plainVersions() : compactVersions();
    case KAFKA_REQUESTS.saslHandshake: {
      const asked = request.subarray(10 + request.readInt16BE(8)); // whatever mechanism is asked for
      return Buffer.concat([int16(0), int32(1), asked]);
    }
    case KAFKA_REQUESTS.saslAuthenticate: {
      const said = request.subarray(10 + request.readInt16BE(8)).toString('latin1');
      const { answer = '', lifetimeMs = 0 } = signIn?.(said) ?? {};
      return Buffer.concat([NO_TAGS, int16(0), Buffer.from([0]), compact(answer), int64(lifetimeMs), NO_TAGS]);
    }
    case KAFKA_REQUESTS.produce:
      return produced();
    default:
      return metadataOf(brokerPort ?? socket.localPort ?? 0);
  }
}

function plainVersions(): Buffer {
  const versions = VERSIONS_MAX.map(([key, most]) => Buffer.concat([int16(key), int16(0), int16(most)]));
  return Buffer.concat([int16(0), int32(versions.length), ...versions, int32(0)]);
}

function compactVersions(): Buffer {
  const versions = VERSIONS_MAX.map(([key, most]) => Buffer.concat([int16(key), int16(0), int16(most), NO_TAGS]));
  return Buffer.concat([int16(0), array(versions), int32(0), NO_TAGS]);
}

/** Every topic is at broker 1, which is at that port. */
function metadataOf(port: number): Buffer {
  const partition = Buffer.concat([
    int16(0),
    int32(0),
    int32(1),
    int32(0),
    array([int32(1)]),
    array([int32(1)]),
    array([]),
    NO_TAGS,
  ]);
  const topics = TOPICS.map((name) =>
    Buffer.concat([
      int16(0),
      compact(name),
      Buffer.alloc(16, 7),
      Buffer.from([0]),
      array([partition]),
      int32(0),
      NO_TAGS,
    ]),
  );
  return Buffer.concat([
    NO_TAGS,
    int32(0),
    array([Buffer.concat([int32(1), compact('127.0.0.1'), int32(port), NO_TAGS, NO_TAGS])]),
    NO_TAGS,
    int32(1),
    array(topics),
    NO_TAGS,
  ]);
}

/** Whatever was sent is taken. */
function produced(): Buffer {
  const partition = Buffer.concat([
    int32(0),
    int16(0),
    int64(0),
    int64(-1),
    int64(0),
    array([]),
    Buffer.from([0]),
    NO_TAGS,
  ]);
  const topics = TOPICS.map((name) => Buffer.concat([compact(name), array([partition]), NO_TAGS]));
  return Buffer.concat([NO_TAGS, array(topics), int32(0), NO_TAGS]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/** Of less than 127 bytes: its length is one byte. */
function compact(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)]);
}

function array(items: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([items.length + 1]), ...items]);
}
