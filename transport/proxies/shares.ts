/** Who makes room when a server is full: whoever holds more than the newcomer, and of one holder what nobody uses. */
import type { Socket } from 'node:net';

/** Connections by who holds them. */
export interface Shares {
  /** One more of this holder, which is the `sourceNetwork` of a client. */
  add(socket: Socket, holder: string, nowMs: number): void;
  delete(socket: Socket): void;
  /**
   * The connection that should end for one of this holder; undefined: none, as it holds the most itself and uses all of
   * it.
   */
  giver(holder: string, waiting: Iterable<Socket>, nowMs: number): Socket | undefined;
  /** Looks which connections moved bytes since the last look. */
  look(nowMs: number): void;
}

/** One connection. */
interface Held {
  readonly holder: string;
  bytes: number;
  movedMs: number;
}

/** Nobody holds anything. `idleMsMin`: what was without a byte for so long makes room for others of its own holder. */
export function createShares(idleMsMin: number): Shares {
  const held = new Map<Socket, Held>();
  const counts = new Map<string, number>();

  function heaviest(): readonly [string, number] {
    let most: readonly [string, number] = ['', 0];
    for (const entry of counts) if (entry[1] > most[1]) most = entry;
    return most;
  }

  function longestIdle(of: string): readonly [Socket, Held] | undefined {
    let longest: readonly [Socket, Held] | undefined;
    for (const entry of held)
      if (entry[1].holder === of && (longest === undefined || entry[1].movedMs < longest[1].movedMs)) longest = entry;
    return longest;
  }

  return {
    add(socket, holder, nowMs) {
      held.set(socket, { holder, bytes: bytesOf(socket), movedMs: nowMs });
      counts.set(holder, (counts.get(holder) ?? 0) + 1);
    },
    delete(socket) {
      const holder = held.get(socket)?.holder;
      if (holder === undefined) return;
      held.delete(socket);
      const left = (counts.get(holder) ?? 1) - 1;
      if (left > 0) counts.set(holder, left);
      else counts.delete(holder);
    },
    giver(holder, waiting, nowMs) {
      const own = counts.get(holder) ?? 0;
      // Whoever did not sign in yet goes first, but never for somebody who holds more.
      let ownWaiting: Socket | undefined;
      for (const socket of waiting) {
        const other = held.get(socket)?.holder ?? '';
        if (other === holder) ownWaiting ??= socket;
        else if ((counts.get(other) ?? 0) > own) return socket;
      }
      const [most, count] = heaviest();
      if (count > own + 1) return longestIdle(most)?.[0];
      if (ownWaiting !== undefined) return ownWaiting;
      const idle = own > 0 ? longestIdle(holder) : undefined;
      return idle !== undefined && nowMs - idle[1].movedMs >= idleMsMin ? idle[0] : undefined;
    },
    look(nowMs) {
      for (const [socket, one] of held) {
        const bytes = bytesOf(socket);
        if (bytes === one.bytes) continue;
        one.bytes = bytes;
        one.movedMs = nowMs;
      }
    },
  };
}

function bytesOf({ bytesRead, bytesWritten }: Socket): number {
  return bytesRead + bytesWritten;
}
