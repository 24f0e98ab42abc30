/** A diagnosis among others that cannot be had. */
import test from 'ava';
import { diagnosed } from '../../../../cli/doctor/diagnosed.ts';
import type { Api } from '../../../../cli/service/client.ts';
import { blocked, refused, unreachable } from '../../../support/api/failures.ts';
import { idOf } from '../../../support/api/rows.ts';

test('a node whose admin refuses, or dies as it is asked, is told with the reason in place of its report', async (t) => {
  const why = (failure: Error) =>
    diagnosed({ get_node_diagnostics: { query: () => Promise.reject(failure) } } as unknown as Api, idOf(0), {
      url: 'http://admin.example',
      key: null,
    });

  t.is(await why(refused('not_found', 'Resource not found')), 'Resource not found');
  t.regex((await why(unreachable())) as string, /^cannot reach http:\/\/admin\.example \(ECONNREFUSED\): /u);
  t.regex((await why(blocked(403))) as string, /is not this service/u);
  await t.throwsAsync(why(new TypeError('a bug')), { message: 'a bug' });
});
