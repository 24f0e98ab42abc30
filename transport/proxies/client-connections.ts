/** The connections of one server: how many there may be, and how long each may take to show that it may come in. */
import type { Socket } from 'node:net';
import { sourceNetwork } from '../net/source-networks.ts';
import { joinClock } from '../net/streams/join.ts';
import { reset } from '../net/streams/reset.ts';
import type { ProxyCounters } from './counters.ts';
import { createDeadlines, type Deadlines } from './deadlines.ts';
import { FAREWELL_MS_MAX, SHARES_LOOK_MS, type ProxyLimits } from './limits.ts';
import { clientAddress } from './ports.ts';
import { Shares } from './shares.ts';

/** Connections of one server. */
export class ClientConnections {
  readonly #connectionsMax: number;
  readonly #lookMs: number;
  readonly #counters: ProxyCounters;
  readonly #open = new Set<Socket>();
  readonly #shares: Shares<Socket>;
  /** Those that were not admitted yet. */
  readonly #waiting: Deadlines<Socket>;
  /** Those that read a last word. */
  readonly #leaving = createDeadlines<Socket>(FAREWELL_MS_MAX, reset);
  #isLooking = false;

  /** `late` is called with a connection whose time for the handshake is over; it must dismiss it. */
  constructor(limits: ProxyLimits, counters: ProxyCounters, late: (socket: Socket) => void) {
    this.#connectionsMax = limits.connectionsMax;
    this.#lookMs = Math.min(SHARES_LOOK_MS, limits.idleGivesWayMs / 4);
    this.#counters = counters;
    this.#shares = new Shares(limits.idleGivesWayMs);
    this.#waiting = createDeadlines<Socket>(limits.handshakeMsMax, (socket) => {
      counters.blocked.slow += 1;
      late(socket);
    });
  }

  get open(): number {
    return this.#open.size;
  }

  /**
   * A connection came. When there are too many, one makes room: the oldest that was not admitted yet, then one of
   * whoever holds the most, then one of its own address that nobody used for long. Where all of them are in use by its
   * own address, it is cut itself, and the answer is false.
   */
  enter(socket: Socket): boolean {
    this.#counters.connections += 1;
    socket.on('error', ignore);
    const holder = sourceNetwork(clientAddress(socket));
    const nowMs = joinClock.nowMs();
    if (this.#open.size >= this.#connectionsMax && !this.#makeRoom(holder, nowMs)) {
      reset(socket);
      return false;
    }
    this.#open.add(socket);
    this.#shares.add(socket, holder, nowMs);
    if (!this.#isLooking) this.#lookLater();
    this.#waiting.add(socket);
    socket.once('close', () => this.#gone(socket));
    return true;
  }

  /** It may come in: no time limit of a handshake any more. */
  admit(socket: Socket): void {
    this.#waiting.delete(socket);
  }

  /** Says a last word, which a client has a moment to read. */
  dismiss(socket: Socket, lastWord: Buffer | string): void {
    this.#waiting.delete(socket);
    if (socket.destroyed) return;
    this.#leaving.add(socket);
    socket.resume(); // what is not read would turn the end into a reset, and the last word would be lost
    socket.end(lastWord);
  }

  /** Cuts those that were not admitted. */
  cutWaiting(): void {
    for (let socket = this.#waiting.oldest(); socket !== undefined; socket = this.#waiting.oldest()) {
      this.#waiting.delete(socket);
      reset(socket);
    }
  }

  cutAll(): void {
    for (const socket of this.#open) reset(socket);
  }

  #makeRoom(holder: string, nowMs: number): boolean {
    this.#counters.blocked.crowded += 1;
    const giver = this.#shares.giver(holder, this.#waiting.all(), nowMs);
    if (giver === undefined) return false;
    reset(giver);
    this.#gone(giver);
    return true;
  }

  #gone(socket: Socket): void {
    this.#open.delete(socket);
    this.#shares.delete(socket);
    this.#waiting.delete(socket);
    this.#leaving.delete(socket);
  }

  #lookLater(): void {
    this.#isLooking = true;
    joinClock.after(this.#lookMs, () => {
      this.#shares.look(joinClock.nowMs());
      this.#isLooking = false;
      if (this.#open.size > 0) this.#lookLater();
    });
  }
}

function ignore(): void {}
