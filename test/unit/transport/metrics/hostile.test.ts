/**
 * A node may answer a scrape with anything. It becomes a sentence within the time limit, in bounded memory, and costs
 * no other node.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Socket } from 'node:net';
import test from 'ava';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { EXPOSITION_BYTES_MAX } from '../../../../transport/metrics/limits.ts';
import { NODE_REQUESTS_MAX } from '../../../../transport/tunnels/limits.ts';
import { until } from '../../../support/until.ts';
import { NODE } from '../../../support/net/tunnels-fixture.ts';
import { answer, scrapeFixture } from './fixture.ts';
import { scaled } from '../../../support/busy.ts';

/** Time limit of the scrapes here, and what a busy machine adds, in ms. */
const MS_MAX = scaled(1_000);
const SLACK_MS = 1_000;

/** What is told as soon as it is there is told within this, in ms. */
const TOLD_MS_MAX = 10_000;

/** That of scrapes that are answered, in ms: how a node answers shows only where its answer is waited for. */
const ANSWERED_MS_MAX = 60_000;

const RIGHT = '# TYPE up gauge\nup 1\n';
const CHUNKED = { 'Content-Length': '', 'Transfer-Encoding': 'chunked' };

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
const LATE = new RegExp(`did not answer within ${MS_MAX} ms`, 'u');

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

const LINES = Buffer.from('up{a="b"} 1\n'.repeat(5_000));
const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/** On a busy machine the time is over first. */
const TOO_MUCH = /more than 4194304 bytes|not answer within/u;

/** What a node does, and what is said of it. */
const LIES: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
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
  ['answers with something gzipped', once(answer(gzipSync(RIGHT), { 'Content-Encoding': 'gzip' })), /encoded body/u],
  [
    'answers with something gzipped that it does not name',
    once(answer(gzipSync(Buffer.alloc(50_000_000)))),
    /no exposition: line 1/u,
  ],
  [
    'answers with a coding in a coding',
    once(answer('', { 'Content-Length': '', 'Transfer-Encoding': 'gzip, chunked' })),
    /how long|did not answer with HTTP/u,
  ],
  ['answers with bytes that are no text', once(answer(Buffer.alloc(10_000, 0xff))), /no exposition/u],
  ['answers with a line without end', once(answer(Buffer.alloc(1_000_000, 'a'))), /line 1 is longer/u],
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
    /more than 8192 pieces/u,
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
  ['has long names of pieces', forEver(answer('', CHUNKED), `1;${'x'.repeat(10_000)}\r\n#\r\n`), TOO_MUCH],
  [
    'never ends its trailers',
    forEver(answer(Buffer.concat([chunk(Buffer.from(RIGHT)), Buffer.from('0\r\n')]), CHUNKED), 'x: y\r\n'.repeat(100)),
    /cut|did not answer with HTTP/u,
  ],
];

for (const [what, serve, sentence] of LIES) {
  test.serial(`a node that ${what} is told of in one sentence, in time`, async (t) => {
    const msMax = [LATE, TOO_MUCH].includes(sentence) ? MS_MAX : ANSWERED_MS_MAX;
    const { scrapes, requests } = await scrapeFixture(t, serve, msMax);
    const beganMs = performance.now();

    const scraped = await scrapes.raw(NODE, 'host');

    const tookMs = performance.now() - beganMs;
    t.is(scraped.ok ? 'ok' : scraped.refusal.code, 'service_unavailable');
    t.regex(scraped.ok ? '' : scraped.refusal.message, sentence);
    t.true(tookMs < scaled(Math.min(msMax + SLACK_MS, TOLD_MS_MAX)), `${tookMs} ms`);
    t.is(requests.open, 0);
  });
}

test('an answer comes whole however it is cut, and in any of the forms that Prometheus takes', async (t) => {
  const text = '# HELP up Whether it is.\n# TYPE up gauge\nup{a="ü"} 1\n'.repeat(3_000);
  for (const [type, headers] of [
    ['text/plain', {}],
    ['text/plain; version=0.0.4', {}],
    ['text/plain;charset=UTF-8;version="0.0.4"', CHUNKED],
    ['text/plain; version=0.0.4; charset=utf-8; escaping=values', {}],
  ] as const) {
    const body =
      headers === CHUNKED ? Buffer.concat([chunk(Buffer.from(text)), Buffer.from('0\r\n\r\n')]) : Buffer.from(text);
    const { scrapes } = await scrapeFixture(t, (socket) => {
      const bytes = answer(body, { 'Content-Type': type, ...headers });
      socket.once('data', () => {
        for (let from = 0; from < bytes.length; from += 7_001) socket.write(bytes.subarray(from, from + 7_001));
      });
    });

    const scraped = await scrapes.raw(NODE, 'host');

    t.is(scraped.ok ? Buffer.concat(scraped.value).toString() : scraped.refusal.message, text, type);
  }
});

