/**
 * Worker: thousands of tunnels that each carry random bytes of their own, both ways, at the same time. Either end
 * hashes what it sent and what it got; one byte in the wrong tunnel, or none, and the hashes differ.
 *
 * A round of one tunnel: the client sends how many bytes, then the bytes; the target sends as many of its own
 * meanwhile, then the hash of these and the hash of what it got.
 */
import { createHash, randomFillSync, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { serveQuestions } from '../method/worker.ts';
import { dialSocks5, type Socks5Route } from './socks5.ts';

/** Length of the count, and of a SHA-256. */
const HEAD_BYTES = 4;
const HASH_BYTES = 32;

/** Tunnels that are opened at once. */
const OPENING_MAX = 32;

/** Sent at a time. */
const CHUNK_BYTES = 16_384;

const tunnels: Socket[] = [];

/** Sends random bytes with back-pressure; returns their hash. */
async function sendRandom(socket: Socket, bytes: number): Promise<Buffer> {
  const hash = createHash('sha256');
  for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
    const chunk = randomFillSync(Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES)));
    hash.update(chunk);
    if (!socket.write(chunk)) await once(socket, 'drain');
  }
  return hash.digest();
}

function answer(socket: Socket): void {
  let head = Buffer.alloc(0);
  let left = 0;
  let hash: Hash = createHash('sha256');
  let sent: Promise<Buffer> | undefined;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    if (sent === undefined) {
      head = Buffer.concat([head, chunk]);
      if (head.length < HEAD_BYTES) return;
      left = head.readUInt32BE();
      rest = head.subarray(HEAD_BYTES);
      sent = sendRandom(socket, left);
    }
    hash.update(rest);
    left -= rest.length;
    if (left > 0) return;
    const got = hash.digest();
    void sent.then((own) => socket.write(Buffer.concat([own, got])));
    [head, sent, hash] = [Buffer.alloc(0), undefined, createHash('sha256')];
  });
}

/** One round of one tunnel: whether all bytes were those that the other end sent. */
async function exchange(socket: Socket, bytes: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const hash = createHash('sha256');
  let got = 0;
  let tail = Buffer.alloc(0);
  const take = (chunk: Buffer): void => {
    const ofBody = chunk.subarray(0, Math.max(0, bytes - got));
    hash.update(ofBody);
    got += chunk.length;
    tail = Buffer.concat([tail, chunk.subarray(ofBody.length)]);
    if (got >= bytes + 2 * HASH_BYTES) resolve(tail);
  };
  const lost = (): void => resolve(Buffer.alloc(0));
  socket.on('data', take);
  socket.once('close', lost);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(bytes);
  socket.write(head);
  const sent = await sendRandom(socket, bytes);
  const hashes = await promise;
  socket.off('data', take);
  socket.off('close', lost);
  return hashes.equals(Buffer.concat([hash.digest(), sent]));
}

serveQuestions({
  /** In the process that plays the target. Answers its port. */
  listen: async () => {
    const server = createServer({ noDelay: true }, answer);
    server.listen(0, '127.0.0.1', 4_096);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  },
  /** In the process that plays the clients: opens so many more. */
  open: async ({ count, route }: { count: number; route: Socks5Route }) => {
    let next = 0;
    const opener = async (): Promise<void> => {
      for (; next < count;) {
        next += 1;
        tunnels.push(await dialSocks5(route));
      }
    };
    await Promise.all(Array.from({ length: OPENING_MAX }, opener));
  },
  /** All at the same time. Answers how many tunnels did not give back exactly what belongs to them. */
  exchange: async (bytes: number) => {
    const results = await Promise.all(tunnels.map((socket) => exchange(socket, bytes)));
    return results.filter((isRight) => !isRight).length;
  },
  close: async () => {
    await Promise.all(
      tunnels.splice(0).map(async (socket) => {
        socket.end();
        if (!socket.closed) await once(socket.resume(), 'close');
      }),
    );
  },
});
