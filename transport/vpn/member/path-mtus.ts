/** How long packets to each peer may be: finds out where its path is direct, and tells the interface. */
import { randomBytes } from 'node:crypto';
import { BlockList, isIPv4 } from 'node:net';
import { endpointParts, rangesOf } from '../../net/endpoints.ts';
import type { WireguardDevice } from '../wireguard/device.ts';
import { DeviceGone, DeviceProblem } from '../wireguard/problem.ts';
import { MtuEcho } from './mtu-echo.ts';
import { answeredMtu, atRest, beginMtu, dueMtu, type PathMtu } from './path-mtu.ts';

/** Paths that are looked at in one turn: each costs a line of a program. The others wait for the next one. */
const LOOKS_MAX = 64;

/** A machine on which this does not work goes without for so long, in ms. */
const PAUSE_MS = 60_000;

/**
 * What is sent at most over IPv4 where an answer says no more than that all pieces arrived, in bytes: what fits into
 * the paths of homes (PPPoE, 1,492), and less than the 1,480 that `wg-quick` sends everywhere.
 */
const CUT_ROOM_BYTES = 1_468;

const NONCE_BYTES = 8;

/**
 * Packets over a relay, in bytes: it takes any up to 64 KiB, and each costs the same whatever it holds. Twice as fast
 * as 1,280 (measured), and short enough that a slow line has one out in a tenth of a second at 1 Mbit/s.
 */
const RELAYED_BYTES = 8_960;

/** A peer that is reached. */
export interface ReachedPeer {
  readonly publicKey: string;
  readonly ipv4: string;
  readonly ipv6: string;
  /** Null: over a relay. */
  readonly endpoint: string | null;
  /** All that was ever sent to it. */
  readonly sentBytes: number;
}

/** What it needs of its member. */
export interface PathMtusPorts {
  /** As `hasMtuDiscovery` of MemberOptions. */
  readonly isEnabled: boolean | undefined;
  /** Members that are reached. A gateway is none: its machine answers no questions about lengths. */
  readonly reached: () => readonly ReachedPeer[];
  /** Own addresses in the VPN, with prefix lengths. */
  readonly own: () => readonly string[];
  /** A turn is due at once. */
  readonly changed: () => void;
}

/** A peer with a direct path. */
interface Known {
  peer: ReachedPeer;
  state: PathMtu;
}

/** A packet that a peer was asked with, and that it has not answered. */
interface Question {
  readonly publicKey: string;
  readonly length: number;
}

/** Of one member, over all its devices. Times are of `performance.now`, in ms. */
export class PathMtus {
  readonly #known = new Map<string, Known>();
  /** By public key, those that are relayed. */
  #relayed: ReadonlyMap<string, ReachedPeer> = new Map();
  readonly #ports: PathMtusPorts;
  readonly #echo: MtuEcho;
  /** By their numbers. An answer may be late; those of a length that is asked for no more are forgotten. */
  readonly #questions = new Map<string, Question>();
  #answers: Question[] = [];
  #heardAt = '';
  #ranges = new BlockList();
  /** Addresses of peers that were looked for in these ranges: paths are compared many times a second. */
  readonly #isInRanges = new Map<string, boolean>();
  /** What the interface was told last, by address; null: nothing, or it is not known what of it was done. */
  #told: ReadonlyMap<string, number> | null = null;
  #refused: ReadonlySet<string> = new Set();
  #notBeforeMs = 0;

