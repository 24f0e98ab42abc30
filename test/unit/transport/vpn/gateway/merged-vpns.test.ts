import test from 'ava';
import { gatewayInterface } from '../../../../../transport/vpn/gateway/open-gateway.ts';
import { checkedVpn, gatewayAddresses, mergeVpns } from '../../../../../transport/vpn/gateway/merged-vpns.ts';
import { clusterId, key, member, vpn, nodeId } from './fixture.ts';

test('the gateway has the first host of each range', (t) => {
  t.deepEqual(gatewayAddresses('100.64.7.0/24', 'fd00:1:2:3::/64'), {
    ipv4: '100.64.7.1',
    ipv6: 'fd00:1:2:3::1',
    cidrs: ['100.64.7.1/24', 'fd00:1:2:3::1/64'],
  });
  t.deepEqual(gatewayAddresses('10.1.2.128/25', 'fd00::/64').cidrs, ['10.1.2.129/25', 'fd00::1/64']);
  t.deepEqual(gatewayAddresses('10.1.255.252/30', 'fd12:3456:789a::/64').cidrs, [
    '10.1.255.253/30',
    'fd12:3456:789a::1/64',
  ]);
});

test('one interface has the peers and the VPNs of all clusters', (t) => {
  const both = mergeVpns(
    [checkedVpn(vpn(1, [member(1, 2), member(1, 3)]), null), checkedVpn(vpn(2, [member(2, 2)]), null)],
    {
      peersMax: 100,
      addressesMax: 200,
    },
  );

  t.deepEqual(both.addresses, ['100.64.1.1/24', 'fd00:0:0:1::1/64', '100.64.2.1/24', 'fd00:0:0:2::1/64']);
  t.deepEqual([...both.peers.keys()], [key(258), key(259), key(514)]);
  t.deepEqual(both.ofNode.get(nodeId(2, 2)), { publicKey: key(514), cluster: clusterId(2) });
});

test('the gateway is no peer of itself, nor of another gateway', (t) => {
  const own = checkedVpn(vpn(1, [member(1, 1, { node: null }), member(1, 2), member(1, 3)]), key(259));

  t.deepEqual(own.members, [member(1, 2)]);
});

test('a member with an address of another cluster is left out', (t) => {
  const checked = checkedVpn(
    vpn(1, [member(1, 2), member(1, 3, { ipv4: '100.64.2.3' }), member(1, 4, { ipv6: 'fd00:0:0:2::4' })]),
    null,
  );

  t.deepEqual(checked.members, [member(1, 2)]);
});

test('a key that is in two VPNs is in the first alone', (t) => {
  const both = mergeVpns(
    [
      checkedVpn(vpn(1, [member(1, 2)]), null),
      checkedVpn(vpn(2, [member(2, 9, { public_key: key(258) }), member(2, 3)]), null),
    ],
    { peersMax: 100, addressesMax: 200 },
  );

  t.deepEqual(both.peers.get(key(258)), member(1, 2));
  t.is(both.ofNode.get(nodeId(2, 9)), undefined);
  t.is(both.peers.size, 2);
});

test('a VPN that does not fit is left out as a whole, and those after it still have their place', (t) => {
  const vpns = [vpn(1, [member(1, 2), member(1, 3)]), vpn(2, [member(2, 2), member(2, 3)]), vpn(3, [member(3, 2)])].map(
    (one) => checkedVpn(one, null),
  );
  const some = mergeVpns(vpns, { peersMax: 3, addressesMax: 200 });

  t.deepEqual([...some.joined.keys()], [clusterId(1), clusterId(3)]);
  t.deepEqual(
    some.leftOut.map(({ clusterName }) => clusterName),
    ['cluster-2'],
  );
  t.is(some.peers.size, 3);
});

test('a VPN for whose addresses an interface has no room is left out, whatever room there is for its members', (t) => {
  const vpns = [1, 2, 3].map((number) => checkedVpn(vpn(number, [member(number, 2)]), null));
  const some = mergeVpns(vpns, { peersMax: 100, addressesMax: 5 });

  t.deepEqual([...some.joined.keys()], [clusterId(1), clusterId(2)]);
  t.deepEqual(
    some.leftOut.map(({ clusterName }) => clusterName),
    ['cluster-3'],
  );
  t.is(some.addresses.length, 4);
});

test('the interface of an admin has a name that Linux takes, and keeps it', (t) => {
  const name = gatewayInterface('0190f5c2-7a11-7c3e-8f00-000000000001');

  t.regex(name, /^edgegw\d{9}$/u);
  t.is(gatewayInterface('0190f5c2-7a11-7c3e-8f00-000000000001'), name);
  t.not(gatewayInterface('0190f5c2-7a11-7c3e-8f00-000000000002'), name);
});
