import test from 'ava';
import { ObservedHistogram } from '../../../../transport/net/histogram.ts';

test('an observation is counted once, in the first bucket whose bound is not below it', (t) => {
  const histogram = new ObservedHistogram([1, 2, 5]);

  for (const value of [0, 1, 1.5, 2, 5, 5.1, 1_000]) histogram.observe(value);

  t.like(histogram, { bounds: [1, 2, 5], counts: [2, 2, 1, 2], sum: 1_014.6, count: 7 });
});
