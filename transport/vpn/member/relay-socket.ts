/** A UDP socket on 127.0.0.1, which WireGuard takes for one of its peers. */
import { createSocket, type Socket } from 'node:dgram';
import { HELD_PACKETS_MAX, RELAY_SOCKET_BUFFER_BYTES, SETTLE_BATCH_MS } from './limits.ts';

/** What a relay socket needs. */
export interface RelaySocketPorts {
  /** Where WireGuard listens. */
  readonly wireguardPort: number;
  /** A packet of WireGuard for the peer. */
  readonly send: (packet: Uint8Array) => void;
  /** Stragglers were handed over: WireGuard answers over the relay now. */
  readonly straggled: () => void;
  /** The system has no such socket. Whoever waits for `opened` is told as well. */
  readonly failed: () => void;
}

/** Opened at once. */
export class RelaySocket {
  /** `127.0.0.1:port`. Rejects when the system has no socket left, or lets it not reach WireGuard. */
  readonly opened: Promise<string>;
  readonly #ports: RelaySocketPorts;
  readonly #socket: Socket;
  #endpoint: string | null = null;
  #usedAtMs = performance.now();
  #isHeld = false;
  #settlesUntilMs = 0;
  #held: Uint8Array[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(ports: RelaySocketPorts) {
    this.#ports = ports;
    this.#socket = createSocket('udp4');
    this.opened = this.#open();
    void this.#becomeReady();
    // Refused while the interface is being made again: WireGuard sends again what matters.
    this.#socket.on('error', () => {});
    this.#socket.on('message', (packet) => {
      this.#usedAtMs = performance.now();
      ports.send(packet);
    });
  }

  /** Null: it is not open yet. */
  get endpoint(): string | null {
    return this.#endpoint;
  }

  /** When something went through it last, as `performance.now()`. */
  get usedAtMs(): number {
    return this.#usedAtMs;
  }

  /** A packet of the peer that came by the relay. */
  deliver(packet: Uint8Array): void {
    const nowMs = performance.now();
    this.#usedAtMs = nowMs;
    const isSettling = nowMs < this.#settlesUntilMs;
    if (this.#endpoint !== null && !this.#isHeld && !isSettling) {
      if (this.#held.length > 0) this.#flush();
      this.#socket.send(packet);
      return;
    }
    if (this.#held.length < HELD_PACKETS_MAX) this.#held.push(packet);
    else if (this.#endpoint !== null) this.#flush();
    if (isSettling && !this.#isHeld && this.#timer === null)
      this.#timer = setTimeout(() => this.#straggle(), SETTLE_BATCH_MS);
  }

  /** Packets of the peer wait until `release`: what WireGuard hears meanwhile came directly. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    const hasHeld = this.#held.length > 0;
    this.#flush();
    if (hasHeld && performance.now() < this.#settlesUntilMs) this.#ports.straggled();
  }

  /** For so long packets are stragglers, and handed over in a rhythm. */
  settle(forMs: number): void {
    this.#settlesUntilMs = performance.now() + forMs;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    try {
      this.#socket.close();
    } catch {
      // It was never bound.
    }
  }

  #open(): Promise<string> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, '127.0.0.1', () => {
        grow(socket);
        socket.connect(this.#ports.wireguardPort, '127.0.0.1', (error?: Error) => {
          socket.off('error', reject);
          if (error !== undefined) return reject(error); // told here alone
          resolve(`127.0.0.1:${socket.address().port}`);
        });
      });
    });
  }

  /** Never rejects. */
  async #becomeReady(): Promise<void> {
    try {
      this.#endpoint = await this.opened;
      if (!this.#isHeld) this.#flush();
    } catch {
      this.#ports.failed();
    }
  }

  #straggle(): void {
    this.#timer = null;
    if (this.#isHeld || this.#endpoint === null) return;
    this.#flush();
    this.#ports.straggled();
  }

  #flush(): void {
    const held = this.#held;
    this.#held = [];
    for (const packet of held) this.#socket.send(packet);
  }
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
