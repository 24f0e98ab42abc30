/**
 * A device over whatever programs its interface: one call after another, what is asked is checked here, and its loss is
 * told once.
 */
import { setAddresses, setMtu } from './addresses.ts';
import type { Reach } from './addresses.ts';
import { inPieces, perItem } from './containment.ts';
import type {
  DeviceBackend,
  DeviceOptions,
  DevicePeer,
  DeviceRefusals,
  PeerReading,
  WireguardDevice,
} from './device.ts';
import { isWireguardKey } from '../../protocol/wireguard.ts';
import { hexOfKey } from './keys.ts';
import { DeviceGone, DeviceProblem } from './problem.ts';
import { checkEndpoint, checkMtu, checkPeer } from './requests.ts';
import { readRooms, setRouteMtus } from './routes.ts';

/** What is known of a peer, and how often it is spoken to. */
export interface PeerState {
  readonly reading: PeerReading;
  readonly keepaliveSeconds: number;
}

/** What is known of an interface. */
export interface InterfaceState {
  /** Base64; null: it has none. */
  readonly privateKey: string | null;
  readonly listenPort: number | null;
  readonly peers: readonly PeerState[];
}

/** From where a peer is spoken to now. */
export interface EndpointChange {
  readonly publicKey: string;
  readonly endpoint: string;
  readonly isSentNow: boolean;
  /** What it keeps. */
  readonly keepaliveSeconds: number;
}

/**
 * A way to program an interface. Each rejects with a `DeviceProblem`, or with `DeviceGone`; what they are given is
 * sound.
 */
export interface Controls {
  readonly backend: DeviceBackend;
  setPrivateKey(privateKey: string): Promise<void>;
  apply(set: readonly DevicePeer[], removed: readonly string[]): Promise<void>;
  setEndpoints(changes: readonly EndpointChange[]): Promise<void>;
  read(): Promise<InterfaceState>;
  /** Tells once when the interface ends, as far as that can be seen without asking. Returns what stops it. */
  watch(ended: (problem: string) => void): () => void;
  /** Removes the interface, and waits until its program ended too. */
  end(): Promise<void>;
}

/** The device that these controls make. */
export class ProgrammedDevice implements WireguardDevice {
  readonly name: string;
  readonly listenPort: number;
  readonly isAdopted: boolean;
  readonly #controls: Controls;
  readonly #reach: Reach;
  /** By public key, of the peers that are there: a packet sent at once must leave a peer as it was. */
  #keepalives: Map<string, number>;
  readonly #refused = new Map<string, string>();
  #refusedAddresses: ReadonlyMap<string, string> = new Map();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Why nothing can be asked any more. */
  #end: string | null = null;
  #problem: string | null = null;
  #lost: ((problem: string) => void) | null = null;
  readonly #unwatch: () => void;

  constructor({ name, listenPort }: DeviceOptions, adopted: InterfaceState | null, controls: Controls, reach: Reach) {
    this.name = name;
    this.listenPort = listenPort;
    this.isAdopted = adopted !== null;
    this.#keepalives = keepalivesOf(adopted?.peers ?? []);
    this.#controls = controls;
    this.#reach = reach;
    this.#unwatch = controls.watch((problem) => this.#lose(problem));
  }

  get backend(): DeviceBackend {
    return this.#controls.backend;
  }

