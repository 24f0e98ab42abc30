import test from 'ava';
import type { ExecutionResource } from '../../../../actors/resources/command.ts';
import {
  FEED_RETRY_MS,
  TAIL_PIECE_BYTES,
  TAIL_REST_MS_MAX,
  TAIL_RETRY_MS,
  TAIL_WAITING_BYTES_MAX,
} from '../../../../api/feeds/limits.ts';
import type { TailMessage } from '../../../../api/feeds/tail.ts';
import {
  commandId,
  createWorld,
  executionId,
  executionOf,
  gather,
  granted,
  idOf,
  nodeId,
  settle,
  type World,
} from '../../../support/api/rows.ts';

test('the output of a running execution comes as the agent sends it, and ends when its result is stored', async (t) => {
  const world = worldWith({ status: 'sent' });
  const tail = await follow(world);

  world.streams[0]?.send(0, 'one\n');
  await settle();
  world.streams[0]?.send(4, 'two\n', true);
  finish(world, { output: 'one\ntwo\n' });
  await tail.ended;

  t.deepEqual(tail.messages, [
    { type: 'snapshot', offset: 0, status: 'sent', exit_code: null },
    { type: 'output', offset: 0, text: 'one\n' },
    { type: 'output', offset: 4, text: 'two\n' },
    { type: 'end', status: 'completed', exit_code: 0, output_truncated: false },
  ]);
  t.deepEqual(tail.ids, ['0', '4', '8', '8']);
});

test('a tail of a pending execution waits until it is delivered', async (t) => {
  const world = worldWith({ status: 'pending' });
  const tail = await follow(world);
  const before = world.streams.length;

  change(world, { status: 'sent' });
  await settle();
  world.streams[0]?.send(0, 'hi');
  await settle();

  t.is(before, 0);
  t.deepEqual(textOf(tail.messages), 'hi');
});

test('the output of a finished execution comes from its row, in pieces that cut no character', async (t) => {
  const output = 'ä'.repeat(TAIL_PIECE_BYTES);
  const world = worldWith({ status: 'completed', exit_code: 0, output: `x${output}` });

  const tail = await follow(world);
  await tail.ended;

  t.is(textOf(tail.messages), `x${output}`);
  t.true(
    tail.messages.every((message) => message.type !== 'output' || Buffer.byteLength(message.text) <= TAIL_PIECE_BYTES),
  );
});

test('a reader goes on exactly where it was, over the end of the execution', async (t) => {
  const world = worldWith({ status: 'sent' });
  const first = await follow(world);
  world.streams[0]?.send(0, 'grün');
  await settle();
  first.gone();
  await first.ended;
  finish(world, { output: 'grün und blau' });

  const second = await follow(world, first.ids.at(-1));
  await second.ended;

  t.deepEqual(second.messages, [
    { type: 'snapshot', offset: 5, status: 'completed', exit_code: 0 },
    { type: 'output', offset: 5, text: ' und blau' },
    { type: 'end', status: 'completed', exit_code: 0, output_truncated: false },
  ]);
});

test('a reader of an output that was cut in the middle starts over with what is stored', async (t) => {
  const world = worldWith({ status: 'completed', exit_code: 0, output: 'head … tail', output_truncated: true });

  const tail = await follow(world, '9000');
  await tail.ended;

  t.deepEqual(tail.messages.slice(0, 2), [
    { type: 'snapshot', offset: 0, status: 'completed', exit_code: 0 },
    { type: 'output', offset: 0, text: 'head … tail' },
  ]);
});

test('one who saw the whole of a long output live is not told the cut one', async (t) => {
  const world = worldWith({ status: 'sent' });
  const tail = await follow(world);

  world.streams[0]?.send(0, 'everything there was', true);
  finish(world, { output: 'every…was', output_truncated: true });
  await tail.ended;

  t.is(textOf(tail.messages), 'everything there was');
});

test('when the live rest does not come, the stored output completes it', async (t) => {
  const world = worldWith({ status: 'sent' });
  const tail = await follow(world);
  world.streams[0]?.send(0, 'one');
  await settle();

  finish(world, { output: 'one two' });
  await settle();
  world.clock.advance(TAIL_REST_MS_MAX);
  await tail.ended;

  t.is(textOf(tail.messages), 'one two');
});

