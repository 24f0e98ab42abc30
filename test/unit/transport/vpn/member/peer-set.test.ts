/** What an interface should hold, compared with what it holds. */
import test from 'ava';
import { KEEPALIVE_SECONDS } from '../../../../../transport/vpn/member/limits.ts';
import type { WantedMember } from '../../../../../transport/vpn/member/member.ts';
import { changeOf } from '../../../../../transport/vpn/member/peer-set.ts';
import type { NodeId } from '../../../../../transport/protocol/ids.ts';
import type { VpnPeer } from '../../../../../transport/protocol/vpn.ts';
import type { PeerReading } from '../../../../../transport/vpn/wireguard/device.ts';

const peer = (name: string, index: number): VpnPeer => ({
  node: '00000000-0000-4000-8000-000000000001' as NodeId,
  public_key: name,
  ipv4: `100.64.0.${index}`,
  ipv6: `fd00::${index}`,
  endpoints: [],
  relay_region: null,
  aliases: [],
});
const reading = (
  publicKey: string,
  allowedIps: readonly string[],
  endpoint: string | null = '198.51.100.1:7',
): PeerReading => ({ publicKey, allowedIps, endpoint, handshakeAtMs: null, receivedBytes: 0, sentBytes: 0 });
const wanted = (...peers: readonly VpnPeer[]): WantedMember => ({
  privateKey: '',
  addresses: [],
  mtu: 1_280,
  peers: new Map(peers.map((one) => [one.public_key, one])),
  observers: [{ publicKey: 'observer', endpoint: '203.0.113.1:9' }],
});

const observer = reading('observer', [], '203.0.113.1:9');

test('an interface that is as it should be is left alone', (t) => {
  t.deepEqual(changeOf(wanted(peer('one', 2)), [reading('one', ['fd00::2/128', '100.64.0.2/32']), observer], 'own'), {
    set: [],
    removed: [],
    met: [],
  });
});

test('who is missing is added in silence, strangers go, and ranges that differ are put right', (t) => {
  const change = changeOf(
    wanted(peer('one', 2), peer('two', 3)),
    [reading('two', ['0.0.0.0/0']), reading('stranger', [])],
    'own',
  );

  t.deepEqual(change, {
    met: ['one'],
    removed: ['stranger'],
    set: [
      { publicKey: 'one', allowedIps: ['100.64.0.2/32', 'fd00::2/128'], endpoint: null, keepaliveSeconds: 0 },
      {
        publicKey: 'two',
        allowedIps: ['100.64.0.3/32', 'fd00::3/128'],
        endpoint: null,
        keepaliveSeconds: KEEPALIVE_SECONDS,
      },
      { publicKey: 'observer', allowedIps: [], endpoint: '203.0.113.1:9', keepaliveSeconds: KEEPALIVE_SECONDS },
    ],
  });
});

test('an observer that speaks from elsewhere, or was given ranges, is put right', (t) => {
  const set = [
    { publicKey: 'observer', allowedIps: [], endpoint: '203.0.113.1:9', keepaliveSeconds: KEEPALIVE_SECONDS },
  ];

  t.deepEqual(changeOf(wanted(), [reading('observer', [], '203.0.113.9:9')], 'own').set, set);
  t.deepEqual(changeOf(wanted(), [reading('observer', ['100.64.0.9/32'], '203.0.113.1:9')], 'own').set, set);
});

test('nobody is a peer of itself, whoever says so', (t) => {
  t.deepEqual(changeOf(wanted(peer('own', 2)), [observer], 'own'), { set: [], removed: [], met: [] });
});
