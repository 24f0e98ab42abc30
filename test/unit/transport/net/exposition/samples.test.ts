/** Numbers out of expositions of strangers: bounded, and others have their turns meanwhile. */
import test from 'ava';
import { SAMPLES_OF_METRIC_MAX } from '../../../../../transport/net/exposition/limits.ts';
import { samplesInTurns, samplesOf } from '../../../../../transport/net/exposition/samples.ts';

const METRICS = new Set(['a']);

test('a long text that is hard to read holds nobody up, and reads as it would at once', async (t) => {
  const text = `a{x="${'\\\\'.repeat(2_000)}"} 1\n`.repeat(250);
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  t.teardown(() => clearImmediate(next));

  const read = await samplesInTurns(text, METRICS);

  t.true(turns >= 20, `others had ${turns} turns`);
  t.deepEqual(read, samplesOf(text, METRICS));
});

test('of one metric, so many samples are read and no more', (t) => {
  const read = samplesOf('a 1\n'.repeat(SAMPLES_OF_METRIC_MAX + 5), METRICS);

  t.is(read.get('a')?.length, SAMPLES_OF_METRIC_MAX);
});
