/** Which names there are. */
import test from 'ava';
import { vpnRecords, reverseName, type VpnRecords } from '../../../../../agent/vpn/names/records.ts';
import { hostsRows, isHostsRow } from '../../../../../agent/vpn/names/hosts.ts';
import { network, OTHER, peer, SELF, THIRD } from '../../../../support/agent/names-fixture.ts';
import { column } from '../../../../support/database/columns.ts';

function records(...[net, peers]: [Parameters<typeof network>[0], Parameters<typeof vpnRecords>[2]]): VpnRecords {
  const made = vpnRecords(SELF, network(net), peers);
  if (made === null) throw new Error('no records');
  return made;
}

test('members, this one too, have the name of their node and their aliases, in both forms; the gateway is called so', (t) => {
  const { byName, pointers, self } = records({ aliases: ['me'] }, [peer(OTHER, 3, ['web-1', 'db']), peer(null, 1)]);

  t.deepEqual(
    [...byName].map(([name, { ipv4 }]) => [name, ipv4]),
    [
      [SELF, 'node-', '2'],
      ['me', '', '2'],
      [OTHER, 'node-', '3'],
      ['web-1', '', '3'],
      ['db', '', '3'],
      ['gateway', '', '1'],
    ].flatMap(([label, before, host]) =>
      ['prod', 'cluster-prod'].map((cluster) => [`${before}${label}.${cluster}.edge.internal`, `100.64.1.${host}`]),
    ),
  );
  t.is(self.ipv6, 'fd00:64:1::2');
  t.is(pointers.get('3.1.64.100.in-addr.arpa'), `node-${OTHER}.prod.edge.internal`);
  t.is(pointers.get(`3.${'0.'.repeat(19)}1.0.0.0.4.6.0.0.0.0.d.f.ip6.arpa`), `node-${OTHER}.prod.edge.internal`);
});

test('no alias takes the name of a node, a node alias beats the gateway, and the lower id has an alias of two nodes', (t) => {
  const { byName } = records({}, [
    peer(THIRD, 4, ['web', 'gateway']),
    peer(OTHER, 3, [`node-${SELF}`, 'web']),
    peer(null, 1),
  ]);
  const addressOf = (label: string) => byName.get(`${label}.prod.edge.internal`)?.ipv4;

  t.deepEqual([`node-${SELF}`, 'web', 'gateway'].map(addressOf), ['100.64.1.2', '100.64.1.3', '100.64.1.4']);
});

test('this member is not listed twice when it is among its own peers, and domains may be written in capitals', (t) => {
  const { hosts, byName } = records({ domain: 'PROD.Edge.Internal' }, [peer(SELF, 9)]);

  t.deepEqual(column(hosts, 'ipv4'), ['100.64.1.2']);
  t.true(byName.has(`node-${SELF}.prod.edge.internal`));
});

test('a domain that is no host name gives no names: nothing of an admin gets into a hosts file but names', (t) => {
  for (const domain of [
    '',
    '.',
    'a b',
    'a\n127.0.0.1 bank.example',
    'a..b',
    '-a.b',
    'a.b.',
    `${'a'.repeat(64)}.b`,
    'ä.b',
    'a#b',
    `${'a.'.repeat(124)}a.aaa`,
  ])
    t.is(vpnRecords(SELF, network({ domain }), []), null, domain);
});

test('zones of addresses are exactly the ranges', (t) => {
  const zones = (ipv4Range: string, ipv6Range = 'fd00:64:1::/64') =>
    [...records({ ipv4_range: ipv4Range, ipv6_range: ipv6Range }, []).zones].slice(2);

  t.deepEqual(zones('100.64.1.0/24'), ['1.64.100.in-addr.arpa', '0.0.0.0.1.0.0.0.4.6.0.0.0.0.d.f.ip6.arpa']);
  t.deepEqual(zones('10.0.0.0/8', 'fd00::/32'), ['10.in-addr.arpa', '0.0.0.0.0.0.d.f.ip6.arpa']);
  t.deepEqual(zones('100.64.2.0/23').slice(0, 2), ['2.64.100.in-addr.arpa', '3.64.100.in-addr.arpa']);
  t.deepEqual(
    zones('100.64.1.252/30').slice(0, 4),
    ['252', '253', '254', '255'].map((host) => `${host}.1.64.100.in-addr.arpa`),
  );
  t.deepEqual(zones('0.0.0.0/0', '::/0'), []);
  t.is(zones('100.64.0.0/17').length, 129);
  t.is(reverseName('100.64.1.3'), '3.1.64.100.in-addr.arpa');
});

test('lines of a hosts file hold no more than musl reads, and are known again', (t) => {
  const domain = `prod.${Array.from({ length: 3 }, () => 'd'.repeat(45)).join('.')}`;
  const rows = hostsRows(records({ domain }, [peer(OTHER, 3, ['a'.repeat(63), 'b']), peer(null, 1)]));

  t.is(rows.length, 2 * (1 + 3 + 1));
  t.true(rows.every((row) => row.length < 1_024 && isHostsRow(row)));
  t.deepEqual(
    [
      '10.0.0.1 printer',
      '10.0.0.1\tprinter',
      '127.0.0.1\tlocalhost localhost.localdomain',
      '',
      '# x',
      '100.64.1.3\tweb.a.b web.cluster-a.c',
    ].map(isHostsRow),
    Array.from({ length: 6 }, () => false),
  );
});
