/** A client of a relay that says what a test makes it say, byte by byte. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import {
  createFrameReader,
  encodeFrame,
  FRAME,
  MAGIC,
  newBoxKeys,
  sealJson,
  type BoxKeys,
} from '../../../transport/vpn/derp/protocol.ts';

/** It has the relay's key already; the rest is up to the test. */
export interface RawClient {
  readonly keys: BoxKeys;
  readonly serverKey: Buffer;
  readonly frames: { readonly type: number; readonly payload: Buffer }[];
  isClosed(): boolean;
  /** False: the system takes no more for now. */
  write(bytes: Uint8Array): boolean;
  /** The first frame, as the protocol wants it. */
  introduce(): void;
  /** No byte more is read. */
  pause(): void;
  resume(): void;
  /** Waits for a frame of this type. */
  seen(type: number): Promise<Buffer>;
}

/** Connects by upgrade, up to the relay's first frame. */
export async function rawClient(scope: Scope, port: number, keys: BoxKeys = newBoxKeys()): Promise<RawClient> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  scope.teardown(() => void socket.destroy());
  let isClosed = false;
  socket
    .on('error', () => {})
    .on('close', () => {
      isClosed = true;
    });
  await once(socket, 'secureConnect');
  socket.write('GET /derp HTTP/1.1\r\nHost: relay\r\nUpgrade: DERP\r\nConnection: Upgrade\r\n\r\n');
  const frames: { readonly type: number; readonly payload: Buffer }[] = [];
  const reader = createFrameReader(
    () => 1_048_576,
    (type, payload) => frames.push({ type, payload: Buffer.from(payload) }) > 0,
  );
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    if (head.includes('\r\n\r\n')) {
      reader.push(chunk);
      return;
    }
    head += chunk.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end !== -1) reader.push(Buffer.from(head.slice(end + 4), 'latin1'));
  });
  const seen = async (type: number): Promise<Buffer> =>
    await until(`a frame of type ${type}`, () => {
      if (isClosed) throw new Error('closed');
      return frames.find((frame) => frame.type === type)?.payload;
    });
  const serverKey = (await seen(FRAME.serverKey)).subarray(MAGIC.length);
  return {
    keys,
    serverKey,
    frames,
    seen,
    isClosed: () => isClosed,
    write: (bytes) => socket.write(bytes),
    introduce: () =>
      void socket.write(
        encodeFrame(FRAME.clientInfo, keys.publicKey, sealJson({ version: 2 }, serverKey, keys.privateKey)),
      ),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  };
}

/** One that was admitted. */
export async function admittedRawClient(scope: Scope, port: number, keys: BoxKeys = newBoxKeys()): Promise<RawClient> {
  const client = await rawClient(scope, port, keys);
  client.introduce();
  await client.seen(FRAME.serverInfo);
  return client;
}
