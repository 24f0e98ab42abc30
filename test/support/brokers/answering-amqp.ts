/** A server that answers as RabbitMQ does whatever a publisher asks, and says what a test wants besides. */
import type { Socket } from 'node:net';
import { openTarget } from '../net/listening.ts';
import type { Scope } from '../scope.ts';

/** Methods of AMQP 0-9-1, as class and number. */
export const METHODS = { return: [60, 50], deliver: [60, 60], blocked: [10, 60], unblocked: [10, 61] } as const;

const FRAME_END = 0xce;

/** A frame: type 1 is a method, 2 the header of a message, 3 a piece of its body, 8 a sign of life. */
export function amqpFrame(type: number, channel: number, payload: Buffer): Buffer {
  const head = Buffer.from([type, 0, channel, 0, 0, 0, 0]);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.of(FRAME_END)]);
}

/** A method with its arguments in bytes. */
export function methodFrame(channel: number, [kind, number]: readonly [number, number], args: Buffer): Buffer {
  return amqpFrame(1, channel, Buffer.concat([Buffer.from([0, kind, 0, number]), args]));
}

/** The header of a message of so many bytes, without properties. */
export function headerFrame(channel: number, bodyBytes: bigint): Buffer {
  const payload = Buffer.alloc(14);
  payload.writeUInt16BE(60, 0);
  payload.writeBigUInt64BE(bodyBytes, 4);
  return amqpFrame(2, channel, payload);
}

/** A short string. */
export const shortString = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);

/** A table without entries, and a long string. */
const EMPTY_TABLE = Buffer.alloc(4);
const longString = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]);

const START = methodFrame(
  0,
  [10, 10],
  Buffer.concat([Buffer.from([0, 9]), EMPTY_TABLE, longString('PLAIN'), longString('en_US')]),
);

/** To each method of a client that asks for an answer: what it is, and its arguments. */
const ANSWERS: Readonly<Record<string, readonly [number, number, Buffer]>> = {
  '10.11': [10, 30, Buffer.from([0, 0, 0, 2, 0, 0, 0, 0])], // no limit of channels, frames of 131,072, no signs of life
  '10.40': [10, 41, Buffer.of(0)],
  '10.50': [10, 51, Buffer.alloc(0)],
  '20.10': [20, 11, EMPTY_TABLE],
  '20.40': [20, 41, Buffer.alloc(0)],
  '40.10': [40, 11, Buffer.alloc(0)],
  '85.10': [85, 11, Buffer.alloc(0)],
};

/** Listens until the scope ends. `say` reaches all clients of now. */
export async function openAnsweringAmqp(scope: Scope) {
  const { port, sockets } = await openTarget(scope, answer);
  return {
    port,
    say(bytes: Buffer): void {
      for (const socket of sockets) socket.write(bytes);
    },
  };
}

function answer(socket: Socket): void {
  let unread = Buffer.alloc(0);
  let hasGreeted = false;
  let published = 0;
  socket.on('end', () => socket.end());
  socket.on('data', (bytes: Buffer) => {
    unread = Buffer.concat([unread, bytes]);
    if (!hasGreeted && unread.length >= 8) {
      hasGreeted = true;
      unread = unread.subarray(8);
      socket.write(START);
    }
    for (let frame = firstFrame(unread); frame !== null; frame = firstFrame(unread)) {
      unread = unread.subarray(frame.length);
      if (frame[0] !== 1) continue;
      const method = `${frame.readUInt16BE(7)}.${frame.readUInt16BE(9)}`;
      const channel = frame.readUInt16BE(1);
      const found = ANSWERS[method];
      if (found) socket.write(methodFrame(channel, [found[0], found[1]], found[2]));
      if (method === '60.40') socket.write(methodFrame(channel, [60, 80], confirmed((published += 1))));
    }
  });
}

function firstFrame(bytes: Buffer): Buffer | null {
  if (bytes.length < 8) return null;
  const length = bytes.readUInt32BE(3) + 8;
  return bytes.length < length ? null : bytes.subarray(0, length);
}

function confirmed(tag: number): Buffer {
  const args = Buffer.alloc(9);
  args.writeBigUInt64BE(BigInt(tag));
  return args;
}
