/** Which proxies an admin may be told to believe. */
import test from 'ava';
import { readAdminConfig } from '../../../settings/admin.ts';

const read = (value: string) =>
  readAdminConfig({ MASTER_KEY: 'a-master-key-for-tests', TRUSTED_PROXIES: value }, 'host');

test('addresses and ranges of both families are taken, and nothing else', (t) => {
  const taken = read('10.0.0.5, 10.1.0.0/16,2001:db8::1,2001:db8:1::/48');

  t.deepEqual(taken.ok && taken.config.TRUSTED_PROXIES, ['10.0.0.5', '10.1.0.0/16', '2001:db8::1', '2001:db8:1::/48']);
  for (const wrong of ['balancer.example', '10.0.0', '10.0.0.0/33', '0.0.0.0/0', '::/0', '10.0.0.5:80', 'true']) {
    const refused = read(wrong);
    t.regex(
      refused.ok ? '' : refused.problems.join(),
      /^TRUSTED_PROXIES is ".*": it should be a comma-separated list of at most 64 addresses and ranges/u,
      wrong,
    );
  }
});
