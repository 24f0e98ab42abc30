/** A self-update that is followed while an admin goes away and comes back. */
import test from 'ava';
import type { Api } from '../../../cli/service/client.ts';
import { followUpdate } from '../../../cli/updates.ts';
import { refused, unreachable } from '../../support/api/failures.ts';
import { idOf } from '../../support/api/rows.ts';
import { until } from '../../support/until.ts';

/** Follows one whose reads end so, the last of them for good. */
function follow(...reads: readonly (Error | 'processing' | 'completed')[]) {
  const leave = new AbortController();
  let count = 0;
  const query = async (): Promise<object> => {
    const read = reads[Math.min(count, reads.length - 1)];
    count += 1;
    if (read instanceof Error) throw read;
    return { status: read };
  };
  const api = { get_self_update_request: { query } } as unknown as Api;
  return { leave, followed: followUpdate(api, { id: idOf(0) }, leave.signal), reads: () => count };
}

test('a read that fails as the service is away is made again, until the update is completed', async (t) => {
  const { followed, reads } = follow(unreachable(), refused('service_unavailable'), 'completed');

  t.is((await followed)?.status, 'completed');
  t.is(reads(), 3);
});

test('an update that is gone is followed no more', async (t) => {
  const { followed } = follow('processing', refused('not_found', 'Resource not found'), 'completed');

  await t.throwsAsync(followed, { message: 'Resource not found' });
});

test('who follows an update at an admin that stays away can leave', async (t) => {
  const { followed, leave, reads } = follow(unreachable());
  await until('a read', () => reads() > 0);

  leave.abort();

  t.is(await followed, null);
});
