/**
 * Outputs that are read slowly, or not at all: over a real WebSocket, from a machine that says more than anybody reads.
 */
import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { TAIL_PIECE_BYTES, TAIL_REST_MS_MAX } from '../../../../api/feeds/limits.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { createLiveClient } from '../../../../cli/service/client.ts';
import { isNotFound } from '../../../../cli/problem.ts';
import { followOutput, LINE_CHARS_MAX } from '../../../../cli/run/tails.ts';
import { Unwritten, UNWRITTEN_BYTES_MAX } from '../../../../cli/run/unwritten.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import { commandId, executionId, executionOf, idOf, nodeId, settle, type Fixture } from '../../../support/api/rows.ts';
import { serve } from '../../../support/api/served.ts';
import { until } from '../../../support/until.ts';

/** A connection is taken for lost by none of these tests, however long this process is held up. */
const NEVER_SILENT = { pingMs: 300_000, pongMsMax: 300_000 };

/** Four times as much as may wait, in numbered lines. */
const OUTPUT = Array.from({ length: UNWRITTEN_BYTES_MAX / 256 }, (_none, line) => `${line} `.padEnd(1_023, '.')).join(
  '\n',
);

/**
 * Says its output to whoever listens, from where each wants it or it still has it, until the test ends. `gone` is what
 * it has no more: all before that.
 */
function machine(t: ExecutionContext, { streams }: Fixture, output: string, gone: () => number): void {
  const end = new AbortController();
  t.teardown(() => end.abort());
  const speak = async (): Promise<void> => {
    let heard = streams[0];
    for (let at = 0; !end.signal.aborted; await setImmediate()) {
      const stream = streams.findLast(({ closed }) => !closed);
      if (stream !== heard) at = Math.max(stream?.from ?? 0, gone());
      heard = stream;
      if (stream === undefined || at === output.length) continue;
      const text = output.slice(at, at + TAIL_PIECE_BYTES);
      at += text.length;
      stream.send(at - text.length, text, at === output.length);
    }
  };
  void speak();
}

/** A reader who takes nothing before `reads` is called, and follows a running execution. */
async function follow(t: ExecutionContext, output: string) {
  const { url, fixture } = await serve(t, { mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock)] });
  const live = createLiveClient({ url, key: KEYS.api }, {}, NEVER_SILENT);
  t.teardown(() => live.close());
  fixture.executions.set(idOf(0), executionOf(0, 7, { status: 'sent' }));
  const reading = Promise.withResolvers<void>();
  const read: string[] = [];
  let received = 0;
  const unwritten = new Unwritten(async (text) => {
    await reading.promise;
    read.push(text);
  });
  const leave = new AbortController();
  const followed = followOutput(live.api, idOf(0), leave.signal, {
    lines(lines) {
      const text = lines.map((line) => `${line}\n`).join('');
      received += text.length;
      return unwritten.add(text);
    },
    missed: (bytes) => unwritten.behind(() => void read.push(`(${bytes} missed)\n`)),
    again: () => unwritten.behind(() => void read.push('(again)\n')),
  });
  await until('a stream', () => fixture.streams.length > 0);
  let gone = 0;
  machine(t, fixture, output, () => gone);
  return {
    forgets(bytes: number): void {
      gone = bytes;
    },
    fixture,
    followed,
    leave,
    received: () => received,
    /** Resolves when nobody listens to the machine any more. */
    isPaused: () => until('a pause', () => received > 0 && fixture.streams.every(({ closed }) => closed)),
    reads: () => reading.resolve(),
    async read(): Promise<string> {
      await unwritten.written();
      return read.join('');
    },
  };
}

/** The execution ends, with what is stored of its output. */
function finish({ executions, bus }: Fixture, output: string, isTruncated = false): void {
  executions.set(
    idOf(0),
    executionOf(0, 7, { status: 'completed', exit_code: 0, output, output_truncated: isTruncated }),
  );
  bus.publish([
    {
      type: 'execution-changed',
      execution: executionId(0),
      command: commandId(7),
      node: nodeId(1_000),
      clusterName: 'demo',
      status: 'completed',
      exitCode: 0,
    },
  ]);
}

test('an output whose execution is deleted ends, and says that it is not there', async (t) => {
  const { fixture, followed } = await follow(t, '');

  fixture.executions.delete(idOf(0));
  fixture.bus.publish([{ type: 'execution-removed', execution: executionId(0), command: commandId(7) }]);
  await settle();
  fixture.clock.advance(TAIL_REST_MS_MAX);

  t.true(isNotFound(await t.throwsAsync(followed)));
});

test('while nobody reads, no more is received than may wait, and nothing is missed when somebody reads again', async (t) => {
  const tail = await follow(t, OUTPUT);

  await tail.isPaused();
  const waiting = tail.received();
  tail.reads();
  await until('all of it', () => tail.received() > OUTPUT.length - 1_024); // its last line has no end yet
  finish(tail.fixture, OUTPUT);
  await tail.followed;

  t.true(waiting > UNWRITTEN_BYTES_MAX && waiting <= UNWRITTEN_BYTES_MAX + TAIL_PIECE_BYTES, `${waiting} bytes`);
  t.is(await tail.read(), `${OUTPUT}\n`);
});

test('what a machine no longer has when it is read is said to be gone', async (t) => {
  const tail = await follow(t, OUTPUT);

  await tail.isPaused();
  const live = tail.received(); // whole lines, as pieces are
  const kept = OUTPUT.length - 2_048;
  tail.forgets(kept);
  tail.reads();
  await until('the end of it', () => tail.received() > live);
  finish(tail.fixture, OUTPUT);
  await tail.followed;

  t.is(await tail.read(), `${OUTPUT.slice(0, live)}(${kept - live} missed)\n${OUTPUT.slice(kept)}\n`);
});

test('an output that ended while nobody read is told from what was stored of it, and that this begins again', async (t) => {
  const tail = await follow(t, OUTPUT);

  await tail.isPaused();
  const waiting = tail.received();
  finish(tail.fixture, 'the first\n...\nthe last\n', true);
  tail.reads();
  await tail.followed;

  const [live = '', stored] = (await tail.read()).split('(again)\n');
  t.is(live, `${OUTPUT.slice(0, live.length - 1)}\n`);
  t.true(live.length >= waiting, 'what was received is told');
  t.is(stored, 'the first\n...\nthe last\n');
});

test('somebody who goes does not wait for a reader', async (t) => {
  const tail = await follow(t, OUTPUT);
  await tail.isPaused();

  tail.leave.abort();
  await tail.followed;
  tail.reads();
  const read = await tail.read();

  t.is(read, `${OUTPUT.slice(0, read.length - 1)}\n`);
  t.true(tail.fixture.streams.every(({ closed }) => closed));
});

test('a line without an end is told in parts', async (t) => {
  const line = 'x'.repeat(2 * LINE_CHARS_MAX + 5);
  const tail = await follow(t, line);
  tail.reads();
  await until('most of it', () => tail.received() > LINE_CHARS_MAX * 2);
  finish(tail.fixture, line);
  await tail.followed;

  const lines = (await tail.read()).split('\n');
  t.is(lines.join(''), line);
  t.is(lines.length, 4);
  t.true(lines.every((one) => one.length <= LINE_CHARS_MAX + TAIL_PIECE_BYTES));
});
