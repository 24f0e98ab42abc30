/** What an admin may be called, and where it may be, beside others. */
import test from 'ava';
import { readAdminConfig } from '../../../settings/admin.ts';

const MASTER_KEY = 'a-master-key-for-tests';

function problemsOf(env: Record<string, string>, hostName = 'host.example'): readonly string[] {
  const read = readAdminConfig({ MASTER_KEY, ...env }, hostName);
  return read.ok ? [] : read.problems;
}

test('no admin is called me, also where its machine is', (t) => {
  const problem = 'ADMIN_NAME is "me": it should be another name, as the API calls the admin that answers so';

  t.deepEqual(problemsOf({ ADMIN_NAME: 'me' }), [problem]);
  t.deepEqual(problemsOf({}, 'me.example'), [problem]);
  t.deepEqual(problemsOf({ ADMIN_NAME: 'me-1' }, 'me.example'), []);
});

test('agents that come by https are sent nowhere else', (t) => {
  const own = 'http://a.example';

  t.deepEqual(problemsOf({ ADMIN_URLS: 'http://b.example,https://all.example', ADMIN_OWN_URL: own }), [
    'ADMIN_OWN_URL is "http://a.example": it should start with https:// as ADMIN_URLS do, since agents that came by https are not sent to http',
  ]);
  t.deepEqual(problemsOf({ ADMIN_URLS: 'http://all.example', ADMIN_OWN_URL: 'https://a.example' }), []);
  t.deepEqual(problemsOf({ ADMIN_URLS: 'http://all.example', ADMIN_OWN_URL: own }), []);
  t.deepEqual(problemsOf({ ADMIN_OWN_URL: own }), []);
});
