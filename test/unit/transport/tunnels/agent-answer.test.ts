/**
 * What is held while an answer of an agent is read, and afterwards, whatever the agent does with its stream.
 *
 * Promises: L1, L2.
 */
import { Duplex } from 'node:stream';
import test from 'ava';
import { WEB_LIMITS } from '../../../../agent/observability/web-server.ts';
import { notDialled, type Dialled } from '../../../../transport/net/streams/dialled.ts';
import { readAnswer, type AgentEndpoint, type AnswerWanted } from '../../../../transport/tunnels/agent-answer.ts';
import type { Answered } from '../../../../transport/tunnels/answer-body.ts';
import { createAnswerShelf } from '../../../../transport/tunnels/answer-shelf.ts';
import { KeptStreams } from '../../../../transport/tunnels/kept-streams.ts';
import { AGENT_PIECES_MAX, KEPT_STREAM_AGE_MS_MAX, KEPT_STREAM_MS_MAX } from '../../../../transport/tunnels/limits.ts';
import { until } from '../../../support/until.ts';
import { answer, portsOf } from '../metrics/fixture.ts';

const BYTES_MAX = 1_000;
const PLACE: AgentEndpoint = { ports: portsOf(1), tokenHash: Buffer.from('hash') };
const KEPT_ANSWER = answer('up 1\n', { 'Keep-Alive': 'timeout=75' });

/**
 * A stream on which its end says this in one go, once it was asked, and does what a stream of a tunnel does besides.
 */
function saying(says: Buffer | readonly Buffer[], { ends = false, isTaken = true } = {}): Duplex {
  const stream = new Duplex({
    read() {},
    write(_chunk, _encoding, taken) {
      for (const piece of Buffer.isBuffer(says) ? [says] : says) this.push(piece);
      if (ends) this.push(null);
      if (isTaken) taken();
    },
  });
  return Object.assign(stream, { setTimeout: () => stream });
}

function reading() {
  let nowMs = 0;
  const shelf = createAnswerShelf();
  const streams = new KeptStreams<AgentEndpoint>({ nowMs: () => nowMs });
  const passed: number[] = [];
  const read = (dial: () => Promise<Dialled>, more: Partial<AnswerWanted> = {}): Promise<Answered> =>
    readAnswer(
      { stream: { name: 'a node', place: PLACE, dial }, path: '/metrics', headers: {}, bytesMax: BYTES_MAX, ...more },
      { streams, shelf, passed: (bytes) => passed.push(bytes) },
      new AbortController().signal,
    );
  const readOn = (stream: Duplex): Promise<Answered> => read(() => Promise.resolve({ ok: true, stream }));
  return {
    shelf,
    streams,
    passed,
    read,
    readOn,
    passes: (ms: number) => {
      nowMs += ms;
    },
  };
}

for (const [what, says] of [
  ['an interim answer with an answer behind it', `HTTP/1.1 103 Early Hints\r\n\r\n${KEPT_ANSWER.toString()}`],
  ['too much before an answer', `${'\r\n'.repeat(BYTES_MAX + 33_000)}${KEPT_ANSWER.toString()}`],
] as const)
  test(`${what} is refused, and takes no room for good`, async (t) => {
    const { shelf, readOn } = reading();
    const stream = saying(Buffer.from(says));

    t.false((await readOn(stream)).ok);

    t.is(shelf.bytes, 0);
    t.true(stream.destroyed);
  });

for (const [what, does] of [
  ['came before its request was taken', { isTaken: false }],
  ['came with the end of its stream', { ends: true }],
] as const)
  test(`an answer that ${what} is one, and its stream is not kept`, async (t) => {
    const { readOn, streams } = reading();
    const stream = saying(KEPT_ANSWER, does);

    t.true((await readOn(stream)).ok);

    await until('its end', () => stream.destroyed);
    t.is(streams.kept, 0);
  });

/** An answer in chunks of one byte, in pieces of 16 KiB as they come through a tunnel. */
function inChunksOfOneByte(chunks: number): Buffer[] {
  const head = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n');
  const bytes = Buffer.concat([head, Buffer.alloc(chunks * 6, '1\r\n#\r\n'), Buffer.from('0\r\n\r\n')]);
  return Array.from({ length: Math.ceil(bytes.length / 16_384) }, (_, at) =>
    bytes.subarray(at * 16_384, (at + 1) * 16_384),
  );
}

test('of an answer that was refused nothing more is parsed, and what came of it counts as garbage', async (t) => {
  const { read, passed } = reading();
  const stream = saying(inChunksOfOneByte(300_000));
  let pieces = 0;
  const count = (): void => {
    pieces += 1;
  };

  t.like(await read(() => Promise.resolve({ ok: true, stream: stream.prependListener('data', count) })), {
    ok: false,
  });
  await until('its end', () => stream.closed);

  t.true(pieces <= 24, `${pieces} of 110 pieces`); // so many an answer holds before anybody reads it
  t.deepEqual(passed, [5 * 16_384 * pieces]);
});

test('pieces may be small while they are few', async (t) => {
  const inPieces = (count: number) =>
    reading().read(() => Promise.resolve({ ok: true, stream: saying(inChunksOfOneByte(count)) }), {
      bytesMax: 1_000_000,
    });

  t.like(await inPieces(AGENT_PIECES_MAX), { ok: true, body: { length: AGENT_PIECES_MAX } });
  t.deepEqual(await inPieces(AGENT_PIECES_MAX + 10), {
    ok: false,
    problem: 'The node answered in pieces that are too many and too small.',
  });
});

test('a stream that is old is not kept any more', async (t) => {
  const { readOn, streams, passes } = reading();
  const stream = saying(KEPT_ANSWER);
  t.true((await readOn(stream)).ok);
  await until('it to be kept', () => streams.kept === 1);

  passes(KEPT_STREAM_AGE_MS_MAX + 1);
  t.true((await readOn(saying(Buffer.alloc(0)))).ok);

  await until('its end', () => stream.destroyed);
  t.is(streams.kept, 0);
});

test('nodes that cannot be reached leave nothing behind, and a dial that fails unforeseen is a failed answer', async (t) => {
  const { read, streams } = reading();

  t.deepEqual(await read(() => Promise.resolve(notDialled('offline', 'It is away.'))), {
    ok: false,
    dialled: { ok: false, failure: 'offline', message: 'It is away.' },
  });
  t.like(await read(() => Promise.reject(new Error('unforeseen'))), { ok: false });

  t.deepEqual({ ...streams.sockets }, {});
  t.deepEqual({ ...streams.requests }, {});
});

test('an agent keeps its end of a stream longer than an admin does', (t) => {
  t.true(KEPT_STREAM_MS_MAX < WEB_LIMITS.keepAliveMs);
});
