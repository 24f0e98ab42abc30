/** Everything that a node may do when it is scraped. */
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Socket } from 'node:net';
import { scaled } from '../../../support/busy.ts';
import { answer } from './fixture.ts';

/** Time limit of the scrapes here, in ms. */
export const MS_MAX = scaled(1_000);

/** An exposition. */
export const RIGHT = '# TYPE up gauge\nup 1\n';
/** Headers of an answer that comes in chunks. */
export const CHUNKED = { 'Content-Length': '', 'Transfer-Encoding': 'chunked' };

/** Says something once it was asked. */
const once =
  (bytes: string | Buffer, ends = true) =>
  (socket: Socket): void => {
    socket.once('data', () => {
      if (ends) socket.end(bytes);
      else socket.write(bytes);
    });
  };

/** What is said of a node that takes too long. */
export const LATE = new RegExp(`did not answer within ${MS_MAX} ms`, 'u');

/** Says one thing, then another again and again until nobody takes it any more. */
const forEver =
  (first: string | Buffer, again: string | Buffer, everyMs = 0) =>
  (socket: Socket): void => {
    const more = async (): Promise<void> => {
      while (!socket.destroyed) {
        if (everyMs > 0) await delay(everyMs);
        if (!socket.write(again))
          await new Promise<void>((resolve) => {
            socket.once('drain', resolve).once('close', resolve);
          });
      }
    };
    socket.once('data', () => {
      socket.write(first);
      void more();
    });
  };

/** Some 60 KB of an exposition. */
export const LINES = Buffer.from('up{a="b"} 1\n'.repeat(5_000));
/** Bytes as one chunk. */
export const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/** On a busy machine the time is over first. */
export const TOO_MUCH = /more than 4194304 bytes|not answer within/u;

const TOO_SMALL = /in pieces that are too many and too small/u;

/** Of 50 KB. */
const BOMB = gzipSync(Buffer.alloc(50_000_000));

const NOT_PACKED = /not packed as it says/u;

/** A body of gzip with nothing in it but empty blocks, so many of them: dear to unpack, and nothing comes of it. */
function emptyBlocks(count: number): Buffer {
  const empty = gzipSync('');
  return Buffer.concat([
    empty.subarray(0, 10),
    Buffer.alloc(5 * count, Buffer.from([0, 0, 0, 255, 255])),
    empty.subarray(10),
  ]);
}

/** Where the last four bytes say no length, any may stand there. */
const NO_LENGTH = /not packed as it says|more than 4194304 bytes/u;

/** An answer whose body is packed, or said to be. */
const packed = (body: Buffer, encoding = 'gzip'): Buffer => answer(body, { 'Content-Encoding': encoding });

/** A body packed by gzip that says another length of what is in it. Source: RFC 1952, ISIZE. */
function saying(body: Buffer, bytes: number): Buffer {
  const lying = Buffer.from(body);
  lying.writeUInt32LE(bytes, lying.length - 4);
  return lying;
}

