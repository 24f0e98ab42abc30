/** What the console needs of the rows: its sessions. Ages are by the database's clock (O2). */
import type { ConsoleSessionResource } from '../../actors/resources/console-session.ts';

/** A session as it is stored. Its token is nowhere, only the hash of it. */
export interface StoredSession {
  readonly id: string;
  /** SHA-256 of the token. */
  readonly tokenHash: Uint8Array;
  /** Shows that whoever signed in knew a key: `Gate.prove` over the hash of the token. */
  readonly keyProof: Uint8Array;
  /** From where, and with which browser, somebody signed in. */
  readonly address: string;
  readonly userAgent: string;
  /** ISO 8601. */
  readonly insertedAt: string;
  readonly lastUsedAt: string;
  /** Since it was made, in ms. */
  readonly ageMs: number;
  /** Since it was last used, in ms. */
  readonly idleMs: number;
}

/** What is stored of a new one. */
export type NewSession = Pick<StoredSession, 'id' | 'tokenHash' | 'keyProof' | 'address' | 'userAgent'>;

/** Sessions as rows. Every call rejects with DatabaseUnavailable when the database is away. */
export interface SessionRows {
  /** Stores one; removes those that are over, and beyond `max` those that were longest unused. */
  create(session: NewSession, limits: SessionLimits): Promise<void>;
  /** Those of these tokens, over or not. */
  find(tokenHashes: readonly Uint8Array[]): Promise<readonly StoredSession[]>;
  /**
   * Stands for all that are there and not over: another one whenever one more is, or one less. Asked twice a second
   * while pages are open, so it costs next to nothing.
   */
  mark(limits: Pick<SessionLimits, 'idleMsMax' | 'ageMsMax'>): Promise<string>;
  /** Which of these are there and not over. */
  living(ids: readonly string[], limits: Pick<SessionLimits, 'idleMsMax' | 'ageMsMax'>): Promise<readonly string[]>;
  /** It was used now. */
  touch(id: string): Promise<void>;
  /** All of them, the last one used first. */
  list(): Promise<readonly StoredSession[]>;
  /** False: there is none. */
  remove(id: string): Promise<boolean>;
}

/** The sessions of all admins that share the database, without their secrets. */
export interface ConsoleSessions {
  /** Those that live and whose key is one here, the last one used first. */
  list(): Promise<readonly ConsoleSessionResource[]>;
  /** Ends it, at every admin. False: there is none. */
  end(id: string): Promise<boolean>;
}

/** When a session is over, and how many there may be. */
export interface SessionLimits {
  readonly idleMsMax: number;
  readonly ageMsMax: number;
  readonly sessionsMax: number;
}
