/** One connection to a relay of the public DERP protocol, as whoever sends packets through it sees it. */

/** Packets of at most so many bytes. Source: the protocol, MaxPacketSize. */
export const DERP_PACKET_BYTES_MAX = 65_536;

/** A live connection, or one that is being made again. Keys are base64, as `wg` writes them. */
export interface DerpConnection {
  /** Whether packets go out now. */
  readonly isOpen: boolean;
  /**
   * Hands a packet to the relay. False: it was dropped, since nothing is connected or too much waits already. Nothing
   * is ever queued beyond the limit.
   */
  send(publicKey: string, packet: Uint8Array): boolean;
  /** Never connects again. */
  close(): void;
}

/** What a connection tells its owner. */
export interface DerpOwner {
  /** A packet that the relay says is from the owner of this key. */
  received(publicKey: string, packet: Uint8Array): void;
  opened(): void;
  /**
   * It was lost and is made again by itself; the problem in one sentence. Also when no relay of the region was reached.
   */
  lost(problem: string): void;
  /**
   * The relay says what is wrong with this connection, for example that another one has the same key; empty: no more.
   */
  warned?(problem: string): void;
}
