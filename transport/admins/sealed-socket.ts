/**
 * A WebSocket between two admins on which each message is sealed for its place. One that was changed, left out, said
 * twice or out of order ends it, as does silence.
 */
import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../actors/ports.ts';
import { contained } from '../net/streams/contained.ts';
import { LINK_PING_MS, LINK_SILENCE_MS_MAX } from './limits.ts';
import type { MessageSeals } from './message-seals.ts';

/** Who has the socket. */
export interface SealedSocketOwner {
  /** Gets each message, in order. */
  heard(message: Buffer): void;
  /** Each LINK_PING_MS, while the other side is not silent. */
  tick?(): void;
  /** Once. `why` completes "the connection …". */
  closed(why: string): void;
}

/** What it needs. */
export interface SealedSocketPorts {
  readonly seals: MessageSeals;
  readonly clock: Pick<Clock, 'after'>;
  readonly monotonicMs: () => number;
}

/** An open socket. */
export class SealedSocket {
  readonly #socket: WebSocket;
  readonly #ports: SealedSocketPorts;
  readonly #owner: SealedSocketOwner;
  #heardAtMs: number;
  #cancelTick: () => void = () => undefined;
  #isOver = false;

  constructor(socket: WebSocket, ports: SealedSocketPorts, owner: SealedSocketOwner) {
    this.#socket = socket;
    this.#ports = ports;
    this.#owner = owner;
    this.#heardAtMs = ports.monotonicMs();
    socket.on(
      'message',
      contained(
        (data: RawData) => this.#came(data),
        () => this.close('met a fault of this admin'),
      ),
    );
    socket.on('error', (error) => this.close(`failed: ${error.message}`));
    socket.on('close', () => this.close('was closed'));
    this.#tickLater();
  }

  /** Bytes of messages that are not on their way yet. */
  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** `sent`: it is on its way. Never called for a socket that is over. */
  send(message: Uint8Array, sent: () => void = () => undefined): void {
    if (this.#isOver) return;
    this.#socket.send(this.#ports.seals.seal(message), (error) => {
      if (error === undefined || error === null) sent();
    });
  }

  /** Ends it now. What was not sent is lost. */
  close(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTick();
    this.#socket.terminate();
    this.#owner.closed(why);
  }

  #came(data: RawData): void {
    if (this.#isOver) return;
    const message = Buffer.isBuffer(data) ? this.#ports.seals.open(data) : null;
    if (message === null) return this.close('said what was not sealed for it');
    this.#heardAtMs = this.#ports.monotonicMs();
    this.#owner.heard(message);
  }

  #tickLater(): void {
    this.#cancelTick = this.#ports.clock.after(LINK_PING_MS, () => {
      if (this.#ports.monotonicMs() - this.#heardAtMs >= LINK_SILENCE_MS_MAX) return this.close('was silent');
      this.#owner.tick?.();
      this.#tickLater();
    });
  }
}
