/** What may be dialled: hosts and ports as operators list them, and what leads back (R2). */
import test from 'ava';
import * as fc from 'fast-check';
import { hostRule, ruleFor, type HostRule } from '../../../../../agent/access/egress/host-rules.ts';
import { createEgressPolicy, isLoop } from '../../../../../agent/access/egress/policy.ts';
import { isInRanges, portRange } from '../../../../../agent/access/egress/port-ranges.ts';

function rules(...entries: readonly string[]): HostRule[] {
  return entries.map((entry) => hostRule(entry)).filter((rule) => rule !== null);
}

/** Which of the hosts are held by an entry. */
function held(entry: string, ...hosts: readonly string[]): string[] {
  return hosts.filter((host) => ruleFor(host, rules(entry)) !== undefined);
}

test('a port is listed by itself or in a range, and nothing else is one', (t) => {
  t.deepEqual(
    ['25', '6000-6063', '1-65535', '22-22'].map((text) => portRange(text)),
    [
      { first: 25, last: 25 },
      { first: 6_000, last: 6_063 },
      { first: 1, last: 65_535 },
      { first: 22, last: 22 },
    ],
  );
  t.deepEqual(
    ['', '0', '65536', '10-5', '-5', '5-', '1-2-3', ' 25', '2 5', '0x19', '25.0', 'ssh', '٢٥'].filter(
      (text) => portRange(text) !== null,
    ),
    [],
  );
  t.deepEqual(
    [5_999, 6_000, 6_063, 6_064].map((port) => isInRanges(port, [{ first: 6_000, last: 6_063 }])),
    [false, true, true, false],
  );
});

test('a host is listed as a name, as all under a name, as an address or as a range, and nothing else is one', (t) => {
  t.deepEqual(
    [
      'nas.lan',
      'NAS.Lan.',
      'nas',
      'a_b.example',
      '*.example.com',
      '10.0.0.1',
      '10.0.0.0/8',
      '10.1.2.3/8',
      '0.0.0.0/0',
      '::1',
      'FD00::/8',
      '::/0',
      'fe80::1/128',
    ].filter((text) => hostRule(text) === null),
    [],
  );
  t.deepEqual(
    [
      '',
      '*',
      '*.',
      '.example.com',
      'a.*.example',
      '*example.com',
      'a..b',
      'http://a',
      'a:80',
      '[::1]',
      '10.0.0',
      '10.0.0.1/33',
      '10.0.0.1/',
      '10.0.0.1/8/8',
      '10.0.0.1/-1',
      '::1/129',
      'fe80::1%eth0',
      '0x7f.1',
      '127.1',
      '010.0.0.1',
      'a b',
      'bücher.example',
      'a/8',
    ].filter((text) => hostRule(text) !== null),
    [],
  );
});

test('an entry holds what it says, in every form of an address and no matter the case', (t) => {
  t.deepEqual(held('Example.com', 'example.com', 'a.example.com', 'xexample.com'), ['example.com']);
  t.deepEqual(held('*.Example.com', 'example.com', 'a.example.com', 'a.b.example.com', 'xexample.com'), [
    'a.example.com',
    'a.b.example.com',
  ]);
  t.deepEqual(held('10.0.0.0/8', '10.255.0.1', '11.0.0.1', '::ffff:10.0.0.1', 'example.com', '10.0.0'), ['10.255.0.1']);
  t.deepEqual(held('fd00::1', 'fd00::1', 'FD00:0:0:0::1', 'fd00:0:0:0:0:0:0.0.0.1', 'fd00::2', 'fd00::1%eth0'), [
    'fd00::1',
    'FD00:0:0:0::1',
    'fd00:0:0:0:0:0:0.0.0.1',
  ]);
  t.deepEqual(held('0.0.0.0/0', '1.2.3.4', '::1'), ['1.2.3.4']);
});

