/** How long packets to each peer with a direct path may be: finds out, and tells the interface. */
import { randomBytes } from 'node:crypto';
import { endpointParts } from '../../net/endpoints.ts';
import type { WireguardDevice } from '../wireguard/device.ts';
import { DeviceGone, DeviceProblem } from '../wireguard/problem.ts';
import { MtuEcho } from './mtu-echo.ts';
import { answeredMtu, beginMtu, dueMtu, type PathMtu } from './path-mtu.ts';

/** Paths that are looked at in one turn: each costs a line of a program. The others wait for the next one. */
const LOOKS_MAX = 64;

/** A machine on which this does not work goes without for so long, in ms. */
const PAUSE_MS = 60_000;

const NONCE_BYTES = 8;

/** A peer with a direct path. */
export interface DirectPeer {
  readonly publicKey: string;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly endpoint: string;
  /** All that was ever sent to it. */
  readonly sentBytes: number;
}

/** What it needs of its member. */
export interface PathMtusPorts {
  /** False: packets are as long as every path takes. */
  readonly isEnabled: boolean;
  /** Members with a direct path. A gateway is none: its machine answers no questions about lengths. */
  readonly direct: () => readonly DirectPeer[];
  /** Own addresses in the VPN, with prefix lengths. */
  readonly own: () => readonly string[];
  /** A turn is due at once. */
  readonly changed: () => void;
}

interface Known {
  peer: DirectPeer;
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
  readonly #ports: PathMtusPorts;
  readonly #echo: MtuEcho;
  /** By their numbers. An answer may be late; those of a length that is asked for no more are forgotten. */
  readonly #questions = new Map<string, Question>();
  #answers: Question[] = [];
  #heardAt = '';
  /** What the interface was told last; null: nothing, or it is not known what of it was done. */
  #told: string | null = null;
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

  /** What the path to this peer was seen to take, in bytes; null: nothing longer than every path takes. */
  mtuOf(publicKey: string): number | null {
    return this.#known.get(publicKey)?.state.length ?? null;
  }

  /** Another device, or other ways: what was seen is true no more. */
  forget(): void {
    this.#known.clear();
    this.#questions.clear();
    this.#told = null;
  }

  /**
   * `isRegular`: it is time to set everything anew, as somebody else may have changed it. Rejects with `DeviceGone`
   * alone: all else goes on with packets as long as every path takes.
   */
  async turn(device: WireguardDevice, isRegular: boolean): Promise<void> {
    if (!this.#ports.isEnabled) return;
    const nowMs = performance.now();
    try {
      await this.#turn(device, nowMs, isRegular);
    } catch (error) {
      if (error instanceof DeviceGone || !(error instanceof DeviceProblem)) throw error;
      // `ip` is another one, or did not come back
      this.forget();
      this.#notBeforeMs = nowMs + PAUSE_MS;
    }
  }

  /** Nobody looks after the interface from now on: packets are as long as every path takes. */
  async end(device: WireguardDevice | null): Promise<void> {
    this.#echo.listen([]);
    this.forget();
    if (this.#ports.isEnabled) await device?.setPathMtus(new Map());
  }

  async #turn(device: WireguardDevice, nowMs: number, isRegular: boolean): Promise<void> {
    const own = this.#ports.own();
    const heardAt = JSON.stringify(own);
    if (isRegular || heardAt !== this.#heardAt) this.#echo.listen(own);
    this.#heardAt = heardAt;
    this.#meet(this.#ports.direct(), nowMs);
    for (const { publicKey, length } of this.#answers.splice(0)) {
      const known = this.#known.get(publicKey);
      if (known !== undefined) known.state = answeredMtu(known.state, length, nowMs);
    }
    const asked = nowMs < this.#notBeforeMs ? [] : await this.#look(device, nowMs);
    const refused = await this.#tell(device, isRegular);
    for (const [nonce, { publicKey, length }] of this.#questions)
      if (this.#known.get(publicKey)?.state.asking?.length !== length) this.#questions.delete(nonce);
    for (const known of asked) this.#ask(known, refused);
  }

  /** What is not direct any more, or has another endpoint, begins anew. */
  #meet(direct: readonly DirectPeer[], nowMs: number): void {
    const keys = new Set(direct.map(({ publicKey }) => publicKey));
    for (const publicKey of this.#known.keys()) if (!keys.has(publicKey)) this.#known.delete(publicKey);
    for (const peer of direct) {
      const known = this.#known.get(peer.publicKey);
      if (known?.state.endpoint === peer.endpoint && known.peer.ipv6 === peer.ipv6 && known.peer.ipv4 === peer.ipv4)
        known.peer = peer;
      else this.#known.set(peer.publicKey, { peer, state: beginMtu(peer.endpoint, nowMs) });
    }
  }

  /** Those that are to be asked now. */
  async #look(device: WireguardDevice, nowMs: number): Promise<readonly Known[]> {
    const due = [...this.#known.values()].filter(({ state }) => state.dueMs <= nowMs).slice(0, LOOKS_MAX);
    if (due.length === 0) return [];
    const addressOf = ({ state }: Known): string => endpointParts(state.endpoint)?.address ?? '';
    const rooms = await device.readRooms(due.map(addressOf).filter((address) => address !== ''));
    return due.filter((known) => {
      const look = { room: rooms.get(addressOf(known)) ?? null, sentBytes: known.peer.sentBytes };
      const { state, isAsked } = dueMtu(known.state, look, nowMs);
      known.state = state;
      return isAsked;
    });
  }

  /** Addresses that the system refused. */
  async #tell(device: WireguardDevice, isRegular: boolean): Promise<ReadonlySet<string>> {
    const mtus = new Map([...this.#known.values()].flatMap((known) => this.#mtusOf(known)));
    const text = JSON.stringify([...mtus]);
    if (text === this.#told && !isRegular) return this.#refused;
    this.#told = null;
    this.#refused = await device.setPathMtus(mtus);
    this.#told = text;
    return this.#refused;
  }

  /**
   * Both addresses of a peer whose path takes them; while that is not known yet, the one alone by which it is asked, and
   * that is the one of IPv6, by which hardly anybody talks.
   */
  #mtusOf({ peer, state: { length, asking } }: Known): readonly (readonly [string, number])[] {
    const asked = asking === null ? null : this.#askedAddress(peer);
    return [peer.ipv4, peer.ipv6].flatMap((address) => {
      const mtu = length ?? (address === asked ? asking?.length : undefined) ?? null;
      return mtu === null ? [] : [[address, mtu] as const];
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

  #askedAddress({ ipv4, ipv6 }: DirectPeer): string | null {
    return [ipv6, ipv4].find((address) => this.#echo.canAsk(address)) ?? null;
  }
}
