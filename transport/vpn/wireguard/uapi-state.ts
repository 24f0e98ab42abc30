/** What the socket of an interface says of it, read line by line. */
import { keyOfHex } from './keys.ts';
import type { InterfaceState } from './programmed-device.ts';
import type { TakeLine } from './uapi.ts';

/** A peer as far as it was read. */
interface Draft {
  readonly publicKey: string;
  readonly allowedIps: string[];
  endpoint: string | null;
  handshakeSeconds: number;
  handshakeNanoseconds: number;
  receivedBytes: number;
  sentBytes: number;
  keepaliveSeconds: number;
}

/** Lines with a number, and what it is. */
const NUMBERS: Readonly<
  Record<string, 'handshakeSeconds' | 'handshakeNanoseconds' | 'receivedBytes' | 'sentBytes' | 'keepaliveSeconds'>
> = {
  last_handshake_time_sec: 'handshakeSeconds',
  last_handshake_time_nsec: 'handshakeNanoseconds',
  rx_bytes: 'receivedBytes',
  tx_bytes: 'sentBytes',
  persistent_keepalive_interval: 'keepaliveSeconds',
};

const MS_PER_SECOND = 1_000;
const NANOSECONDS_PER_MS = 1_000_000;

/** Reads one answer to `get`. Lines that it does not know are not for it. */
export class StateReader {
  readonly #peersMax: number;
  readonly #peers: Draft[] = [];
  #privateKey: string | null = null;
  #listenPort: number | null = null;

  constructor(peersMax: number) {
    this.#peersMax = peersMax;
  }

  /** Takes a line; what is returned is why it is none. */
  readonly take: TakeLine = (name, value) => {
    const number = NUMBERS[name];
    if (number !== undefined)
      return this.#withPeer(/^\d{1,20}$/u.test(value), (peer) => {
        peer[number] = Number(value);
      });
    switch (name) {
      case 'private_key': {
        this.#privateKey = keyOfHex(value);
        return null;
      }
      case 'listen_port': {
        this.#listenPort = Number(value) || null;
        return null;
      }
      case 'public_key':
        return this.#begin(keyOfHex(value));
      case 'endpoint':
        return this.#withPeer(true, (peer) => {
          peer.endpoint = value;
        });
      case 'allowed_ip':
        return this.#withPeer(true, (peer) => {
          peer.allowedIps.push(value);
        });
      default:
        return null;
    }
  };

  /** What was read; whole once the answer is. */
  state(): InterfaceState {
    return {
      privateKey: this.#privateKey,
      listenPort: this.#listenPort,
      peers: this.#peers.map(({ handshakeSeconds, handshakeNanoseconds, keepaliveSeconds, ...peer }) => {
        const handshakeAtMs = handshakeSeconds * MS_PER_SECOND + Math.floor(handshakeNanoseconds / NANOSECONDS_PER_MS);
        return { reading: { ...peer, handshakeAtMs: handshakeAtMs === 0 ? null : handshakeAtMs }, keepaliveSeconds };
      }),
    };
  }

  #begin(publicKey: string | null): string | null {
    if (publicKey === null) return 'its answer has a key that is none';
    if (this.#peers.length === this.#peersMax) return `it has more than ${this.#peersMax} peers`;
    this.#peers.push({
      publicKey,
      allowedIps: [],
      endpoint: null,
      handshakeSeconds: 0,
      handshakeNanoseconds: 0,
      receivedBytes: 0,
      sentBytes: 0,
      keepaliveSeconds: 0,
    });
    return null;
  }

  #withPeer(isSound: boolean, change: (peer: Draft) => void): string | null {
    const peer = this.#peers.at(-1);
    if (peer === undefined || !isSound) return 'its answer is no such answer';
    change(peer);
    return null;
  }
}
