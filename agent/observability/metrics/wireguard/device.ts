/**
 * What is told of a WireGuard interface. Keys of its own, addresses and endpoints are not among it: they are not even
 * kept while it is read (R3, E4).
 */

/** Another end of a tunnel. */
export interface WireguardPeer {
  /** Base64, as `wg` writes it. */
  readonly publicKey: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Unix time of the last handshake in seconds; 0: never. */
  readonly handshakeSeconds: number;
}

/** What was read of one interface. `gone`: it ended meanwhile, so there is none. */
export type DeviceReading =
  | { readonly kind: 'read'; readonly peers: readonly WireguardPeer[] }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'gone' };

/** Reading failed, for this reason. */
export function failedReading(reason: string): Extract<DeviceReading, { kind: 'failed' }> {
  return { kind: 'failed', reason };
}

/** What reading may cost. */
export interface WireguardLimits {
  /** Interfaces of one scrape; others are left out. Sockets that nobody listens on any more count too. */
  readonly interfacesMax: number;
  /** Network interfaces that are looked at to find those of WireGuard. */
  readonly lookedAtMax: number;
  /** Peers of all interfaces. One that goes beyond counts as not readable. */
  readonly peersMax: number;
  /** One answer, in bytes. */
  readonly answerBytesMax: number;
  /** One line of an answer, in bytes: the longest is a key of 64 digits with its name. */
  readonly lineBytesMax: number;
  /** One interface, in ms. */
  readonly readMsMax: number;
}

/**
 * The limits of an agent. Source: the advised size of a cluster is 100 nodes (docs/limits.md); a peer takes some 400
 * bytes of an answer.
 */
export const WIREGUARD_LIMITS: WireguardLimits = {
  interfacesMax: 32,
  lookedAtMax: 1_024,
  peersMax: 2_048,
  answerBytesMax: 4_194_304,
  lineBytesMax: 1_024,
  readMsMax: 2_000,
};