/** What a node does, and what is said of it. */
export const LIES: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
  ['hangs up', (socket) => socket.destroy(), /did not answer with HTTP, or broke off/u],
  [
    'hangs up once it was asked',
    (socket) => socket.once('data', () => socket.end()),
    /did not answer with HTTP, or broke off/u,
  ],
  ['says nothing', () => {}, LATE],
  ['says something else than HTTP', once('SSH-2.0-OpenSSH_9.2\r\n'), /did not answer with HTTP/u],
  ['answers with HTTP/0.9', once(RIGHT), /did not answer with HTTP/u],
  [
    'answers with HTTP/1.0',
    once(`HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${RIGHT.length}\r\n\r\n${RIGHT}`),
    /another version of HTTP/u,
  ],
  ['answers with another status', once(answer('no', {}, '404 Not Found')), /status 404/u],
  ['answers with no content', once('HTTP/1.1 204 No Content\r\n\r\n'), /status 204/u],
  ['points elsewhere', once(answer('', { Location: 'http://169.254.169.254/' }, '302 Found')), /status 302/u],
  ['answers with a web page', once(answer('<html></html>', { 'Content-Type': 'text/html' })), /another type/u],
  [
    'answers with a web page that it calls text',
    once(answer('<!doctype html>\n<html></html>\n')),
    /no exposition: line 1 does not begin/u,
  ],
  ['answers with JSON', once(answer('{"up":1}\n', { 'Content-Type': 'application/json' })), /another type/u],
  [
    'answers with another format',
    once(answer('up 1\n# EOF\n', { 'Content-Type': 'application/openmetrics-text; version=1.0.0; charset=utf-8' })),
    /another type/u,
  ],
  ['says no type', once(answer(RIGHT, { 'Content-Type': '' })), /another type/u],
  [
    'answers in another charset',
    once(answer(RIGHT, { 'Content-Type': 'text/plain; charset=utf-16' })),
    /another type/u,
  ],
  [
    'answers with another encoding',
    once(answer(brotliCompressSync(RIGHT), { 'Content-Encoding': 'br' })),
    /encoded body/u,
  ],
  ['answers with an encoding in another', once(packed(gzipSync(gzipSync(RIGHT)), 'gzip, gzip')), /encoded body/u],
  ['answers with something packed twice', once(packed(gzipSync(gzipSync(RIGHT)))), /no exposition: line 1/u],
  ['says that something is packed', once(packed(Buffer.from(RIGHT))), NO_LENGTH],
  ['answers with the half of something packed', once(packed(gzipSync(LINES).subarray(0, 150))), NO_LENGTH],
  ['answers with nothing that it says is packed', once(packed(Buffer.alloc(0))), NOT_PACKED],
  ['packs more than may come', once(packed(BOMB)), /more than 4194304 bytes/u],
  ['packs more than it says', once(packed(saying(BOMB, 2_000_000))), NOT_PACKED],
  ['packs a little more than it says', once(packed(saying(gzipSync(LINES), LINES.length - 12))), NOT_PACKED],
  ['packs less than it says', once(packed(saying(gzipSync(LINES), LINES.length + 12))), NOT_PACKED],
  [
    'packs something twice, one behind the other',
    once(packed(Buffer.concat([gzipSync(RIGHT), gzipSync(LINES)]))),
    NOT_PACKED,
  ],
  ['packs nothing in 4 MB', once(packed(emptyBlocks(800_000))), NOT_PACKED],
  [
    'packs more behind a byte of nothing',
    once(packed(Buffer.concat([gzipSync(RIGHT), Buffer.from([0]), gzipSync(RIGHT)]))),
    NOT_PACKED,
  ],
  [
    'packs something wrong behind 280 KB',
    once(packed(gzipSync(`${'up 1\n'.repeat(56_000)}up\n`))),
    /line 56001 has no value/u,
  ],
  ['answers with something gzipped that it does not name', once(answer(BOMB)), /no exposition: line 1/u],
  [
    'answers with a coding in a coding',
    once(answer('', { 'Content-Length': '', 'Transfer-Encoding': 'gzip, chunked' })),
    /how long|did not answer with HTTP/u,
  ],
  ['answers with bytes that are no text', once(answer(Buffer.alloc(10_000, 0xff))), /no exposition/u],
  ['answers with a line without end', once(answer(Buffer.alloc(1_000_000, 'a'))), /line 1 is longer/u],
  [
    'answers with a wrong line behind 280 KB',
    once(answer(`${'up 1\n'.repeat(56_000)}up\n`)),
    /line 56001 has no value/u,
  ],
  ['leaves the last line open behind 280 KB', once(answer(`${'up 1\n'.repeat(56_000)}up 2`)), /line 56001 has no end/u],
  ['leaves the last line open', once(answer('up 1\nup 2')), /line 2 has no end/u],
  ['does not say how long its answer is', once(answer(RIGHT, { 'Content-Length': '' })), /how long its answer is/u],
  [
    'says two lengths',
    once(answer(RIGHT, { 'Content-Length': '5\r\nContent-Length: 21' })),
    /did not answer with HTTP/u,
  ],
  [
    'says a length and sends pieces',
    once(answer(RIGHT, { 'Transfer-Encoding': 'chunked' })),
    /did not answer with HTTP/u,
  ],
  ['says a length below nothing', once(answer(RIGHT, { 'Content-Length': '-5' })), /did not answer with HTTP/u],
  ['says that it is huge', once(answer('', { 'Content-Length': '99999999999' }), false), /more than 4194304 bytes/u],
  ['breaks off', once(answer(RIGHT, { 'Content-Length': '5000' })), /was cut/u],
  ['breaks off between pieces', once(answer(chunk(Buffer.from(RIGHT)), CHUNKED)), /was cut/u],
  ['is huge', forEver(answer('', CHUNKED), chunk(LINES)), TOO_MUCH],
  ['never ends its headers', forEver('HTTP/1.1 200 OK\r\n', 'x: y\r\n'.repeat(100)), /did not answer with HTTP/u],
  ['drips its headers', forEver('HTTP/1.1 200 OK\r\n', 'x: y\r\n', 50), LATE],
  ['drips its body', forEver(answer('', { 'Content-Length': '9999' }), 'up 1\n', 50), LATE],
  [
    'answers in crumbs',
    once(answer(Buffer.from('1\r\nu\r\n1\r\np\r\n1\r\n \r\n1\r\n1\r\n1\r\n\n\r\n'.repeat(2_000)), CHUNKED), false),
    TOO_SMALL,
  ],
  ['answers for the time being', once('HTTP/1.1 100 Continue\r\n\r\n', false), /interim answers/u],
  [
    'answers for the time being, for ever',
    forEver('', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(500)),
    /interim answers/u,
  ],
  [
    'goes over to another protocol',
    once('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n', false),
    /another protocol/u,
  ],
  ['has long names of pieces', forEver(answer('', CHUNKED), `1;${'x'.repeat(10_000)}\r\n#\r\n`), TOO_SMALL],
  [
    'never ends its trailers',
    forEver(answer(Buffer.concat([chunk(Buffer.from(RIGHT)), Buffer.from('0\r\n')]), CHUNKED), 'x: y\r\n'.repeat(100)),
    /cut|did not answer with HTTP/u,
  ],
];
