/** Between WireGuard and a relay: for each peer a socket, which WireGuard takes for the peer. */
import { RELAY_SOCKET_IDLE_MS } from './limits.ts';
import { RelaySocket } from './relay-socket.ts';

/** What relay sockets need. */
export interface RelaySocketsPorts {
  /** Where WireGuard listens. */
  readonly wireguardPort: number;
  /** A packet of WireGuard for this peer. */
  send(publicKey: string, packet: Uint8Array): void;
  /** Stragglers were handed over: WireGuard answers over the relay now. */
  straggled(publicKey: string): void;
}

/** The relay sockets of one member. None is open at first. */
export class RelaySockets {
  readonly #ports: RelaySocketsPorts;
  readonly #sockets = new Map<string, RelaySocket>();

  constructor(ports: RelaySocketsPorts) {
    this.#ports = ports;
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** `127.0.0.1:port` of the peer's relay socket, made if there is none. Rejects when the system has no socket left. */
  open(publicKey: string): Promise<string> {
    return this.#of(publicKey).opened;
  }

  /** Null: it has none now. */
  endpointOf(publicKey: string): string | null {
    return this.#sockets.get(publicKey)?.endpoint ?? null;
  }

  /** A packet of the peer that came by the relay. */
  deliver(publicKey: string, packet: Uint8Array): void {
    this.#of(publicKey).deliver(packet);
  }

  /** Packets of the peer wait until `release`: what WireGuard hears meanwhile came directly. */
  hold(publicKey: string): void {
    this.#sockets.get(publicKey)?.hold();
  }

  release(publicKey: string): void {
    this.#sockets.get(publicKey)?.release();
  }

  /** For so long packets are stragglers, and handed over in a rhythm. */
  settle(publicKey: string, forMs: number): void {
    this.#sockets.get(publicKey)?.settle(forMs);
  }

  /**
   * Closes the relay sockets that nothing went through for a time, but those of `needed`, and all of peers that are not
   * `known`.
   */
  sweep(known: (publicKey: string) => boolean, needed: (publicKey: string) => boolean): void {
    const idleSinceMs = performance.now() - RELAY_SOCKET_IDLE_MS;
    for (const [publicKey, socket] of this.#sockets)
      if (!known(publicKey) || (socket.usedAtMs < idleSinceMs && !needed(publicKey))) this.#drop(publicKey, socket);
  }

  close(): void {
    for (const [publicKey, socket] of this.#sockets) this.#drop(publicKey, socket);
  }

  #of(publicKey: string): RelaySocket {
    const known = this.#sockets.get(publicKey);
    if (known !== undefined) return known;
    const socket: RelaySocket = new RelaySocket({
      wireguardPort: this.#ports.wireguardPort,
      send: (packet) => this.#ports.send(publicKey, packet),
      straggled: () => this.#ports.straggled(publicKey),
      failed: () => this.#drop(publicKey, socket),
    });
    this.#sockets.set(publicKey, socket);
    return socket;
  }

  /** Once: another may have its place. */
  #drop(publicKey: string, socket: RelaySocket): void {
    if (this.#sockets.get(publicKey) !== socket) return;
    this.#sockets.delete(publicKey);
    socket.close();
  }
}
