/**
 * Keys, addresses and endpoints of WireGuard as the wire takes them, and what becomes of a peer that an admin tells
 * without them.
 */
import test from 'ava';
import * as fc from 'fast-check';
import { decodeAdminFrame, decodeAgentFrame, encodeFrame } from '../../../../transport/protocol/codec.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { leftOutNote, soundPeers, type VpnPeer } from '../../../../transport/protocol/vpn.ts';
import { isEndpoint, isRange, isWireguardKey } from '../../../../transport/protocol/wireguard.ts';
import { hexOfKey } from '../../../../transport/vpn/wireguard/keys.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const NODE = '0190f5c2-7a11-7c3e-8f00-000000000001' as NodeId;
const PEER: VpnPeer = {
  node: NODE,
  public_key: KEY,
  ipv4: '100.64.0.2',
  ipv6: 'fd00::2',
  endpoints: ['198.51.100.7:51820'],
  relay_region: null,
  aliases: [],
};
const ADVERTISEMENT = {
  public_key: KEY,
  listen_port: 51_820,
  endpoints: ['198.51.100.7:51820'],
  relay_region: null,
  revision: null,
};

test('a key has one form: 32 bytes in padded base64 with its last bits zero', (t) => {
  const wrong = [
    `_${KEY.slice(1)}`,
    `-${KEY.slice(1)}`,
    KEY.slice(0, 43),
    KEY.slice(0, -1),
    `${KEY}=`,
    `${KEY}\n`,
    ` ${KEY}`,
    `${KEY.slice(0, 42)}B=`,
    `${KEY.slice(0, 42)}==`,
    KEY.replace('=', '.'),
    '',
    'é'.repeat(44),
  ];

  t.deepEqual(wrong.filter(isWireguardKey), []);
  t.false(
    fc.check(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const key = Buffer.from(bytes).toString('base64');
        return isWireguardKey(key) && hexOfKey(key) === Buffer.from(bytes).toString('hex');
      }),
    ).failed,
  );
});

test('what is taken for a key is the only text of its bytes', (t) => {
  const digits = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-='.split(''));
  const text = fc.array(digits, { minLength: 43, maxLength: 43 }).map((all) => `${all.join('')}=`);

  t.false(
    fc.check(
      fc.property(text, (key) => !isWireguardKey(key) || Buffer.from(key, 'base64').toString('base64') === key),
      { numRuns: 2_000 },
    ).failed,
  );
});

test('an agent that says what is no key, no endpoint or no port is not heard', (t) => {
  const said = (changes: object): boolean =>
    decodeAgentFrame(encodeFrame({ type: 'mesh-advertise', advertisement: { ...ADVERTISEMENT, ...changes } }, 1)).ok;
  const wrong = [
    { public_key: `_${KEY.slice(1)}` },
    { public_key: `${KEY.slice(0, 42)}B=` },
    { listen_port: 0 },
    { listen_port: 65_536 },
    { listen_port: 1.5 },
    ...[
      '198.51.100.7:0',
      '198.51.100.7:65536',
      '198.51.100.7:007',
      '198.51.100.07:7',
      '[fe80::1%eth0]:7',
      'example.org:7',
      '[198.51.100.7]:7',
      '2001:db8::7:7',
      '198.51.100.7:7\n',
    ].map((endpoint) => ({ endpoints: [endpoint] })),
  ];

  t.deepEqual(wrong.filter(said), []);
  t.true([{}, { endpoints: ['[2001:db8::7]:51820', '[::ffff:198.51.100.7]:7'] }].every(said));
});

test('a peer that no interface would take does not stop the frame that tells of it', (t) => {
  const bad = { ...PEER, public_key: `_${KEY.slice(1)}` };
  const changed = decodeAdminFrame(
    encodeFrame(
      {
        type: 'mesh-changed',
        from: { epoch: 1, number: 1 },
        to: { epoch: 1, number: 2 },
        set: [bad, PEER],
        removed: [bad.public_key],
      },
      1,
    ),
  );

  t.like(changed, { ok: true, frame: { set: [bad, PEER], removed: [bad.public_key] } });
});

test('a peer is left out for its key or an address in the VPN; an endpoint that is none goes alone', (t) => {
  const told: VpnPeer[] = [
    PEER,
    { ...PEER, public_key: 'x' },
    { ...PEER, node: null, ipv4: '100.64.0.300' },
    { ...PEER, ipv6: 'FD00::2' },
    { ...PEER, ipv6: 'fd00:0:0::2' },
    { ...PEER, endpoints: ['x', '198.51.100.7:7'] },
  ];

  t.deepEqual(soundPeers(told), {
    sound: [PEER, { ...PEER, endpoints: ['198.51.100.7:7'] }],
    leftOut: [
      { node: NODE, reason: 'its WireGuard key is none' },
      { node: null, reason: 'its address in the VPN is none' },
      { node: NODE, reason: 'its address in the VPN is none' },
      { node: NODE, reason: 'its address in the VPN is none' },
    ],
  });
});

test('who is left out is named, the first few of many, and never by an address', (t) => {
  const bad = { node: NODE, reason: 'its WireGuard key is none' };

  t.is(leftOutNote([]), null);
  t.is(
    leftOutNote([bad, { ...bad, node: null }]),
    `left out of the VPN: node ${NODE} (its WireGuard key is none), the gateway (its WireGuard key is none)`,
  );
  t.regex(leftOutNote(Array.from({ length: 9 }, () => bad)) ?? '', /, and 5 more$/u);
});

test('endpoints and ranges of whatever text never throw', (t) => {
  t.false(
    fc.check(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 80 }),
        (text) =>
          typeof isEndpoint(text) === 'boolean' &&
          typeof isRange(text) === 'boolean' &&
          typeof isEndpoint(`[${text}]:7`) === 'boolean' &&
          typeof isRange(`${text}/64`) === 'boolean',
      ),
    ).failed,
  );
});
