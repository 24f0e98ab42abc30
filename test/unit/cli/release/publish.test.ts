/** Signed metadata that is published while an admin restarts. */
import test from 'ava';
import type { Api } from '../../../../cli/service/client.ts';
import { publishRepository } from '../../../../cli/release/publish.ts';
import type { Repository } from '../../../../cli/release/repository.ts';
import { refused, unreachable } from '../../../support/api/failures.ts';

/** Publishes where there is nothing but metadata, with calls that end so, the last of them for good. */
async function publish(ends: readonly (Error | null)[], retryMs: number) {
  let calls = 0;
  const mutate = async (): Promise<object> => {
    const end = ends[Math.min(calls, ends.length - 1)];
    calls += 1;
    if (end != null) throw end;
    return { channels: [] };
  };
  const repository = { metadata: () => ({ roots: [] }), signedTargets: () => [] } as unknown as Repository;
  const failure = await publishRepository(repository, {
    api: { publish_release_metadata: { mutate } } as unknown as Api,
    connection: { url: 'http://admin.example', key: null },
    retryMs,
  }).then(
    () => null,
    (error: unknown) => error,
  );
  return { calls, failure };
}

test('metadata is sent again while the admin is away, as files are', async (t) => {
  // eight times as long until it is given up: others in this process may keep it busy for seconds
  const retryMs = 3_000;
  t.deepEqual(await publish([unreachable(), refused('service_unavailable'), null], retryMs), {
    calls: 3,
    failure: null,
  });
});

test('metadata that the admin does not take is sent once, and an admin that stays away is not waited for', async (t) => {
  const objection = refused('conflict', 'It is older');
  const away = unreachable();

  t.deepEqual(await publish([objection], 500), { calls: 1, failure: objection });
  t.is((await publish([away], 20)).failure, away);
});
