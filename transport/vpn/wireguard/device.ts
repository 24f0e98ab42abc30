/**
 * A WireGuard interface of this machine, whoever runs it: the kernel, or wireguard-go where the kernel has no
 * WireGuard.
 */

/** Another end of the interface. Keys are base64, as `wg` writes them. */
export interface DevicePeer {
  readonly publicKey: string;
  /** Ranges that are routed to it and from which it may speak, such as `100.64.0.7/32`. */
  readonly allowedIps: readonly string[];
  /** `198.51.100.7:51820`, `[2001:db8::7]:51820`; null: wherever it speaks from. */
  readonly endpoint: string | null;
  /** Seconds between packets that keep a NAT open; 0: none. */
  readonly keepaliveSeconds: number;
}

/** What the interface knows of a peer. */
export interface PeerReading {
  readonly publicKey: string;
  /** Where it was heard from last, or is spoken to. */
  readonly endpoint: string | null;
  readonly allowedIps: readonly string[];
  /** Unix time in ms; null: never. */
  readonly handshakeAtMs: number | null;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What a device is asked to be. */
export interface DeviceOptions {
  /** At most 15 characters, and its own on the whole machine, over all network namespaces. */
  readonly name: string;
  /** Base64. Given to the device alone, never to a command line. */
  readonly privateKey: string;
  /** UDP; the device is on no other. */
  readonly listenPort: number;
  readonly mtu: number;
}

/**
 * What an interface was asked and did not take, each with why in a few words without the value; everything else stands
 * (R4).
 */
export interface DeviceRefusals {
  /** By public key. */
  readonly peers: ReadonlyMap<string, string>;
  /** By address with its prefix length. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** How it runs. */
export type DeviceBackend = 'kernel' | 'user-space';

/**
 * One interface. Calls are carried out one after another, in order; each rejects with one sentence for an operator,
 * without keys, when the system refuses.
 */
export interface WireguardDevice {
  readonly name: string;
  readonly backend: DeviceBackend;
  readonly listenPort: number;
  /**
   * Whether the interface was there already with this key and port and was taken over with its peers, so that traffic
   * went on.
   */
  readonly isAdopted: boolean;
  /** Sessions begin anew under the new key. */
  setPrivateKey(privateKey: string): Promise<void>;
  /**
   * Exactly these addresses with their prefix lengths, such as `100.64.0.5/24`, which make the routes; others go. One
   * that is refused is left out alone.
   */
  setAddresses(cidrs: readonly string[]): Promise<void>;
  setMtu(mtu: number): Promise<void>;
  /**
   * Packets to these addresses are at most so many bytes long, those to all others as long as the MTU of the interface
   * says. Resolves with the addresses that the system refused.
   */
  setPathMtus(mtus: ReadonlyMap<string, number>): Promise<ReadonlySet<string>>;
  /**
   * The longest packets that the ways of this machine to these addresses take, in bytes, as far as the machine knows;
   * without those to which it knows no way.
   */
  readRooms(addresses: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Removes the peers of `removed`, by themselves, so that nothing can stop it; then adds or changes those of `set`. An
   * endpoint of null leaves the one that is there.
   * Peers not named stay. One that is refused is left out alone.
   */
  apply(change: { readonly set: readonly DevicePeer[]; readonly removed: readonly string[] }): Promise<void>;
  /**
   * Speaks to a peer at this endpoint from now on; `isKicked`: and at once, by a keepalive. Without a session that
   * begins a handshake instead, at most one in 5 s (WireGuard's REKEY_TIMEOUT), so that further wakes send nothing. A
   * peer that is not there is left out, as is one that is refused.
   */
  setEndpoints(
    endpoints: readonly { readonly publicKey: string; readonly endpoint: string; readonly isSentNow: boolean }[],
  ): Promise<void>;
  read(): Promise<readonly PeerReading[]>;
  /** What is left out now. Peers that were removed or set since, and addresses of an earlier call, are not in it. */
  refusals(): DeviceRefusals;
  /**
   * Called once when the interface is gone although nobody asked for it: at once in user space, at the next call in the
   * kernel.
   */
  onLost(lost: (problem: string) => void): void;
  /** Lets go of it; the interface and its traffic stay. */
  release(): Promise<void>;
  /** Removes the interface with its routes. */
  remove(): Promise<void>;
}

/** A device, or why there can be none, in one sentence: no root, no TUN, no program. */
export type OpenedDevice =
  | { readonly ok: true; readonly device: WireguardDevice }
  | { readonly ok: false; readonly problem: string };
