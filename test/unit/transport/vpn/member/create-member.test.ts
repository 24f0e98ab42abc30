/** Faults of ours while a member is made of an interface that is open: it goes again. */
import test from 'ava';
import { memberOn, type MemberOptions } from '../../../../../transport/vpn/member/create-member.ts';
import type { WireguardDevice } from '../../../../../transport/vpn/wireguard/device.ts';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';

const FAULT = new Error('a fault of ours');

function faulty(): never {
  throw FAULT;
}

const OPTIONS: MemberOptions = {
  interfaceName: 'edge00000000',
  listenPort: 51_820,
  wanted: {
    privateKey: makeKeyPair().privateKey,
    addresses: [],
    mtu: 1_280,
    peers: new Map(),
    observers: [],
    relayMap: null,
  },
};

/** Of which no member is made at all. */
const UNREADABLE = Object.defineProperty({ ...OPTIONS }, 'relayReach', { enumerable: true, get: faulty });

for (const [when, options, onLost] of [
  ['before it has the interface', UNREADABLE, () => {}],
  ['as it takes the interface', OPTIONS, faulty],
] as const)
  test(`a member that is not made through a fault ${when} leaves none`, async (t) => {
    let removals = 0;
    const remove = async (): Promise<void> => void (removals += 1);
    const device = { onLost, remove } as unknown as WireguardDevice;

    const error = await t.throwsAsync(memberOn(device, options, { wantsTry() {}, moved: () => true, changed() {} }));

    t.is(error, FAULT);
    t.is(removals, 1);
  });