  setPrivateKey(privateKey: string): Promise<void> {
    return this.#call(async () => {
      hexOfKey(privateKey);
      await this.#controls.setPrivateKey(privateKey);
    });
  }

  setAddresses(cidrs: readonly string[]): Promise<void> {
    return this.#call(async () => {
      this.#refusedAddresses = await setAddresses(this.name, cidrs, this.#reach);
    });
  }

  setMtu(mtu: number): Promise<void> {
    return this.#call(async () => {
      checkMtu(mtu);
      await setMtu(this.name, mtu, this.#reach);
    });
  }

  setPathMtus(mtus: ReadonlyMap<string, number>): Promise<ReadonlySet<string>> {
    return this.#call(async () => {
      for (const mtu of mtus.values()) checkMtu(mtu);
      return setRouteMtus(this.name, mtus, this.#reach);
    });
  }

  readRooms(addresses: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#call(() => readRooms(addresses, this.#reach));
  }

  apply({ set, removed }: { readonly set: readonly DevicePeer[]; readonly removed: readonly string[] }): Promise<void> {
    return this.#call(async () => {
      await this.#remove(removed);
      await this.#set(set);
    });
  }

  setEndpoints(
    endpoints: readonly { readonly publicKey: string; readonly endpoint: string; readonly isSentNow: boolean }[],
  ): Promise<void> {
    return this.#call(async () => {
      const changes = endpoints.flatMap((change) => {
        const keepaliveSeconds = this.#keepalives.get(change.publicKey);
        return keepaliveSeconds === undefined ? [] : [{ ...change, keepaliveSeconds }];
      });
      await perItem(
        changes,
        ({ endpoint }) => checkEndpoint(endpoint),
        (some) => this.#controls.setEndpoints(some),
        {
          taken: () => {},
          refused: ({ publicKey }, why) => this.#refused.set(publicKey, why),
        },
      );
    });
  }

  read(): Promise<readonly PeerReading[]> {
    return this.#call(async () => {
      const { peers } = await this.#controls.read();
      this.#keepalives = keepalivesOf(peers);
      return peers.map(({ reading }) => reading);
    });
  }

  refusals(): DeviceRefusals {
    return { peers: this.#refused, addresses: this.#refusedAddresses };
  }

  onLost(lost: (problem: string) => void): void {
    if (this.#problem === null) this.#lost = lost;
    else lost(this.#problem);
  }

  async release(): Promise<void> {
    await this.#close('was let go of');
  }

  async remove(): Promise<void> {
    await this.#close('was removed');
    await this.#controls.end();
  }

  /** What is no key is no peer of the interface. */
  async #remove(removed: readonly string[]): Promise<void> {
    for (const publicKey of removed) this.#refused.delete(publicKey);
    for (const some of inPieces(removed.filter(isWireguardKey))) {
      await this.#controls.apply([], some);
      for (const publicKey of some) this.#keepalives.delete(publicKey);
    }
  }

  async #set(set: readonly DevicePeer[]): Promise<void> {
    const { limits } = this.#reach;
    let room = limits.peersMax - this.#keepalives.size;
    const check = (peer: DevicePeer): void => {
      checkPeer(peer, limits);
      if (this.#keepalives.has(peer.publicKey)) return;
      if (room === 0) throw new DeviceProblem(`an interface has at most ${limits.peersMax} peers here`);
      room -= 1;
    };
    await perItem(set, check, (some) => this.#controls.apply(some, []), {
      taken: ({ publicKey, keepaliveSeconds }) => {
        this.#keepalives.set(publicKey, keepaliveSeconds);
        this.#refused.delete(publicKey);
      },
      refused: ({ publicKey }, why) => this.#refused.set(publicKey, why),
    });
  }

  /** Waits for what was asked before; nothing can be asked after. */
  async #close(how: string): Promise<void> {
    this.#end ??= `the interface ${this.name} ${how}`;
    this.#unwatch();
    this.#lost = null;
    await this.#last;
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    if (this.#end !== null) return Promise.reject(new DeviceGone(this.#end));
    if (this.#waiting === this.#reach.limits.waitingCallsMax)
      return Promise.reject(new DeviceProblem(`more than ${this.#waiting} calls wait for the interface ${this.name}`));
    this.#waiting += 1;
    const done = this.#last.then(async () => {
      try {
        if (this.#problem !== null) throw new DeviceGone(this.#problem);
        return await work();
      } catch (error) {
        if (error instanceof DeviceGone) this.#lose(error.message);
        throw error;
      } finally {
        this.#waiting -= 1;
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  #lose(problem: string): void {
    if (this.#end !== null) return;
    this.#end = problem;
    this.#problem = problem;
    this.#unwatch();
    this.#lost?.(problem);
  }
}

function keepalivesOf(peers: readonly PeerState[]): Map<string, number> {
  return new Map(peers.map(({ reading, keepaliveSeconds }) => [reading.publicKey, keepaliveSeconds]));
}