test("ports outside of 1 to 65535 are refused to everybody, and blocked ones are open for the agent's own services only", (t) => {
  const policy = createEgressPolicy({
    blockedPorts: ['25', '40000-50000'],
    blockedHosts: [],
    allowedHosts: [],
    servedPorts: [40_022, 25],
  });
  const refused = (use: 'self' | 'chain' | 'proxy' | 'ssh') =>
    [0, -1, 1.5, Number.NaN, 65_536, 1, 25, 39_999, 40_000, 40_022, 50_000, 50_001, 65_535].filter(
      (port) => policy.portProblem(port, use) !== undefined,
    );

  t.deepEqual(refused('self'), [0, -1, 1.5, Number.NaN, 65_536, 40_000, 50_000]);
  for (const use of ['chain', 'proxy', 'ssh'] as const)
    t.deepEqual(refused(use), [0, -1, 1.5, Number.NaN, 65_536, 25, 40_000, 40_022, 50_000]);
});

test('the word none in the list of ports blocks nothing', (t) => {
  t.is(
    createEgressPolicy({ blockedPorts: ['none'], blockedHosts: [], allowedHosts: [], servedPorts: [] }).portProblem(
      25,
      'proxy',
    ),
    undefined,
  );
});

test('what is blocked comes before what is opened, and only an address opens in any case', (t) => {
  const { rulingOn } = createEgressPolicy({
    blockedPorts: [],
    blockedHosts: ['10.9.0.0/16', '*.bad.example'],
    allowedHosts: ['10.0.0.0/8', '10.0.0.7', '10.9.0.1', '::/0', 'box.lan', 'x.bad.example', '169.254.0.0/16'],
    servedPorts: [],
  }).addressPolicy('proxy');
  const hosts = [
    '10.0.0.1',
    '10.0.0.7',
    '10.9.0.1',
    '10.9.9.9',
    '11.0.0.1',
    '2606:4700::1',
    'box.lan',
    'x.bad.example',
    'y.bad.example',
    'bad.example',
    '169.254.169.254',
  ];

  t.deepEqual(
    hosts.map((host) => rulingOn?.(host)),
    [
      'opened',
      'opened in any case',
      'blocked',
      'blocked',
      undefined,
      'opened',
      'opened',
      'blocked',
      'blocked',
      undefined,
      'opened',
    ],
  );
});

test('loopback is open to logged-in users alone', (t) => {
  const policy = createEgressPolicy({ blockedPorts: [], blockedHosts: [], allowedHosts: [], servedPorts: [] });

  t.deepEqual(
    (['chain', 'proxy', 'ssh'] as const).map((use) => policy.addressPolicy(use).allowLoopback),
    [false, false, true],
  );
});

test('a connection leads back when it is to where a server listens, in whatever form', (t) => {
  const own = ['192.168.1.5', 'fd00::5'];
  const leadsBack = (server: string, ...addresses: readonly string[]) =>
    addresses.filter((address) => isLoop({ address, port: 80 }, [{ address: server, port: 80 }], own));

  t.deepEqual(leadsBack('127.0.0.1', '127.0.0.1', '127.0.0.2', '192.168.1.5', '::1'), ['127.0.0.1']);
  t.deepEqual(leadsBack('fd00::5', 'fd00:0:0::5', 'FD00::5', 'fd00::6'), ['fd00:0:0::5', 'FD00::5']);
  for (const all of ['0.0.0.0', '::'])
    t.deepEqual(leadsBack(all, '127.8.8.8', '::1', '192.168.1.5', 'FD00:0::5', '192.168.1.6', '8.8.8.8'), [
      '127.8.8.8',
      '::1',
      '192.168.1.5',
      'FD00:0::5',
    ]);
  t.false(isLoop({ address: '127.0.0.1', port: 81 }, [{ address: '127.0.0.1', port: 80 }], own));
});

test('no text makes the rules throw', (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.domain(),
    fc.tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.integer()).map(([address, bits]) => `${address}/${bits}`),
  );

  fc.assert(
    fc.property(text, text, (entry, host) => {
      ruleFor(host, rules(entry));
      portRange(entry);
      return true;
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});
