import test from 'ava';
import {
  FEED_RETRY_MS,
  TAIL_PIECE_BYTES,
  TAIL_REST_MS_MAX,
  TAIL_RETRY_MS,
  TAIL_WAITING_BYTES_MAX,
} from '../../../../api/feeds/limits.ts';
import { FollowedIsGone } from '../../../../api/feeds/subscription.ts';
import type { TailMessage } from '../../../../api/feeds/tail.ts';
import { commandId, createFixture, executionId, granted, idOf, nodeId, settle } from '../../../support/api/rows.ts';
import { change, finish, fixtureWith, follow, textOf } from '../../../support/api/tail-fixture.ts';

test('the output of a running execution comes as the agent sends it, and ends when its result is stored', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);

  fixture.streams[0]?.send(0, 'one\n');
  await settle();
  fixture.streams[0]?.send(4, 'two\n', true);
  finish(fixture, { output: 'one\ntwo\n' });
  await tail.ended;

  t.deepEqual(tail.messages, [
    { type: 'snapshot', offset: 0, status: 'sent', exit_code: null },
    { type: 'output', offset: 0, text: 'one\n' },
    { type: 'output', offset: 4, text: 'two\n' },
    { type: 'end', status: 'completed', exit_code: 0, output_truncated: false },
  ]);
  t.deepEqual(tail.ids, ['0', '4', '8', '8']);
});

test('a tail of an execution that was deleted ends, and its reader hears why', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);

  fixture.executions.delete(idOf(0));
  fixture.bus.publish([{ type: 'execution-removed', execution: executionId(0), command: commandId(7) }]);
  await settle();
  fixture.clock.advance(TAIL_REST_MS_MAX);

  await t.throwsAsync(tail.ended, { instanceOf: FollowedIsGone });
  t.deepEqual(tail.messages, [{ type: 'snapshot', offset: 0, status: 'sent', exit_code: null }]);
});

test('a tail of a pending execution waits until it is delivered', async (t) => {
  const fixture = fixtureWith({ status: 'pending' });
  const tail = await follow(fixture);
  const before = fixture.streams.length;

  change(fixture, { status: 'sent' });
  await settle();
  fixture.streams[0]?.send(0, 'hi');
  await settle();

  t.is(before, 0);
  t.deepEqual(textOf(tail.messages), 'hi');
});

test('the output of a finished execution comes from its row, in pieces that cut no character', async (t) => {
  const output = 'ä'.repeat(TAIL_PIECE_BYTES);
  const fixture = fixtureWith({ status: 'completed', exit_code: 0, output: `x${output}` });

  const tail = await follow(fixture);
  await tail.ended;

  t.is(textOf(tail.messages), `x${output}`);
  t.true(
    tail.messages.every((message) => message.type !== 'output' || Buffer.byteLength(message.text) <= TAIL_PIECE_BYTES),
  );
});

test('a reader goes on exactly where it was, over the end of the execution', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const first = await follow(fixture);
  fixture.streams[0]?.send(0, 'grün');
  await settle();
  first.gone();
  await first.ended;
  finish(fixture, { output: 'grün und blau' });

  const second = await follow(fixture, first.ids.at(-1));
  await second.ended;

  t.deepEqual(second.messages, [
    { type: 'snapshot', offset: 5, status: 'completed', exit_code: 0 },
    { type: 'output', offset: 5, text: ' und blau' },
    { type: 'end', status: 'completed', exit_code: 0, output_truncated: false },
  ]);
});

test('a reader of an output that was cut in the middle starts over with what is stored', async (t) => {
  const fixture = fixtureWith({ status: 'completed', exit_code: 0, output: 'head … tail', output_truncated: true });

  const tail = await follow(fixture, '9000');
  await tail.ended;

  t.deepEqual(tail.messages.slice(0, 2), [
    { type: 'snapshot', offset: 0, status: 'completed', exit_code: 0 },
    { type: 'output', offset: 0, text: 'head … tail' },
  ]);
});

test('one who saw the whole of a long output live is not told the cut one', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);

  fixture.streams[0]?.send(0, 'everything there was', true);
  finish(fixture, { output: 'every…was', output_truncated: true });
  await tail.ended;

  t.is(textOf(tail.messages), 'everything there was');
});

test('when the live rest does not come, the stored output completes it', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);
  fixture.streams[0]?.send(0, 'one');
  await settle();

  finish(fixture, { output: 'one two' });
  await settle();
  fixture.clock.advance(TAIL_REST_MS_MAX);
  await tail.ended;

  t.is(textOf(tail.messages), 'one two');
});

