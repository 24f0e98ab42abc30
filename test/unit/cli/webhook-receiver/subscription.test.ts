/** The webhook of `edge webhook listen`, which goes with it. */
import test from 'ava';
import { Problem } from '../../../../cli/problem.ts';
import type { Api } from '../../../../cli/service/client.ts';
import { subscribe } from '../../../../cli/webhook-receiver/subscription.ts';
import { refused, unreachable } from '../../../support/api/failures.ts';

/** A limit that no test here reaches, in ms. */
const NEVER = 300_000;

/** Ends a webhook whose deletion fails so, one time after the other, and for good with the last. */
async function end(failures: readonly (Error | null)[], deletedMsMax = NEVER) {
  const said: string[] = [];
  let calls = 0;
  const api = {
    create_webhook: { mutate: () => Promise.resolve({ id: 'w' }) },
    delete_webhook: {
      async mutate() {
        const failure = failures[Math.min(calls, failures.length - 1)];
        calls += 1;
        if (failure != null) throw failure;
      },
    },
  } as unknown as Api;
  const webhook = await subscribe(api, {
    url: 'http://127.0.0.1:1/',
    secret: 'x',
    types: [],
    service: { url: 'http://admin.example', key: null },
    say: (line) => said.push(line),
    deletedMsMax,
  });
  const problem = await webhook.end().catch((error: unknown) => error);
  return { problem, said, calls };
}

test('a webhook is deleted although the admin is away as its receiver ends', async (t) => {
  const { problem, said, calls } = await end([unreachable(), null]);

  t.is(problem, undefined);
  t.deepEqual(said, ['webhook w cannot be deleted now (ECONNREFUSED); trying again']);
  t.is(calls, 2);
});

test('one whose deletion came through, and the answer not, is gone', async (t) => {
  t.is((await end([unreachable(), refused('not_found')])).problem, undefined);
});

test('where the admin stays away, or refuses, whoever listened is told what is left', async (t) => {
  for (const { problem } of [await end([unreachable()], 50), await end([refused('unauthorized')])]) {
    t.true(problem instanceof Problem);
    t.regex((problem as Problem).message, /^webhook w could not be deleted: .*; then: edge webhook rm w$/u);
  }
});
