/** Between WireGuard and a relay: for each peer a UDP socket on 127.0.0.1, which WireGuard takes for the peer. */
import { createSocket, type Socket } from 'node:dgram';
import { HELD_PACKETS_MAX, SETTLE_BATCH_MS, RELAY_SOCKET_BUFFER_BYTES, RELAY_SOCKET_IDLE_MS } from './limits.ts';

/** What relay sockets need. */
export interface RelaySocketPorts {
  /** Where WireGuard listens. */
  readonly wireguardPort: number;
  /** A packet of WireGuard for this peer. */
  send(publicKey: string, packet: Uint8Array): void;
  /** Stragglers were handed over: WireGuard answers over the relay now. */
  straggled(publicKey: string): void;
}

/** The relay sockets of one member. */
export interface RelaySockets {
  /** `127.0.0.1:port` of the peer's relay socket, made if there is none. Rejects when the system has no socket left. */
  open(publicKey: string): Promise<string>;
  /** Null: it has none now. */
  endpointOf(publicKey: string): string | null;
  /** A packet of the peer that came by the relay. */
  deliver(publicKey: string, packet: Uint8Array): void;
  /** Packets of the peer wait until `release`: what WireGuard hears meanwhile came directly. */
  hold(publicKey: string): void;
  release(publicKey: string): void;
  /** For so long packets are stragglers, and handed over in a rhythm. */
  settle(publicKey: string, forMs: number): void;
  /**
   * Closes the relay sockets that nothing went through for a time, but those of `needed`, and all of peers that are not
   * `known`.
   */
  sweep(known: (publicKey: string) => boolean, needed: (publicKey: string) => boolean): void;
  readonly count: number;
  close(): void;
}

interface RelaySocket {
  readonly opened: Promise<string>;
  readonly socket: Socket;
  endpoint: string | null;
  usedAtMs: number;
  isHeld: boolean;
  settlesUntilMs: number;
  held: Uint8Array[];
  timer: NodeJS.Timeout | null;
}

/** None is open at first. */
export function createRelaySockets(ports: RelaySocketPorts): RelaySockets {
  const relaySockets = new Map<string, RelaySocket>();

  function relaySocketOf(publicKey: string): RelaySocket {
    const known = relaySockets.get(publicKey);
    if (known !== undefined) return known;
    const socket = createSocket('udp4');
    const relaySocket: RelaySocket = {
      socket,
      endpoint: null,
      usedAtMs: performance.now(),
      isHeld: false,
      settlesUntilMs: 0,
      held: [],
      timer: null,
      opened: opened(socket),
    };
    relaySockets.set(publicKey, relaySocket);
    void ready(publicKey, relaySocket);
    // Refused while the interface is being made again: WireGuard sends again what matters.
    socket.on('error', () => {});
    socket.on('message', (packet) => {
      relaySocket.usedAtMs = performance.now();
      ports.send(publicKey, packet);
    });
    return relaySocket;
  }

  /** Never rejects. */
  async function ready(publicKey: string, relaySocket: RelaySocket): Promise<void> {
    try {
      relaySocket.endpoint = await relaySocket.opened;
      if (!relaySocket.isHeld) flush(relaySocket);
    } catch {
      drop(publicKey, relaySocket); // who asked for it is told
    }
  }

  function opened(socket: Socket): Promise<string> {
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, '127.0.0.1', () => {
        grow(socket);
        socket.connect(ports.wireguardPort, '127.0.0.1', () => {
          socket.off('error', reject);
          resolve(`127.0.0.1:${socket.address().port}`);
        });
      });
    });
  }

  function drop(publicKey: string, relaySocket: RelaySocket): void {
    if (relaySockets.get(publicKey) !== relaySocket) return;
    relaySockets.delete(publicKey);
    if (relaySocket.timer !== null) clearTimeout(relaySocket.timer);
    try {
      relaySocket.socket.close();
    } catch {
      // It was never bound.
    }
  }

  function flush(relaySocket: RelaySocket): void {
    const { held } = relaySocket;
    relaySocket.held = [];
    for (const packet of held) relaySocket.socket.send(packet);
  }

  return {
    open: (publicKey) => relaySocketOf(publicKey).opened,
    endpointOf: (publicKey) => relaySockets.get(publicKey)?.endpoint ?? null,
    deliver(publicKey, packet) {
      const relaySocket = relaySocketOf(publicKey);
      const nowMs = performance.now();
      relaySocket.usedAtMs = nowMs;
      const isSettling = nowMs < relaySocket.settlesUntilMs;
      if (relaySocket.endpoint !== null && !relaySocket.isHeld && !isSettling) {
        if (relaySocket.held.length > 0) flush(relaySocket);
        return relaySocket.socket.send(packet);
      }
      if (relaySocket.held.length < HELD_PACKETS_MAX) relaySocket.held.push(packet);
      else if (relaySocket.endpoint !== null) flush(relaySocket);
      if (!isSettling || relaySocket.isHeld || relaySocket.timer !== null) return;
      relaySocket.timer = setTimeout(() => {
        relaySocket.timer = null;
        if (relaySocket.isHeld || relaySocket.endpoint === null) return;
        flush(relaySocket);
        ports.straggled(publicKey);
      }, SETTLE_BATCH_MS);
    },
    hold(publicKey) {
      const relaySocket = relaySockets.get(publicKey);
      if (relaySocket !== undefined) relaySocket.isHeld = true;
    },
    release(publicKey) {
      const relaySocket = relaySockets.get(publicKey);
      if (relaySocket === undefined) return;
      relaySocket.isHeld = false;
      const hasHeld = relaySocket.held.length > 0;
      flush(relaySocket);
      if (hasHeld && performance.now() < relaySocket.settlesUntilMs) ports.straggled(publicKey);
    },
    settle(publicKey, forMs) {
      const relaySocket = relaySockets.get(publicKey);
      if (relaySocket !== undefined) relaySocket.settlesUntilMs = performance.now() + forMs;
    },
    sweep(known, needed) {
      const idleSinceMs = performance.now() - RELAY_SOCKET_IDLE_MS;
      for (const [publicKey, relaySocket] of relaySockets) {
        if (!known(publicKey) || (relaySocket.usedAtMs < idleSinceMs && !needed(publicKey)))
          drop(publicKey, relaySocket);
      }
    },
    get count() {
      return relaySockets.size;
    },
    close() {
      for (const [publicKey, relaySocket] of relaySockets) drop(publicKey, relaySocket);
    },
  };
}

/** The kernel may allow less, and says so by an error on some systems: then the socket has what it has. */
function grow(socket: Socket): void {
  try {
    socket.setRecvBufferSize(RELAY_SOCKET_BUFFER_BYTES);
    socket.setSendBufferSize(RELAY_SOCKET_BUFFER_BYTES);
  } catch {
    // Smaller buffers lose packets under load sooner, which WireGuard's traffic survives.
  }
}
