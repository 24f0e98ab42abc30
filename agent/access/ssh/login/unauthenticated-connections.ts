/** Connections to the SSH server that are not logged in: bounded in number and time, and the oldest makes room. */
import type { Socket } from 'node:net';
import { AddressLimits } from './address-limits.ts';
import type { SshLimits } from '../limits.ts';

/** Whoever holds connections without logging in must not keep others out. */
export class UnauthenticatedConnections {
  readonly #limits: SshLimits;
  readonly #addresses: AddressLimits;
  /** Each with what is to be done once it is logged in or over. */
  readonly #waiting = new Map<Socket, () => void>();

  constructor(limits: SshLimits) {
    this.#limits = limits;
    this.#addresses = new AddressLimits(limits);
  }

  /** Lets a new connection in, for as long as a login may take. Or says in one line why not. */
  enter(socket: Socket): string | null {
    const left = this.#addresses.enter(addressOf(socket));
    if (typeof left === 'string') return left;
    if (this.#waiting.size >= this.#limits.unauthenticatedMax) this.#cutOldest();
    const late = setTimeout(() => socket.destroy(), this.#limits.loginMsMax);
    this.#waiting.set(socket, () => {
      clearTimeout(late);
      left();
    });
    socket.once('close', () => this.leave(socket));
    return null;
  }

  /** It has logged in, or is over. */
  leave(socket: Socket): void {
    const left = this.#waiting.get(socket);
    this.#waiting.delete(socket);
    left?.();
  }

  /** A wrong password or signature came from there: how long the answer is to wait, in ms. */
  failed(address: string): number {
    return this.#addresses.fail(address);
  }

  #cutOldest(): void {
    const [oldest] = this.#waiting.keys();
    if (oldest === undefined) return;
    this.leave(oldest);
    oldest.destroy();
  }
}

function addressOf(socket: Socket): string {
  return socket.remoteAddress ?? '';
}
