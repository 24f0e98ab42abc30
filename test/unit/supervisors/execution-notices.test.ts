import test from 'ava';
import type { Notice } from '../../../actors/notice.ts';
import type { ExecutionStatus } from '../../../actors/resources/command.ts';
import { countEnded, noneEnded, noTriggers, observeTriggers } from '../../../supervisors/execution-notices.ts';

const changed = (status: ExecutionStatus, again?: boolean): Notice => ({
  type: 'execution-changed',
  execution: 'e' as never,
  command: 'c' as never,
  node: 'n' as never,
  clusterName: 'x',
  status,
  exitCode: null,
  ...(again !== undefined && { again }),
});

test('executions are counted when they end, and those that may have been told before are not counted again', (t) => {
  const ended = noneEnded();
  const hear = countEnded(ended);

  hear([changed('pending'), changed('sent'), changed('completed'), { type: 'events-stored' }]);
  hear([changed('completed'), changed('expired'), changed('dropped'), changed('cancelled')]);
  hear([changed('completed', true)]);

  t.deepEqual(ended, { completed: 2, expired: 1, dropped: 1, cancelled: 1 });
});

test('what was triggered is observed in s, and no other change of a self-update', (t) => {
  const triggers = noTriggers();
  const hear = observeTriggers(triggers);

  hear([
    { type: 'self-update-changed', request: 'r' },
    { type: 'self-update-changed', request: 'r', triggeredAfterMs: 1_500 },
    { type: 'self-update-changed', request: 'r', triggeredAfterMs: 90_000 },
  ]);

  t.deepEqual([triggers.count, triggers.sum, triggers.counts.at(-1)], [2, 91.5, 1]);
});