  constructor(ports: PathMtusPorts) {
    this.#ports = ports;
    this.#echo = new MtuEcho((address, nonce) => {
      const question = this.#questions.get(nonce);
      const peer = this.#known.get(question?.publicKey ?? '')?.peer;
      if (question === undefined || (peer?.ipv4 !== address && peer?.ipv6 !== address)) return;
      this.#questions.delete(nonce);
      this.#answers.push(question);
      ports.changed();
    });
  }

  /** When the next turn is due at the latest. */
  dueMs(): number {
    let dueMs = Infinity;
    for (const { state } of this.#known.values()) dueMs = Math.min(dueMs, state.dueMs);
    return dueMs === Infinity ? dueMs : Math.max(dueMs, this.#notBeforeMs);
  }

  /** How long packets to this peer may be, in bytes; null: as long as the VPN says. */
  mtuOf(publicKey: string): number | null {
    const known = this.#known.get(publicKey);
    const peer = known?.peer ?? this.#relayed.get(publicKey);
    if (peer === undefined) return null;
    const mtu = known === undefined ? RELAYED_BYTES : known.state.length;
    const own = this.#routable(peer);
    const isTold = own.every((address) => this.#told?.get(address) === mtu);
    return isTold && own.some((address) => !this.#refused.has(address)) ? mtu : null;
  }

  /** Another device, or other ways: what was seen is true no more. */
  forget(): void {
    this.#known.clear();
    this.#relayed = new Map();
    this.#questions.clear();
    this.#told = null;
  }

  /**
   * Before packets go another way than until now: what is too long for it gets short at once. Rejects as `turn`.
   */
  narrow(device: WireguardDevice): Promise<void> {
    return this.#contained(device, async (nowMs) => {
      this.#meet(nowMs);
      const wanted = this.#wanted();
      const short = [...(this.#told ?? [])].flatMap(([address, mtu]) => {
        const now = wanted.get(address);
        return now === undefined ? [] : [[address, Math.min(mtu, now)] as const];
      });
      await this.#tell(device, new Map(short), false);
    });
  }

  /**
   * `isRegular`: it is time to set everything anew, as somebody else may have changed it. Rejects with `DeviceGone`
   * alone: all else goes on with packets as long as every path takes.
   */
  turn(device: WireguardDevice, isRegular: boolean): Promise<void> {
    return this.#contained(device, (nowMs) => this.#turn(device, nowMs, isRegular));
  }

  async #contained(device: WireguardDevice, work: (nowMs: number) => Promise<void>): Promise<void> {
    const nowMs = performance.now();
    if (this.#ports.isEnabled === undefined || nowMs < this.#notBeforeMs) return;
    try {
      await work(nowMs);
    } catch (error) {
      if (error instanceof DeviceGone || !(error instanceof DeviceProblem)) throw error;
      // `ip` is another one, or did not come back
      this.forget();
      this.#notBeforeMs = nowMs + PAUSE_MS;
      await device.setPathMtus(new Map()).catch(() => {}); // tried anew after the pause
    }
  }

  /** Nobody is asked any more, nor answered. */
  close(): void {
    this.#echo.listen([]);
    this.forget();
  }

  /** Nobody looks after the interface from now on: packets are as long as every path takes. */
  async leave(device: WireguardDevice): Promise<void> {
    if (this.#ports.isEnabled !== undefined) await device.setPathMtus(new Map());
  }

  async #turn(device: WireguardDevice, nowMs: number, isRegular: boolean): Promise<void> {
    const own = this.#ports.own();
    const heardAt = JSON.stringify(own);
    if (isRegular || heardAt !== this.#heardAt) {
      this.#echo.listen(own);
      this.#ranges = rangesOf(own);
      this.#isInRanges.clear(); // also of those of peers that are gone
    }
    this.#heardAt = heardAt;
    this.#meet(nowMs);
    for (const { publicKey, length } of this.#answers.splice(0)) {
      const known = this.#known.get(publicKey);
      if (known !== undefined) known.state = answeredMtu(known.state, length, nowMs);
    }
    const asked = await this.#look(device, nowMs);
    const refused = await this.#tell(device, this.#wanted(), isRegular);
    for (const [nonce, { publicKey, length }] of this.#questions)
      if (this.#known.get(publicKey)?.state.asking?.length !== length) this.#questions.delete(nonce);
    for (const known of asked) this.#ask(known, refused);
  }

  /** What is not direct any more, or has another endpoint, begins anew. */
  #meet(nowMs: number): void {
    const reached = this.#ports.isEnabled === true ? this.#ports.reached() : [];
    this.#relayed = new Map(reached.flatMap((peer) => (peer.endpoint === null ? [[peer.publicKey, peer]] : [])));
    const direct = new Set(reached.flatMap(({ publicKey, endpoint }) => (endpoint === null ? [] : [publicKey])));
    for (const publicKey of this.#known.keys()) if (!direct.has(publicKey)) this.#known.delete(publicKey);
    for (const peer of reached) {
      if (peer.endpoint === null) continue;
      const known = this.#known.get(peer.publicKey);
      if (known?.state.endpoint === peer.endpoint && known.peer.ipv6 === peer.ipv6 && known.peer.ipv4 === peer.ipv4)
        known.peer = peer;
      else this.#known.set(peer.publicKey, { peer, state: beginMtu(peer.endpoint, nowMs) });
    }
  }

  /** Those that are to be asked now. */
  async #look(device: WireguardDevice, nowMs: number): Promise<readonly Known[]> {
    const due = [...this.#known.values()].filter((known) => {
      if (known.state.dueMs > nowMs) return false;
      const resting = atRest(known.state, known.peer.sentBytes, nowMs);
      if (resting !== null) known.state = resting;
      return resting === null;
    });
    const looked = due.slice(0, LOOKS_MAX);
    if (looked.length === 0) return [];
    const addressOf = ({ state }: Known): string => endpointParts(state.endpoint)?.address ?? '';
    const rooms = await device.readRooms(looked.map(addressOf).filter((address) => address !== ''));
    return looked.filter((known) => {
      const address = addressOf(known);
      const room = rooms.get(address) ?? null;
      // the kernel's WireGuard lets routers cut its packets over IPv4 to pieces, and each arrives
      const isCut = device.backend === 'kernel' && isIPv4(address);
      const look = {
        room: room === null || !isCut ? room : Math.min(room, CUT_ROOM_BYTES),
        sentBytes: known.peer.sentBytes,
      };
      const { state, isAsked } = dueMtu(known.state, look, nowMs);
      known.state = state;
      return isAsked;
    });
  }

  /** Addresses that the system refused. */
  async #tell(
    device: WireguardDevice,
    mtus: ReadonlyMap<string, number>,
    isRegular: boolean,
  ): Promise<ReadonlySet<string>> {
    const told = this.#told;
    const isSame = told?.size === mtus.size && [...mtus].every(([address, mtu]) => told.get(address) === mtu);
    if (isSame && !isRegular) return this.#refused;
    this.#told = null;
    this.#refused = await device.setPathMtus(mtus);
    this.#told = mtus;
    return this.#refused;
  }

  #wanted(): ReadonlyMap<string, number> {
    return new Map([
      ...[...this.#known.values()].flatMap((known) => this.#mtusOf(known)),
      ...[...this.#relayed.values()].flatMap((peer) =>
        this.#routable(peer).map((address) => [address, RELAYED_BYTES] as const),
      ),
    ]);
  }

  /**
   * Both addresses of a peer whose path takes them; while that is not known yet, the one alone by which it is asked,
   * and that is the one of IPv6, by which hardly anybody talks.
   */
  #mtusOf({ peer, state: { length, asking } }: Known): readonly (readonly [string, number])[] {
    const asked = asking === null ? null : this.#askedAddress(peer);
    return this.#routable(peer).flatMap((address) => {
      const mtu = address === asked ? (asking?.length ?? length) : length;
      return mtu === null ? [] : [[address, mtu] as const];
    });
  }

  /** What is in no range of its own is not this machine's to route: it may be a machine of its LAN. */
  #routable({ ipv4, ipv6 }: ReachedPeer): readonly string[] {
    return [ipv4, ipv6].filter((address) => {
      const known = this.#isInRanges.get(address);
      if (known !== undefined) return known;
      const isInside = this.#ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
      this.#isInRanges.set(address, isInside);
      return isInside;
    });
  }

  /** Not where packets would go in pieces, of which each arrives. */
  #ask({ peer, state: { asking } }: Known, refused: ReadonlySet<string>): void {
    const address = this.#askedAddress(peer);
    if (asking === null || address === null || refused.has(address)) return;
    const nonce = randomBytes(NONCE_BYTES).toString('hex');
    this.#questions.set(nonce, { publicKey: peer.publicKey, length: asking.length });
    this.#echo.ask(address, asking.length, nonce);
  }

  #askedAddress({ ipv4, ipv6 }: ReachedPeer): string | null {
    return [ipv6, ipv4].find((address) => this.#echo.canAsk(address)) ?? null;
  }
}
