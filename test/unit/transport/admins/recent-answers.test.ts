/** Calls that come again. */
import test from 'ava';
import { decodeAnswer, encodeAnswer } from '../../../../transport/admins/protocol/call.ts';
import { RecentAnswers, type WrittenAnswer } from '../../../../transport/admins/recent-answers.ts';

const LIMITS = { answersMax: 3, ms: 30_000, answerBytesMax: 200, bytesMax: 500 };

function answer(value: unknown): WrittenAnswer {
  return { bytes: encodeAnswer({ type: 'answered', result: { ok: true, value } }), isFinal: true };
}

function fixture() {
  const time = { nowMs: 0 };
  const answers = new RecentAnswers(LIMITS, () => time.nowMs);
  const done: string[] = [];
  const ask = async (id: string, isRepeat = false, made: WrittenAnswer = answer(id)): Promise<unknown> => {
    const bytes = await answers.once('process', id, isRepeat, async () => {
      done.push(id);
      return Promise.resolve(made);
    });
    const read = decodeAnswer(bytes);
    return read?.type === 'answered' && read.result.ok ? read.result.value : read?.type;
  };
  return { time, answers, done, ask };
}

test('a call that comes again while it is under way joins it', async (t) => {
  const { answers } = fixture();
  const { promise, resolve } = Promise.withResolvers<WrittenAnswer>();
  let runs = 0;
  const run = async (): Promise<WrittenAnswer> => {
    runs += 1;
    return await promise;
  };

  const both = Promise.all([answers.once('p', 'x', false, run), answers.once('p', 'x', true, run)]);
  const underWay = answers.underWay('p');
  resolve(answer('x'));

  const [first, second] = await both;
  t.deepEqual([runs, underWay, answers.underWay('p')], [1, 1, 0]);
  t.deepEqual([first, second], [answer('x').bytes, answer('x').bytes]);
});

test('a call that comes again afterwards gets its answer, for so long', async (t) => {
  const { time, done, ask } = fixture();
  await ask('one');

  time.nowMs = LIMITS.ms - 1;
  const again = await ask('one', true);
  time.nowMs = LIMITS.ms;
  await ask('one');

  t.is(again, 'one');
  t.deepEqual(done, ['one', 'one']);
});

test('what did nothing is done anew', async (t) => {
  const { done, ask } = fixture();
  const busy = { bytes: encodeAnswer({ type: 'busy' }), isFinal: false };

  t.deepEqual([await ask('one', false, busy), await ask('one', true)], ['busy', 'one']);
  t.deepEqual(done, ['one', 'one']);
});

test('one whose answer was too large to be kept is in doubt when it comes again, and is not done again', async (t) => {
  const { done, ask } = fixture();
  const large = 'x'.repeat(LIMITS.answerBytesMax);

  t.deepEqual([await ask('one', false, answer(large)), await ask('one', true)], [large, 'in_doubt']);
  t.deepEqual(done, ['one']);
});

test('beyond so many the oldest are forgotten: a call that comes again and is not known is in doubt from then on', async (t) => {
  const { time, done, ask, answers } = fixture();
  for (const id of ['one', 'two', 'three', 'four']) await ask(id);

  const told = [await ask('four', true), await ask('one', true), await ask('never seen', true), await ask('five')];
  time.nowMs = LIMITS.ms;
  const later = await ask('never seen', true);

  t.deepEqual(told, ['four', 'in_doubt', 'in_doubt', 'five']);
  t.is(later, 'never seen');
  t.deepEqual(done, ['one', 'two', 'three', 'four', 'five', 'never seen']);
  t.is(answers.size().answers, 1);
});

test('a call whose first try never came is done at its second, as long as nothing was forgotten early', async (t) => {
  const { done, ask } = fixture();

  t.is(await ask('one', true), 'one');
  t.deepEqual(done, ['one']);
});

test('all that is kept is bounded in bytes', async (t) => {
  const { ask, answers } = fixture();
  for (const id of ['a', 'b', 'c']) await ask(id, false, answer(id.repeat(130)));

  t.is(answers.size().answers, 2);
  t.true(answers.size().bytes <= LIMITS.bytesMax);
});

test('processes are apart, and forgotten with their last answer', async (t) => {
  const { time, answers } = fixture();
  await answers.once('p', 'x', false, async () => Promise.resolve(answer('of p')));
  const other = await answers.once('q', 'x', true, async () => Promise.resolve(answer('of q')));

  time.nowMs = LIMITS.ms;
  answers.sweep();

  t.deepEqual(other, answer('of q').bytes);
  t.deepEqual(answers.size(), { answers: 0, bytes: 0 });
});
