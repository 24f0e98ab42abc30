/**
 * A node may answer a scrape with anything. It becomes a sentence within the time limit, in bounded memory, and costs
 * no other node.
 */
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { ok } from '../../../../actors/refusal.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { EXPOSITION_BYTES_MAX } from '../../../../transport/metrics/limits.ts';
import { NODE_REQUESTS_MAX } from '../../../../transport/tunnels/limits.ts';
import { until } from '../../../support/until.ts';
import { NODE } from '../../../support/net/tunnels-fixture.ts';
import { answer, scrapeFixture } from './fixture.ts';
import { CHUNKED, chunk, LATE, LIES, LINES, MS_MAX, RIGHT, TOO_MUCH } from './lies.ts';
import { scaled } from '../../../support/busy.ts';

/** What a busy machine adds, in ms. */
const SLACK_MS = 1_000;

/** What is told as soon as it is there is told within this, in ms. */
const TOLD_MS_MAX = 10_000;

/** That of scrapes that are answered, in ms: how a node answers shows only where its answer is waited for. */
const ANSWERED_MS_MAX = 60_000;

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

    t.is(scraped.ok ? scraped.value.text.toString() : scraped.refusal.message, text, type);
  }
});

for (const text of [LINES, Buffer.concat(Array.from({ length: 20 }, () => LINES)), Buffer.alloc(0)])
  test(`an answer of ${text.length} bytes that came packed is read, and handed on as it came`, async (t) => {
    const gzip = gzipSync(text);
    const { scrapes } = await scrapeFixture(t, (socket) => {
      socket.once('data', () => socket.end(answer(gzip, { 'Content-Encoding': 'gzip' })));
    });

    const scraped = await scrapes.raw(NODE, 'host');

    t.deepEqual(scraped, ok({ text, gzip }));
  });

test('what an answer is unpacked to counts as what its node may send', async (t) => {
  const gzip = gzipSync(Buffer.concat(Array.from({ length: 69 }, () => LINES))); // 4.1 MB of 4,194,304 bytes
  const answerAll = (socket: Socket): void => {
    socket.on('data', () => socket.write(answer(gzip, { 'Content-Encoding': 'gzip' })));
  };
  const { scrapes } = await scrapeFixture(t, answerAll, ANSWERED_MS_MAX, () => 0); // no time passes: nothing is refilled
  const said: string[] = [];

  for (let count = 0; count < 4; count += 1) {
    const scraped = await scrapes.raw(NODE, 'host');
    said.push(scraped.ok ? 'ok' : scraped.refusal.message);
  }

  t.deepEqual(said, [
    'ok',
    'ok',
    'ok',
    'The answers of this node are too large to be read as often as they are asked for: ask it less often.',
  ]);
});

test('nothing of what was asked tells the node who asks, and one encoding is offered', async (t) => {
  const asked: string[] = [];
  const { scrapes } = await scrapeFixture(t, (socket) =>
    socket.once('data', (bytes: Buffer) => {
      asked.push(bytes.toString());
      socket.end(answer(RIGHT));
    }),
  );

  await scrapes.raw(NODE, 'wireguard');

  t.deepEqual(asked, [
    'GET /metrics HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\nConnection: keep-alive\r\n\r\n',
  ]);
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