test('nothing of what was asked tells the node who asks, and no encoding is offered', async (t) => {
  const asked: string[] = [];
  const { scrapes } = await scrapeFixture(t, (socket) =>
    socket.once('data', (bytes: Buffer) => {
      asked.push(bytes.toString());
      socket.end(answer(RIGHT));
    }),
  );

  await scrapes.raw(NODE, 'wireguard');

  t.deepEqual(asked, ['GET /metrics HTTP/1.1\r\nhost: localhost\r\nConnection: keep-alive\r\n\r\n']);
});

test('a node is asked so many things at once and no more; the others are asked as before', async (t) => {
  const waiting: Socket[] = [];
  const { scrapes, requests, outcomes } = await scrapeFixture(t, (socket) => {
    socket.once('data', () => waiting.push(socket));
  });
  const other = 'f190f5c2-7a11-4c3e-8f00-000000000001' as NodeId;
  const first = Array.from({ length: NODE_REQUESTS_MAX }, () => scrapes.raw(NODE, 'host'));
  await until('all of them', () => waiting.length === NODE_REQUESTS_MAX);

  const refused = await scrapes.raw(NODE, 'agent');
  const another = scrapes.raw(other, 'host');
  await until('that of the other node', () => waiting.length > NODE_REQUESTS_MAX);
  for (const socket of waiting) socket.end(answer(RIGHT));

  t.deepEqual(refused, {
    ok: false,
    refusal: {
      code: 'service_unavailable',
      message: 'This node is asked 8 things at once already: try again shortly.',
      retryAfterSeconds: 1,
    },
  });
  t.true((await Promise.all([...first, another])).every(({ ok }) => ok));
  t.deepEqual(outcomes.toSorted(), ['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'overloaded']);
  t.is(requests.open, 0);
});

test('a scrape that nobody waits for any more ends at the node', async (t) => {
  const opened: Socket[] = [];
  const { scrapes, requests, outcomes } = await scrapeFixture(t, (socket) => {
    socket.once('data', () => opened.push(socket));
  });
  const client = new AbortController();
  const scraping = scrapes.raw(NODE, 'host', client.signal);
  await until('the scrape', () => opened.length === 1);

  client.abort();

  t.false((await scraping).ok);
  t.deepEqual(outcomes, ['abandoned']);
  await until('the end at the node', () => opened[0]?.destroyed === true || opened[0]?.readableEnded === true);
  t.is(requests.open, 0);
});

test.serial(
  'what many nodes send at once is bounded together: the largest are cut, and those of the usual size come',
  async (t) => {
    const small = answer(RIGHT);
    let flooding = 0;
    const patient = new AbortController();
    const { scrapes, outcomes } = await scrapeFixture(
      t,
      (socket) => {
        socket.once('data', (bytes: Buffer) => {
          if (!bytes.toString().includes('/api/')) {
            socket.end(small);
            return;
          }
          flooding += 1;
          socket.write(answer('', { 'Content-Length': String(EXPOSITION_BYTES_MAX) }));
          for (let part = 0; part < 45; part += 1) socket.write(LINES); // 2.7 of 4 MiB, and then nothing
        });
      },
      ANSWERED_MS_MAX,
    );
    const nodes = Array.from({ length: 6 }, (_, index) => `0190f5c2-7a11-4c3e-8f00-00000000010${index}` as NodeId);
    const floods = nodes.flatMap((node) => Array.from({ length: 4 }, () => scrapes.raw(node, 'agent', patient.signal)));
    await until('the floods', () => flooding === floods.length);

    const honest = await Promise.all(nodes.map((node) => scrapes.raw(node, 'host')));
    await until('those that are cut', () => outcomes.filter((outcome) => outcome === 'overloaded').length >= 5);
    patient.abort();
    const told = (await Promise.all(floods)).map((flood) => (flood.ok ? 'ok' : flood.refusal.message));

    t.true(honest.every(({ ok }) => ok));
    t.true(
      told.every((message) => /^(?:Too much is read|Nobody waits)/u.test(message)),
      JSON.stringify(told),
    );
  },
);
