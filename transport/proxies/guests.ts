/** The connections of one server: how many there may be, and how long each may take to show that it may come in. */
import type { Socket } from 'node:net';
import { sourceNetwork } from '../net/source-networks.ts';
import { reset } from '../net/streams/reset.ts';
import type { ProxyCounters } from './counters.ts';
import { createDeadlines } from './deadlines.ts';
import { joinClock } from '../net/streams/join.ts';
import { FAREWELL_MS_MAX, SHARES_LOOK_MS, type ProxyLimits } from './limits.ts';
import { clientAddress } from './ports.ts';
import { createShares } from './shares.ts';

/** Connections of one server. */
export interface Guests {
  /**
   * A connection came. When there are too many, one makes room: the oldest that was not admitted yet, then one of
   * whoever holds the most, then one of its own address that nobody used for long. Where all of them are in use by its
   * own address, it is cut itself, and the answer is false.
   */
  enter(socket: Socket): boolean;
  /** It may come in: no time limit of a handshake any more. */
  admit(socket: Socket): void;
  /** Says a last word, which a client has a moment to read. */
  dismiss(socket: Socket, lastWord: Buffer | string): void;
  /** Cuts those that were not admitted. */
  cutWaiting(): void;
  cutAll(): void;
  readonly open: number;
}

/** `late` is called with a connection whose time for the handshake is over; it must dismiss it. */
export function createGuests(limits: ProxyLimits, counters: ProxyCounters, late: (socket: Socket) => void): Guests {
  const open = new Set<Socket>();
  const shares = createShares(limits.idleGivesWayMs);
  const lookMs = Math.min(SHARES_LOOK_MS, limits.idleGivesWayMs / 4);
  let isLooking = false;
  const waiting = createDeadlines<Socket>(limits.handshakeMsMax, (socket) => {
    counters.blocked.slow += 1;
    late(socket);
  });
  const leaving = createDeadlines<Socket>(FAREWELL_MS_MAX, reset);

  function gone(this: Socket): void {
    open.delete(this);
    shares.delete(this);
    waiting.delete(this);
    leaving.delete(this);
  }

  function look(): void {
    shares.look(joinClock.nowMs());
    isLooking = open.size > 0;
    if (isLooking) joinClock.after(lookMs, look);
  }

  return {
    enter(socket) {
      counters.connections += 1;
      socket.on('error', ignore);
      const holder = sourceNetwork(clientAddress(socket));
      const nowMs = joinClock.nowMs();
      if (open.size >= limits.connectionsMax) {
        counters.blocked.crowded += 1;
        shares.look(nowMs);
        const giver = shares.giver(holder, waiting.all(), nowMs);
        reset(giver ?? socket);
        if (giver === undefined) return false;
        gone.call(giver);
      }
      open.add(socket);
      shares.add(socket, holder, nowMs);
      if (!isLooking) {
        isLooking = true;
        joinClock.after(lookMs, look);
      }
      waiting.add(socket);
      socket.once('close', gone);
      return true;
    },
    admit: (socket) => waiting.delete(socket),
    dismiss(socket, lastWord) {
      waiting.delete(socket);
      if (socket.destroyed) return;
      leaving.add(socket);
      socket.resume(); // what is not read would turn the end into a reset, and the last word would be lost
      socket.end(lastWord);
    },
    cutWaiting() {
      for (let socket = waiting.oldest(); socket !== undefined; socket = waiting.oldest()) {
        waiting.delete(socket);
        reset(socket);
      }
    },
    cutAll() {
      for (const socket of open) reset(socket);
    },
    get open() {
      return open.size;
    },
  };
}

function ignore(): void {}
