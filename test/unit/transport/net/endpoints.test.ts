/** Endpoints and ranges as they are written. */
import { isIPv6 } from 'node:net';
import test from 'ava';
import { endpointOf, endpointParts, rangesOf } from '../../../../transport/net/endpoints.ts';

test('an endpoint is taken apart and put together again; what is none has no parts', (t) => {
  t.deepEqual(endpointParts('198.51.100.7:51820'), { address: '198.51.100.7', port: 51_820, family: 'ipv4' });
  t.deepEqual(endpointParts('[2001:db8::7]:7'), { address: '2001:db8::7', port: 7, family: 'ipv6' });
  t.deepEqual(
    ['', '198.51.100.7', '2001:db8::7:7', 'host:7', '[198.51.100.7]', '300.1.1.1:7', '[fe80::1%eth0]:7'].map((text) =>
      endpointParts(text),
    ),
    [null, null, null, null, null, null, null],
  );
  t.deepEqual(
    ['198.51.100.7:51820', '[2001:db8::7]:7'].map((text) => {
      const { address, port } = endpointParts(text) ?? { address: '', port: 0 };
      return endpointOf(address, port);
    }),
    ['198.51.100.7:51820', '[2001:db8::7]:7'],
  );
});

test('ranges and single addresses are looked up in; what is neither is left out', (t) => {
  const ranges = rangesOf([
    '10.0.0.0/8',
    '192.0.2.1',
    'fd00::/64',
    '2001:db8::1',
    '10.0.0.0/33',
    'x/8',
    '::/',
    '0.0.0.0/-1',
  ]);
  const isIn = (address: string) => ranges.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

  t.deepEqual(
    ['10.9.9.9', '192.0.2.1', '192.0.2.2', '8.8.8.8', 'fd00::9', 'fd00:0:0:1::9', '2001:db8::1', '2001:db8::2'].map(
      isIn,
    ),
    [true, true, false, false, true, false, true, false],
  );
});
