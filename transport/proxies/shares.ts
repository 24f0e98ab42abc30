/** Who makes room when a server is full: whoever holds more than the newcomer, and of one holder what nobody uses. */
import type { Socket } from 'node:net';
import { SHARES_LOOK_MS_MIN } from './limits.ts';

/** A connection that counts its bytes. */
type Counting = Pick<Socket, 'bytesRead' | 'bytesWritten'>;

/** One connection. */
interface Held {
  readonly holder: string;
  bytes: number;
  movedMs: number;
}

/** Connections by who holds them. None at first. */
export class Shares<Connection extends Counting> {
  readonly #idleMsMin: number;
  readonly #lookMsMin: number;
  readonly #held = new Map<Connection, Held>();
  readonly #counts = new Map<string, number>();
  #lookedMs = -Infinity;

  /** What was without a byte for `idleMsMin` makes room for others of its own holder. */
  constructor(idleMsMin: number) {
    this.#idleMsMin = idleMsMin;
    this.#lookMsMin = Math.min(SHARES_LOOK_MS_MIN, idleMsMin / 4);
  }

  /** One more of this holder, which is the `sourceNetwork` of a client. */
  add(connection: Connection, holder: string, nowMs: number): void {
    this.#held.set(connection, { holder, bytes: bytesOf(connection), movedMs: nowMs });
    this.#counts.set(holder, (this.#counts.get(holder) ?? 0) + 1);
  }

  delete(connection: Connection): void {
    const holder = this.#held.get(connection)?.holder;
    if (holder === undefined) return;
    this.#held.delete(connection);
    const left = (this.#counts.get(holder) ?? 1) - 1;
    if (left > 0) this.#counts.set(holder, left);
    else this.#counts.delete(holder);
  }

  /**
   * The connection that should end for one of this holder; undefined: none, as it holds the most itself and uses all of
   * it. Looks first, unless the last look was just now: a crowd of newcomers costs no more than one.
   */
  giver(holder: string, waiting: Iterable<Connection>, nowMs: number): Connection | undefined {
    if (nowMs - this.#lookedMs >= this.#lookMsMin) this.look(nowMs);
    const own = this.#counts.get(holder) ?? 0;
    // Whoever did not sign in yet goes first, but never for somebody who holds more.
    let ownWaiting: Connection | undefined;
    for (const connection of waiting) {
      const other = this.#held.get(connection)?.holder ?? '';
      if (other === holder) ownWaiting ??= connection;
      else if ((this.#counts.get(other) ?? 0) > own) return connection;
    }
    const [most, count] = this.#heaviest();
    if (count > own + 1) return this.#longestIdle(most)?.[0];
    if (ownWaiting !== undefined) return ownWaiting;
    const idle = own > 0 ? this.#longestIdle(holder) : undefined;
    return idle !== undefined && nowMs - idle[1].movedMs >= this.#idleMsMin ? idle[0] : undefined;
  }

  /** Looks which connections moved bytes since the last look. */
  look(nowMs: number): void {
    this.#lookedMs = nowMs;
    for (const [connection, one] of this.#held) {
      const bytes = bytesOf(connection);
      if (bytes === one.bytes) continue;
      one.bytes = bytes;
      one.movedMs = nowMs;
    }
  }

  #heaviest(): readonly [string, number] {
    let most: readonly [string, number] = ['', 0];
    for (const entry of this.#counts) if (entry[1] > most[1]) most = entry;
    return most;
  }

  #longestIdle(of: string): readonly [Connection, Held] | undefined {
    let longest: readonly [Connection, Held] | undefined;
    for (const entry of this.#held)
      if (entry[1].holder === of && (longest === undefined || entry[1].movedMs < longest[1].movedMs)) longest = entry;
    return longest;
  }
}

function bytesOf({ bytesRead, bytesWritten }: Counting): number {
  return bytesRead + bytesWritten;
}
