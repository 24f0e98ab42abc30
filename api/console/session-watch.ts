/** Looks after the connections of pages: each is cut when its session is over, or while the database is away. */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { LOOKS_MISSED_MAX, SESSION_LOOK_MS } from './limits.ts';
import type { StoredSession } from './ports.ts';
import type { Sessions } from './sessions.ts';

/** Close code of a connection whose session is over: as of an agent whose credential was revoked. */
export const SESSION_OVER_CLOSE = 4_003;

/** Close code while the database is away: come again. Source: the IANA registry of close codes of RFC 6455. */
export const STANDSTILL_CLOSE = 1_013;

/** A connection that can be cut. */
export interface Connection {
  close(code: number, reason: string): void;
  once(event: 'close', listener: () => void): unknown;
}

/** What it looks with. */
interface WatchKit {
  readonly sessions: Pick<Sessions, 'mark' | 'living'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
}

/**
 * Looks at the sessions of those who are connected, all together, and cuts those whose is over. What a look costs with
 * 1,000 of them is their ids, there and back, so it asks first whether any session began or ended since the last one.
 * Where no look is answered for a while, feeds stand still too: then those who are fed by them are cut, and say so.
 */
export class SessionWatch {
  readonly #kit: WatchKit;
  /** Connected since the last look: one may have begun and ended since then. */
  readonly #unseen = new Set<string>();
  /** Of the last look. */
  #mark: string | null = null;
  readonly #connections = new Map<string, { readonly stored: StoredSession; readonly open: Set<Connection> }>();
  /** Those that show what is stored, with a session or where none is asked for. */
  readonly #fed = new Set<Connection>();
  #cancel: (() => void) | null = null;
  #isLooking = false;
  /** Turns since a look was answered. Not a time: an admin that stood still itself has missed one. */
  #missed = 0;
  #isStill = false;

  constructor(kit: WatchKit) {
    this.#kit = kit;
  }

  /** Whether the database has not answered for a while. */
  get isStill(): boolean {
    return this.#isStill;
  }

  add(
    connection: Connection,
    { session, isFed }: { readonly session: StoredSession | null; readonly isFed: boolean },
  ): void {
    if (session !== null) this.#follow(session, connection);
    if (isFed) {
      this.#fed.add(connection);
      connection.once('close', () => this.#fed.delete(connection));
    }
    this.#later();
  }

  stop(): void {
    this.#cancel?.();
    this.#connections.clear();
    this.#unseen.clear();
    this.#fed.clear();
    this.#isStill = false;
  }

  #follow(stored: StoredSession, connection: Connection): void {
    const one = this.#connections.get(stored.id) ?? { stored, open: new Set<Connection>() };
    this.#connections.set(stored.id, one);
    one.open.add(connection);
    this.#unseen.add(stored.id);
    connection.once('close', () => {
      one.open.delete(connection);
      if (one.open.size > 0) return;
      this.#connections.delete(stored.id);
      this.#unseen.delete(stored.id);
    });
  }

  /** While nobody is let in, only a look finds that the database is back. */
  #later(): void {
    if (this.#connections.size === 0 && this.#fed.size === 0 && !this.#isStill) return;
    this.#cancel ??= this.#kit.clock.after(SESSION_LOOK_MS, () => {
      this.#cancel = null;
      if (this.#missed >= LOOKS_MISSED_MAX) this.#standStill();
      this.#missed += 1;
      if (!this.#isLooking) void this.#look();
      this.#later();
    });
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      // asked first: whatever ends after it makes the next one another
      const mark = await this.#kit.sessions.mark();
      const ids = mark === this.#mark ? [...this.#unseen] : [...this.#connections.keys()];
      await this.#cutThoseOver(ids);
      this.#mark = mark;
      this.#missed = 0;
      this.#isStill = false;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) {
        this.#missed = 0; // that is no sign of the database
        this.#kit.log.error({ error }, 'sessions of the console could not be looked at');
      }
    }
    this.#isLooking = false;
  }

  async #cutThoseOver(ids: readonly string[]): Promise<void> {
    const looked = ids.map((id) => this.#connections.get(id)).filter((one) => one !== undefined);
    const living = looked.length === 0 ? NONE : await this.#kit.sessions.living(looked.map(({ stored }) => stored));
    for (const id of ids) this.#unseen.delete(id);
    for (const { stored, open } of looked)
      if (!living.has(stored.id))
        for (const connection of open) connection.close(SESSION_OVER_CLOSE, 'this session is over: sign in again');
  }

  #standStill(): void {
    this.#isStill = true;
    for (const connection of this.#fed) connection.close(STANDSTILL_CLOSE, 'the database is away: come again');
    this.#fed.clear();
  }
}

const NONE: ReadonlySet<string> = new Set();
