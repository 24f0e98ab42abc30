/** `edge key create`: a key alone is printed, and URLs in it that only some machines know are pointed out. */
import test from 'ava';
import { SOME_ID } from '../../support/api/fakes.ts';
import { edge, home, service } from './foreign-service.ts';

/** What a service answers that made a key with these URLs in it. */
function made(urls: readonly string[]) {
  const inside = { admin_urls: urls, cluster_name: 'prod', nonce: 'x' };
  return { id: SOME_ID, key: Buffer.from(JSON.stringify(inside)).toString('base64url') };
}

for (const [urls, pointedOut] of [
  [['http://vm:49000'], 'http://vm:49000'],
  [['https://fleet.example', 'http://vm:49000', 'http://other:49000'], 'http://vm:49000, http://other:49000'],
  [['https://fleet.example', 'http://10.0.0.1:44000', 'http://[fd00::1]:44000', 'http://localhost:44000'], null],
] as const)
  test(`of a key for ${urls.join(', ')} ${pointedOut === null ? 'nothing' : pointedOut} is pointed out`, async (t) => {
    const created = made(urls);
    const { url } = await service(t, { create_enrollment_key: created });

    const ended = await edge({ ...home(t), EDGE_URL: url, EDGE_API_KEY: 'a-key' }, 'key', 'create', 'prod');

    t.deepEqual(ended, {
      status: 0,
      stdout: `${created.key}\n`,
      stderr:
        pointedOut === null
          ? ''
          : `edge: machines that join with this key look for ${pointedOut}: where they do not know that name, set ADMIN_URLS of edge-admin and make another key\n`,
    });
  });
