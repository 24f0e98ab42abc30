/**
 * What many peers cost a member, in processor time: a gateway that takes over clusters meets as many at once as
 * ADMIN_MAX_WIREGUARD_PEERS says, and has leases to renew meanwhile.
 */
import { BlockList } from 'node:net';
import test from 'ava';
import type { VpnPeer } from '../../../../transport/protocol/vpn.ts';
import { prepareCandidates, type OwnPlace } from '../../../../transport/vpn/member/candidates.ts';
import { KnownPeers } from '../../../../transport/vpn/member/known-peers.ts';
import type { WantedMember } from '../../../../transport/vpn/member/member.ts';
import { perform, type PathEffectPorts, type PeerEffect } from '../../../../transport/vpn/member/path-effects.ts';
import { PathMtus, type ReachedPeer } from '../../../../transport/vpn/member/path-mtus.ts';
import type { PeerReading, WireguardDevice } from '../../../../transport/vpn/wireguard/device.ts';
import { cpuMsOf } from '../../../support/cpu-time.ts';
import type { Scope } from '../../../support/scope.ts';

/** The default of ADMIN_MAX_WIREGUARD_PEERS. */
const PEERS = 20_000;

/** The largest VPN of one cluster. */
const MEMBERS = 511;

/** Wakes the code up: what is measured is not its compilation. */
const FEW = 1_000;

const keyOf = (index: number): string => `peer ${index}`;
const keys = Array.from({ length: PEERS }, (_, index) => keyOf(index));

const peer = (index: number): VpnPeer => ({
  node: null,
  public_key: keyOf(index),
  ipv4: `100.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
  ipv6: `fd00:1:2:3::${(index + 2).toString(16)}`,
  endpoints: [`198.51.100.${index & 255}:51820`, `[2001:db8::${(index + 2).toString(16)}]:51820`],
  relay_region: 900,
  aliases: [],
});

const reading = (publicKey: string): PeerReading => ({
  publicKey,
  endpoint: null,
  allowedIps: [],
  handshakeAtMs: Date.now(),
  receivedBytes: 0,
  sentBytes: 0,
});

function wanted(count: number): WantedMember {
  const peers = new Map(keys.slice(0, count).map((publicKey, index) => [publicKey, peer(index)]));
  return { privateKey: '', addresses: [], mtu: 1_280, peers, observers: [], relayMap: null };
}

/** A gateway in 400 clusters. */
const GATEWAY: OwnPlace = {
  addresses: ['192.0.2.5/24', '2001:db8:1::5/64'],
  listenPort: 51_820,
  vpnRanges: Array.from({ length: 400 }, (_, index) => [
    `100.${128 + (index >> 8)}.${index & 255}.1/24`,
    `fd00:0:0:${index.toString(16)}::1/64`,
  ]).flat(),
};

/** A machine in no VPN. */
const ALONE: OwnPlace = { ...GATEWAY, vpnRanges: [] };

/** Nothing that it is told of comes of anything. */
function knownPeers(own: OwnPlace): KnownPeers {
  return new KnownPeers(own, {
    carries: () => true,
    relayEndpointOf: () => null,
    earlyUntilMs: () => null,
    changed: () => {},
  });
}

/** A device and relays that do nothing, for peers of which every other one is strange. */
function idlePorts(): PathEffectPorts {
  return {
    device: { apply: async () => {}, setEndpoints: async () => {} } as unknown as WireguardDevice,
    relaySockets: { open: async () => '127.0.0.1:1' } as unknown as PathEffectPorts['relaySockets'],
    say: () => {},
    wantsTry: () => {},
    strange: () => ({ allowedIps: [] }),
    read: async () => {},
    taken: () => [],
  };
}

/** Every other one is spoken to at once. */
const uses = (some: readonly string[]): PeerEffect[] =>
  some.map((publicKey, index) => ({
    publicKey,
    effect: { type: 'use', way: { kind: 'relay' }, isSentNow: index % 2 === 0 },
  }));

/** Answers how often ranges were looked at from now on. */
function countedLooks(t: Scope): () => number {
  type Check = (this: BlockList, ...asked: Parameters<BlockList['check']>) => boolean;
  const check = Reflect.get(BlockList.prototype, 'check') as Check;
  let looks = 0;
  BlockList.prototype.check = function counted(this: BlockList, ...asked: Parameters<Check>) {
    looks += 1;
    return check.apply(this, asked);
  } as BlockList['check'];
  t.teardown(() => {
    BlockList.prototype.check = check as BlockList['check'];
  });
  return () => looks;
}

test.serial('what 20,000 paths ask for is carried out in a fraction of a second', async (t) => {
  await perform(uses(keys.slice(0, FEW)), idlePorts());
  const effects = uses(keys);

  const cpuMs = await cpuMsOf(() => perform(effects, idlePorts()));

  t.true(cpuMs < 200, `${cpuMs} ms`);
});

test.serial('handshakes of peers that are met anew are forgotten at once, however many there are', async (t) => {
  const peers = knownPeers(ALONE);
  const target = wanted(PEERS);
  const old = keys.slice(0, PEERS / 2);
  const met = new Set(keys.slice(PEERS / 2));
  const readings = old.map(reading);
  peers.become({
    target: wanted(PEERS / 2),
    readings,
    met: new Set(),
    refused: undefined,
    isRotated: false,
    ownPublicKey: 'own',
  });
  peers.heed(readings);

  const cpuMs = await cpuMsOf(() => peers.forgetHandshakes(target, met));

  t.true(cpuMs < 50, `${cpuMs} ms`);
  t.is(peers.strange(keyOf(0)), null, 'one that stays has its session');
});

test.serial('candidates that were prepared are not looked for again as peers are met', async (t) => {
  const peers = knownPeers(GATEWAY);
  const target = wanted(FEW);
  const looks = countedLooks(t);
  await prepareCandidates(target.peers.values(), GATEWAY);
  const prepared = looks();

  peers.become({ target, readings: [], met: new Set(keys), refused: undefined, isRotated: false, ownPublicKey: '' });

  t.is(peers.keys().length, FEW);
  t.true(prepared > FEW);
  t.is(looks(), prepared);
});

test.serial('whether an address lies in the VPN is found out once, however often paths are looked at', async (t) => {
  const looks = countedLooks(t);
  const device = { backend: 'user-space', setPathMtus: async () => new Set() } as unknown as WireguardDevice;
  const reached = Array.from({ length: MEMBERS }, (_, index): ReachedPeer => {
    const { public_key: publicKey, ipv4, ipv6 } = peer(index);
    return { publicKey, ipv4, ipv6, endpoint: null, sentBytes: 0 };
  });
  const own = ['100.64.0.0/16', 'fd00:1:2:3::/64'];
  const mtus = new PathMtus({ isEnabled: true, reached: () => reached, own: () => own, changed: () => {} });
  t.teardown(() => mtus.close());

  for (let turns = 0; turns < 10; turns += 1) {
    await mtus.narrow(device);
    await mtus.turn(device, false);
    for (const { publicKey } of reached) mtus.mtuOf(publicKey);
  }

  t.is(mtus.mtuOf(keyOf(5)), 8_960);
  t.true(looks() <= 4 * MEMBERS, `${looks()} looks`); // two addresses each, before the first turn and since
});
