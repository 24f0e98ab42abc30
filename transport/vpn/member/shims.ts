/** Between WireGuard and a relay: for each peer a UDP socket on 127.0.0.1, which WireGuard takes for the peer. */
import { createSocket, type Socket } from 'node:dgram';
import { HELD_PACKETS_MAX, SETTLE_BATCH_MS, SHIM_BUFFER_BYTES, SHIM_IDLE_MS } from './limits.ts';

/** What shims need. */
export interface ShimPorts {
  /** Where WireGuard listens. */
  readonly wireguardPort: number;
  /** A packet of WireGuard for this peer. */
  send(publicKey: string, packet: Uint8Array): void;
  /** Stragglers were handed over: WireGuard answers over the relay now. */
  straggled(publicKey: string): void;
}

/** The shims of one member. */
export interface Shims {
  /** `127.0.0.1:port` of the peer's shim, made if there is none. Rejects when the system has no socket left. */
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
   * Closes the shims that nothing went through for a time, but those of `needed`, and all of peers that are not
   * `known`.
   */
  sweep(known: (publicKey: string) => boolean, needed: (publicKey: string) => boolean): void;
  readonly count: number;
  close(): void;
}

interface Shim {
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
export function createShims(ports: ShimPorts): Shims {
  const shims = new Map<string, Shim>();

  function shimOf(publicKey: string): Shim {
    const known = shims.get(publicKey);
    if (known !== undefined) return known;
    const socket = createSocket('udp4');
    const shim: Shim = {
      socket,
      endpoint: null,
      usedAtMs: performance.now(),
      isHeld: false,
      settlesUntilMs: 0,
      held: [],
      timer: null,
      opened: opened(socket),
    };
    shims.set(publicKey, shim);
    void ready(publicKey, shim);
    // Refused while the interface is being made again: WireGuard sends again what matters.
    socket.on('error', () => {});
    socket.on('message', (packet) => {
      shim.usedAtMs = performance.now();
      ports.send(publicKey, packet);
    });
    return shim;
  }

  /** Never rejects. */
  async function ready(publicKey: string, shim: Shim): Promise<void> {
    try {
      shim.endpoint = await shim.opened;
      if (!shim.isHeld) flush(shim);
    } catch {
      drop(publicKey, shim); // who asked for it is told
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

  function drop(publicKey: string, shim: Shim): void {
    if (shims.get(publicKey) !== shim) return;
    shims.delete(publicKey);
    if (shim.timer !== null) clearTimeout(shim.timer);
    try {
      shim.socket.close();
    } catch {
      // It was never bound.
    }
  }

  function flush(shim: Shim): void {
    const { held } = shim;
    shim.held = [];
    for (const packet of held) shim.socket.send(packet);
  }

  return {
    open: (publicKey) => shimOf(publicKey).opened,
    endpointOf: (publicKey) => shims.get(publicKey)?.endpoint ?? null,
    deliver(publicKey, packet) {
      const shim = shimOf(publicKey);
      const nowMs = performance.now();
      shim.usedAtMs = nowMs;
      const isSettling = nowMs < shim.settlesUntilMs;
      if (shim.endpoint !== null && !shim.isHeld && !isSettling) {
        if (shim.held.length > 0) flush(shim);
        return shim.socket.send(packet);
      }
      if (shim.held.length < HELD_PACKETS_MAX) shim.held.push(packet);
      else if (shim.endpoint !== null) flush(shim);
      if (!isSettling || shim.isHeld || shim.timer !== null) return;
      shim.timer = setTimeout(() => {
        shim.timer = null;
        if (shim.isHeld || shim.endpoint === null) return;
        flush(shim);
        ports.straggled(publicKey);
      }, SETTLE_BATCH_MS);
    },
    hold(publicKey) {
      const shim = shims.get(publicKey);
      if (shim !== undefined) shim.isHeld = true;
    },
    release(publicKey) {
      const shim = shims.get(publicKey);
      if (shim === undefined) return;
      shim.isHeld = false;
      const hasHeld = shim.held.length > 0;
      flush(shim);
      if (hasHeld && performance.now() < shim.settlesUntilMs) ports.straggled(publicKey);
    },
    settle(publicKey, forMs) {
      const shim = shims.get(publicKey);
      if (shim !== undefined) shim.settlesUntilMs = performance.now() + forMs;
    },
    sweep(known, needed) {
      const idleSinceMs = performance.now() - SHIM_IDLE_MS;
      for (const [publicKey, shim] of shims) {
        if (!known(publicKey) || (shim.usedAtMs < idleSinceMs && !needed(publicKey))) drop(publicKey, shim);
      }
    },
    get count() {
      return shims.size;
    },
    close() {
      for (const [publicKey, shim] of shims) drop(publicKey, shim);
    },
  };
}

/** The kernel may allow less, and says so by an error on some systems: then the socket has what it has. */
function grow(socket: Socket): void {
  try {
    socket.setRecvBufferSize(SHIM_BUFFER_BYTES);
    socket.setSendBufferSize(SHIM_BUFFER_BYTES);
  } catch {
    // Smaller buffers lose packets under load sooner, which WireGuard's traffic survives.
  }
}
