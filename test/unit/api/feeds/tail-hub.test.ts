/** What waits for slow readers of live output, for all of them together (L2). */
import test from 'ava';
import {
  TAIL_PIECE_BYTES,
  TAIL_WAITING_BYTES_MAX,
  TAIL_WAITING_TOTAL_BYTES_MAX,
} from '../../../../api/feeds/limits.ts';
import type { LiveOutput } from '../../../../api/feeds/ports.ts';
import { TailHub, type TailsWaiting } from '../../../../api/feeds/tail-hub.ts';
import type { ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { executionId, nodeId } from '../../../support/api/rows.ts';

/**
 * Hubs that share one bound. The agent has an output of this many pieces and streams it from wherever it is asked to.
 */
function hubs(pieces: number) {
  const waiting: TailsWaiting = { bytes: 0 };
  const text = 'x'.repeat(TAIL_PIECE_BYTES);
  const end = pieces * TAIL_PIECE_BYTES;
  const asked: { readonly from: number; readonly stream: () => void }[] = [];
  const tails = {
    open(
      _node: NodeId,
      _execution: ExecutionId,
      from: number,
      onOutput: (piece: { offset: number; text: string; end: boolean }) => void,
    ) {
      const stream = (): void => {
        for (let offset = from; offset < end; offset += TAIL_PIECE_BYTES)
          onOutput({ offset, text: text.slice(0, Math.min(TAIL_PIECE_BYTES, end - offset)), end: false });
        onOutput({ offset: end, text: '', end: true });
      };
      asked.push({ from, stream });
      return () => {};
    },
  };
  const reader = (index: number): LiveOutput => {
    const [node, execution] = [nodeId(index), executionId(index)];
    const hub = new TailHub({ tails, clock: createFakeClock(), all: waiting, node, execution, left() {} });
    hub.started();
    return hub.join(0, new AbortController().signal);
  };
  return { waiting, asked, reader, end };
}

test('live output of all slow readers together has a bound, and none of them misses anything', (t) => {
  const { waiting, asked, reader, end } = hubs((2 * TAIL_WAITING_BYTES_MAX) / TAIL_PIECE_BYTES);
  const readers = Array.from({ length: TAIL_WAITING_TOTAL_BYTES_MAX / TAIL_WAITING_BYTES_MAX + 8 }, (_, index) =>
    reader(index),
  );

  const read = readers.map(() => 0);
  for (const { stream } of asked.splice(0)) stream();
  const most = waiting.bytes;
  for (let isOver = false; !isOver;) {
    readers.forEach((one, index) => {
      for (let piece = one.take(); piece !== null; piece = one.take())
        read[index] = (read[index] ?? 0) + piece.text.length;
    });
    isOver = asked.length === 0;
    for (const { stream } of asked.splice(0)) stream();
  }

  t.true(
    most >= TAIL_WAITING_TOTAL_BYTES_MAX && most <= TAIL_WAITING_TOTAL_BYTES_MAX + readers.length * TAIL_PIECE_BYTES,
    `${most}`,
  );
  t.deepEqual(
    read,
    readers.map(() => end),
  );
  t.is(waiting.bytes, 0);
});

test('what waited for a reader who leaves counts no more', (t) => {
  const { waiting, asked, reader } = hubs(4);
  const one = reader(0);
  for (const { stream } of asked.splice(0)) stream();
  const before = waiting.bytes;

  one.leave();

  t.deepEqual([before, waiting.bytes], [4 * TAIL_PIECE_BYTES, 0]);
});
