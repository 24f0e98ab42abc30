/** Makes an interface what a member should be, as far as it differs, and tells the peers what it is then. */
import type { PeerReading, WireguardDevice } from '../wireguard/device.ts';
import { publicKeyOf } from '../wireguard/keys.ts';
import type { KnownPeers } from './known-peers.ts';
import type { WantedMember } from './member.ts';
import { changeOf } from './peer-set.ts';

/** One repair. `nowMs` is of `performance.now`. */
export interface Repair {
  readonly target: WantedMember;
  readonly nowMs: number;
  /** It is time to set everything anew: somebody else may have changed it. */
  readonly isRegular: boolean;
}

/** Of one member, over all its devices. */
export class InterfaceRepair {
  readonly #peers: KnownPeers;
  /** The device that is used when it is asked for; null: it is gone meanwhile. */
  readonly #current: () => WireguardDevice | null;
  /** What the device was told last; null: nothing. */
  #told: { readonly privateKey: string; readonly addresses: string; readonly mtu: number } | null = null;

  constructor(peers: KnownPeers, current: () => WireguardDevice | null) {
    this.#peers = peers;
    this.#current = current;
  }

  /** Another device, which was told nothing. */
  forget(): void {
    this.#told = null;
  }

  /** Who is to go goes first: nothing that may fail comes before. Answers with what was read of it. */
  async repair(device: WireguardDevice, { target, nowMs, isRegular }: Repair): Promise<readonly PeerReading[]> {
    const ownPublicKey = publicKeyOf(target.privateKey);
    const isRotated = this.#told !== null && this.#told.privateKey !== target.privateKey;
    const before = await device.read();
    const { removed } = changeOf(target, before, ownPublicKey);
    if (removed.length > 0) await device.apply({ removed, set: [] });
    if (isRotated) {
      await device.setPrivateKey(target.privateKey);
      // Sessions begin anew, and so do peers: WireGuard leaves one to which it began a handshake with the old key alone
      // for 5 s.
      await device.apply({ removed: this.#peers.keys(), set: [] });
      this.#peers.clear();
    }
    await this.#setAddresses(device, target, isRegular);
    const unheard = this.#peers.unheard(nowMs).filter(({ publicKey }) => target.peers.has(publicKey));
    if (unheard.length > 0) await device.apply({ removed: unheard.map(({ publicKey }) => publicKey), set: unheard });
    const readings = removed.length === 0 && !isRotated && unheard.length === 0 ? before : await device.read();
    const change = changeOf(target, readings, ownPublicKey);
    const met = new Set(change.met);
    this.#peers.forgetHandshakes(target, met);
    if (change.set.length + change.removed.length > 0) await device.apply(change);
    const refused = this.#current()?.refusals().peers;
    this.#peers.become({ target, readings, met, refused, isRotated, ownPublicKey });
    return readings;
  }

  async #setAddresses(device: WireguardDevice, target: WantedMember, isRegular: boolean): Promise<void> {
    const addresses = JSON.stringify(target.addresses);
    if (isRegular || this.#told?.addresses !== addresses) await device.setAddresses(target.addresses);
    if (isRegular || this.#told?.mtu !== target.mtu) await device.setMtu(target.mtu);
    this.#told = { privateKey: target.privateKey, addresses, mtu: target.mtu };
  }
}
