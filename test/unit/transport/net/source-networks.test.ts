import test from 'ava';
import { sourceNetwork } from '../../../../transport/net/source-networks.ts';

test('an IPv6 address stands for its /64, however it is written, and everything else for itself', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['', ''],
    ['unknown', 'unknown'],
    ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000001'],
  ];

  for (const [address, network] of rows) t.is(sourceNetwork(address), network, address);
});
