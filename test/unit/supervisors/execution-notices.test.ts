import test from 'ava';
import type { Notice } from '../../../actors/notice.ts';
import type { ExecutionStatus } from '../../../actors/resources/command.ts';
import { countEnded, noneEnded } from '../../../supervisors/execution-notices.ts';

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
