/** Which executions the overview leads to, and instants as people type them. */
import test from 'ava';
import { failedSince, IN_FLIGHT } from '../../../console/lists/executions.ts';
import { instantOf, localTimeOf } from '../../../console/lists/local-time.ts';

test('what failed in the last hour leads to just those, the latest first', (t) => {
  const asked = new URLSearchParams(failedSince('2026-11-29T10:00:00.000Z'));

  t.deepEqual(Object.fromEntries(asked), {
    status__in: 'completed',
    exit_code__gte: '1',
    completed_at__gte: '2026-11-29T09:00:00.000Z',
    sort: '-completed_at',
  });
  t.false(new URLSearchParams(failedSince(null)).has('completed_at__gte'));
});

test('what is in flight leads to what is not over', (t) => {
  t.deepEqual(Object.fromEntries(new URLSearchParams(IN_FLIGHT)), { status__in: 'pending,sent' });
});

test('an instant is shown in the time of this machine to the second, and what is typed comes back as that instant', (t) => {
  const at = new Date(2026, 2, 4, 5, 6, 7);

  t.is(localTimeOf(at.toISOString()), '2026-03-04T05:06:07');
  t.is(instantOf('2026-03-04T05:06:07'), at.toISOString());
  t.is(instantOf('2026-03-04T05:06'), new Date(2026, 2, 4, 5, 6).toISOString()); // as browsers leave out no seconds
  t.is(localTimeOf(instantOf('0800-03-04T05:06:07')), '0800-03-04T05:06:07'); // while a year is typed
});

test('what is no instant, or one that nobody means, is none', (t) => {
  for (const wrong of ['', 'yesterday', '12026-01-01T00:00:00', '2026-13-01T00:00:00'])
    t.is(instantOf(wrong), '', wrong);
  for (const wrong of ['', 'yesterday', '+012026-01-01T00:00:00.000Z']) t.is(localTimeOf(wrong), '', wrong);
});