test('a node that is away is asked again when it may be back, from where the reader is', async (t) => {
  const world = worldWith({ status: 'sent' });
  world.online = false;
  const tail = await follow(world, '3');

  world.online = true;
  world.clock.advance(TAIL_RETRY_MS);
  await settle();
  world.bus.publish([{ type: 'node-changed', node: nodeId(1_000) }]);
  await settle();
  world.streams.at(-1)?.send(3, 'back');
  await settle();

  t.is(world.streams.at(-1)?.from, 3);
  t.is(textOf(tail.messages), 'back');
});

test('readers at different places share one stream, from the furthest behind', async (t) => {
  const world = worldWith({ status: 'sent' });
  const ahead = await follow(world, '4');
  const behind = await follow(world, '1');

  const open = world.streams.filter(({ closed }) => !closed);
  open[0]?.send(1, 'bcdef');
  await settle();

  t.is(open.length, 1);
  t.deepEqual([textOf(ahead.messages), textOf(behind.messages)], ['ef', 'bcdef']);
});

test('a reader that does not read keeps at most 1 MiB here, and misses nothing', async (t) => {
  const world = worldWith({ status: 'sent' });
  const reader = (await granted(world.feeds.executions.tail(executionId(0), { signal: new AbortController().signal })))[
    Symbol.asyncIterator
  ]();
  await reader.next();
  const asking = reader.next(); // joins, and waits for the first piece
  await settle();
  const piece = 'x'.repeat(TAIL_PIECE_BYTES);
  for (let n = 0; n < 40; n += 1) world.streams[0]?.send(n * TAIL_PIECE_BYTES, piece);

  let read = lengthOf(await asking);
  while (read < TAIL_WAITING_BYTES_MAX) read += lengthOf(await reader.next());
  const rest = reader.next();
  await settle();

  t.true(read <= TAIL_WAITING_BYTES_MAX + TAIL_PIECE_BYTES);
  t.is(world.streams.at(-1)?.from, read);
  world.streams.at(-1)?.send(read, 'more');
  t.is(lengthOf(await rest), 4);
});

test('a tail outlives a database that is away when its execution ends', async (t) => {
  const world = worldWith({ status: 'sent' });
  const tail = await follow(world);
  world.streams[0]?.send(0, 'all of it', true);

  world.failing = true;
  finish(world, { output: 'all of it' });
  await settle();
  world.failing = false;
  world.clock.advance(FEED_RETRY_MS);
  await tail.ended;

  t.is(textOf(tail.messages), 'all of it');
  t.like(tail.messages.at(-1), { type: 'end', status: 'completed' });
});

test('the last reader that leaves ends the stream', async (t) => {
  const world = worldWith({ status: 'sent' });
  const tail = await follow(world);

  tail.gone();
  await tail.ended;

  t.true(world.streams.every(({ closed }) => closed));
});

test('an execution that does not exist is refused', async (t) => {
  t.like(await createWorld().feeds.executions.tail(executionId(1), { signal: new AbortController().signal }), {
    ok: false,
    refusal: { code: 'not_found' },
  });
});

function worldWith(execution: Partial<ExecutionResource>): World {
  const world = createWorld();
  world.executions.set(idOf(0), executionOf(0, 7, execution));
  return world;
}

async function follow(world: World, lastEventId?: string) {
  const controller = new AbortController();
  const reader = await granted(world.feeds.executions.tail(executionId(0), { lastEventId, signal: controller.signal }));
  const watching = gather(() => reader);
  await settle();
  return { ...watching, gone: () => controller.abort() };
}

function change(world: World, changes: Partial<ExecutionResource>): void {
  const changed = { ...executionOf(0, 7), ...changes };
  world.executions.set(idOf(0), changed);
  world.bus.publish([
    {
      type: 'execution-changed',
      execution: executionId(0),
      command: commandId(7),
      node: nodeId(1_000),
      clusterName: 'demo',
      status: changed.status,
      exitCode: changed.exit_code,
    },
  ]);
}

function finish(world: World, changes: Partial<ExecutionResource>): void {
  change(world, { status: 'completed', exit_code: 0, ...changes });
}

function textOf(messages: readonly TailMessage[]): string {
  return messages.map((message) => (message.type === 'output' ? message.text : '')).join('');
}

function lengthOf({ value }: IteratorResult<{ readonly data: TailMessage }, void>): number {
  return value?.data.type === 'output' ? value.data.text.length : 0;
}
