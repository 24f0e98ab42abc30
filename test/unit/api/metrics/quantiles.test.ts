import test from 'ava';
import { ObservedHistogram } from '../../../../transport/net/histogram.ts';
import { meanOf, quantileOf } from '../../../../api/metrics/quantiles.ts';

function observed(...values: readonly number[]) {
  const histogram = new ObservedHistogram([1, 2, 4]);
  for (const value of values) histogram.observe(value);
  return histogram;
}

test('a quantile lies where Prometheus puts it: even within its bucket', (t) => {
  t.is(quantileOf(observed(0.5, 1.5, 1.5, 3), 0.5), 1.5);
  t.is(quantileOf(observed(3, 3, 3, 3), 0.99), 2 + 2 * 0.99);
  t.is(quantileOf(observed(0.5), 0), 0);
});

test('above the last bound nothing more is known than that', (t) => {
  t.is(quantileOf(observed(100, 200), 0.5), 4);
});

test('of nothing there is neither mean nor quantile', (t) => {
  t.deepEqual([meanOf(observed()), quantileOf(observed(), 0.5)], [null, null]);
  t.is(meanOf(observed(1, 3)), 2);
});