test('an agent that says the end early, or of what it does not know, keeps nothing of the stored output from a reader', async (t) => {
  const early = fixtureWith({ status: 'sent' });
  const unknown = fixtureWith({ status: 'sent' });
  const tails = [await follow(early), await follow(unknown, '12')];
  early.streams[0]?.send(0, 'one ');
  early.streams[0]?.send(4, '', true);
  unknown.streams[0]?.send(12, '', true);
  await settle();

  finish(early, { output: 'one two' });
  finish(unknown, { output: 'hea…ail', output_truncated: true });
  await Promise.all(tails.map(({ ended }) => ended));

  t.deepEqual(
    tails.map(({ messages }) => messages.flatMap((message) => (message.type === 'output' ? [message] : []))),
    [
      [
        { type: 'output', offset: 0, text: 'one ' },
        { type: 'output', offset: 4, text: 'two' },
      ],
      [{ type: 'output', offset: 0, text: 'hea…ail' }],
    ],
  );
});

test('a node that is away is asked again when it may be back, from where the reader is', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  fixture.online = false;
  const tail = await follow(fixture, '3');

  fixture.online = true;
  fixture.clock.advance(TAIL_RETRY_MS);
  await settle();
  fixture.bus.publish([{ type: 'node-changed', node: nodeId(1_000) }]);
  await settle();
  fixture.streams.at(-1)?.send(3, 'back');
  await settle();

  t.is(fixture.streams.at(-1)?.from, 3);
  t.is(textOf(tail.messages), 'back');
});

test('readers at different places share one stream, from the furthest behind', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const ahead = await follow(fixture, '4');
  const behind = await follow(fixture, '1');

  const open = fixture.streams.filter(({ closed }) => !closed);
  open[0]?.send(1, 'bcdef');
  await settle();

  t.is(open.length, 1);
  t.deepEqual([textOf(ahead.messages), textOf(behind.messages)], ['ef', 'bcdef']);
});

test('a reader that does not read keeps at most 1 MiB here, and misses nothing', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const reader = (
    await granted(fixture.feeds.executions.tail(executionId(0), { signal: new AbortController().signal }))
  )[Symbol.asyncIterator]();
  await reader.next();
  const asking = reader.next(); // joins, and waits for the first piece
  await settle();
  const piece = 'x'.repeat(TAIL_PIECE_BYTES);
  for (let n = 0; n < 40; n += 1) fixture.streams[0]?.send(n * TAIL_PIECE_BYTES, piece);

  let read = lengthOf(await asking);
  while (read < TAIL_WAITING_BYTES_MAX) read += lengthOf(await reader.next());
  const rest = reader.next();
  await settle();

  t.true(read <= TAIL_WAITING_BYTES_MAX + TAIL_PIECE_BYTES);
  t.is(fixture.streams.at(-1)?.from, read);
  fixture.streams.at(-1)?.send(read, 'more');
  t.is(lengthOf(await rest), 4);
});

test('output that a machine no longer keeps is left out after a second request, and late pieces cause no request', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);
  const streams = () => fixture.streams.map(({ from }) => from);
  fixture.streams[0]?.send(0, 'one');
  await settle();

  fixture.streams[0]?.send(10, 'later');
  await settle();
  t.deepEqual(streams(), [0, 3], 'it may be there all the same');
  fixture.streams[1]?.send(15, ' of before');
  await settle();
  t.deepEqual(streams(), [0, 3], 'what is late begins nothing');
  fixture.streams[1]?.send(10, 'later');
  fixture.streams[1]?.send(15, ' on');
  await settle();

  t.deepEqual(streams(), [0, 3]);
  t.deepEqual(
    tail.messages.flatMap((message) => (message.type === 'output' ? [[message.offset, message.text]] : [])),
    [
      [0, 'one'],
      [10, 'later on'],
    ],
  );
  t.is(tail.ids.at(-1), '18');
});

test('a piece that comes late makes no gap where the machine has what is wanted', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);
  fixture.streams[0]?.send(0, 'one');
  await settle();

  fixture.streams[0]?.send(10, 'of a reader before');
  await settle();
  fixture.streams[1]?.send(3, ' two');
  fixture.streams[1]?.send(7, ' three');
  await settle();

  t.is(textOf(tail.messages), 'one two three');
});

test('a tail outlives a database that is away when its execution ends', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);
  fixture.streams[0]?.send(0, 'all of it', true);

  fixture.failing = true;
  finish(fixture, { output: 'all of it' });
  await settle();
  fixture.failing = false;
  fixture.clock.advance(FEED_RETRY_MS);
  await tail.ended;

  t.is(textOf(tail.messages), 'all of it');
  t.like(tail.messages.at(-1), { type: 'end', status: 'completed' });
});

test('the last reader that leaves ends the stream', async (t) => {
  const fixture = fixtureWith({ status: 'sent' });
  const tail = await follow(fixture);

  tail.gone();
  await tail.ended;

  t.true(fixture.streams.every(({ closed }) => closed));
});

test('an execution that does not exist is refused', async (t) => {
  t.like(await createFixture().feeds.executions.tail(executionId(1), { signal: new AbortController().signal }), {
    ok: false,
    refusal: { code: 'not_found' },
  });
});

function lengthOf({ value }: IteratorResult<{ readonly data: TailMessage }, void>): number {
  return value?.data.type === 'output' ? value.data.text.length : 0;
}
