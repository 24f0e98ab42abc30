/** Of what transfers are made: pieces, paths behind names, and many things at a time. */
import test from 'ava';
import { Problem } from '../../../cli/problem.ts';
import { eachOf } from '../../../cli/transfer/at-once.ts';
import { bytesText } from '../../../cli/transfer/bytes.ts';
import { keptBytes, PIECE_BYTES, PIECES_AT_ONCE_MAX, piecesOf } from '../../../cli/transfer/pieces.ts';
import { PendingAnswers } from '../../../cli/transfer/pending.ts';
import { placedPaths } from '../../../cli/transfer/places.ts';
import { TransferProgress } from '../../../cli/transfer/progress.ts';

const usage = { instanceOf: Problem, message: /./u };

test('a file is its pieces, each once and none beyond its end', (t) => {
  for (const [from, to] of [
    [0, 0],
    [0, 1],
    [5, PIECE_BYTES],
    [PIECE_BYTES - 1, 3 * PIECE_BYTES + 7],
  ] as const) {
    const pieces = [...piecesOf(from, to)];
    t.is(
      pieces.reduce((sum, { length }) => sum + length, 0),
      to - from,
    );
    t.true(pieces.every(({ at, length }, index) => length > 0 && at === from + index * PIECE_BYTES));
  }
});

test('of a part that was left its end comes again, and one that is too long is none', (t) => {
  const last = PIECE_BYTES * PIECES_AT_ONCE_MAX;

  t.deepEqual(
    [keptBytes(0, 10), keptBytes(9, 10), keptBytes(10, 10), keptBytes(11, 10), keptBytes(last + 5, last + 6)],
    [0, 0, 10, 0, 5],
  );
});

test('several things are done at a time, and none is begun after a failure', async (t) => {
  let [under, most] = [0, 0];
  const done: number[] = [];
  const act = async (thing: number): Promise<void> => {
    under += 1;
    most = Math.max(most, under);
    await new Promise((resolve) => setImmediate(resolve));
    under -= 1;
    if (thing === 5) throw new Error('five');
    done.push(thing);
  };

  await eachOf([1, 2, 3, 4], 2, act);
  t.deepEqual([done, most], [[1, 2, 3, 4], 2]);
  await t.throwsAsync(eachOf([5, 6, 7, 8, 9], 2, act), { message: 'five' });
  t.deepEqual([done, under], [[1, 2, 3, 4, 6], 0]);
});

test('what is asked before or after the end of a connection is answered with that', async (t) => {
  const pending = new PendingAnswers();
  const before = pending.ask<string>(() => {});
  const answered = pending.ask<string>((done) => done(null, 'yes'));
  const thrown = pending.ask<string>(() => {
    throw new Error('no such extension');
  });

  pending.end(new Error('cut'));

  t.is(await answered, 'yes');
  await t.throwsAsync(thrown, { message: 'no such extension' });
  await t.throwsAsync(before, { message: 'cut' });
  await t.throwsAsync(
    pending.ask<string>(() => t.fail()),
    { message: 'cut' },
  );
});

test('a path stands behind what says which machines, once, and is absolute', (t) => {
  const labels = (text: string) => placedPaths({ labels: text }, [], '--to');

  t.deepEqual(labels('env=prod,zone in (a,b):/etc/a:b,c'), {
    places: { labels: 'env=prod,zone in (a,b)' },
    paths: ['/etc/a:b,c'],
  });
  t.deepEqual(placedPaths({ node: ['a', 'b:/x'], status: 'healthy' }, ['/y'], '--from'), {
    places: { node: ['a', 'b'], status: 'healthy' },
    paths: ['/x', '/y'],
  });
  t.deepEqual(placedPaths({ in: 'web:/x' }, [], '--to'), { places: { in: 'web' }, paths: ['/x'] });
  for (const wrong of ['env=prod', 'env=prod:', 'env=prod:x', 'env=prod:./x', 'env=prod:/x\0'])
    t.throws(() => labels(wrong), usage, wrong);
  t.throws(() => placedPaths({ node: ['a:/x', 'y'] }, [], '--to'), usage);
});

test('bytes are said in the unit that fits', (t) => {
  t.deepEqual([0, 1_023, 1_024, 1_536, 10 * 1_024, 1_048_576, 1e15].map(bytesText), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 KiB',
    '10 KiB',
    '1.0 MiB',
    '909 TiB',
  ]);
});

test('how far it is stands in one line of a terminal, and nowhere else', (t) => {
  const shown = (isTTY: boolean): string => {
    let text = '';
    const progress = new TransferProgress({ isTTY, write: (more) => (text += more) }, 3);
    progress.wanted(2_097_152);
    progress.moved(1_048_576);
    progress.ended();
    return text;
  };

  t.is(shown(false), '');
  t.is(shown(true), '\r\u001b[2K0/3 done, 0 B of 2.0 MiB, 0 B/s\r\u001b[2K');
});
