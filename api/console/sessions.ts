/** Sessions of the console: a key is shown once, and stands in the session from then on. */
import { createHash, randomBytes } from 'node:crypto';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { ConsoleSessionResource } from '../../actors/resources/console-session.ts';
import type { ApiPrincipal, Caller, Gate } from '../principals.ts';
import {
  SESSION_AGE_MS_MAX,
  SESSION_AGES,
  SESSION_IDLE_MS_MAX,
  SESSION_TOKEN_BYTES,
  SESSIONS_MAX,
  USER_AGENT_CHARACTERS_MAX,
} from './limits.ts';
import type { ConsoleSessions, SessionRows, StoredSession } from './ports.ts';

/** When sessions are over. */
const LIMITS = { ...SESSION_AGES, sessionsMax: SESSIONS_MAX };

/** A session that lives, and what its key reaches now. */
export interface LiveSession {
  readonly stored: StoredSession;
  readonly principal: ApiPrincipal;
}

/** Where somebody signs in. */
export interface SignIn {
  readonly caller: Caller;
  readonly userAgent: string | undefined;
}

/** What sessions are made with. */
export interface SessionsKit {
  readonly rows: SessionRows;
  readonly gate: Pick<Gate, 'admit' | 'prove' | 'proven'>;
  readonly newId: () => string;
}

/** The sessions of all admins that share the database: each of them knows all. */
export class Sessions {
  readonly #kit: SessionsKit;

  constructor(kit: SessionsKit) {
    this.#kit = kit;
  }

  /** Makes a session for whoever shows a key that reaches the API. The token is told this once. */
  async signIn({ caller, userAgent = '' }: SignIn): Promise<Result<{ readonly token: string; readonly id: string }>> {
    const { rows, gate, newId } = this.#kit;
    const admitted = gate.admit('api', caller);
    if (!admitted.ok) return admitted;
    if (caller.credential === null || admitted.value === 'anonymous') return NO_KEY_ASKED;
    const token = randomBytes(SESSION_TOKEN_BYTES).toString('base64url');
    const tokenHash = hashOf(token);
    const id = newId();
    await rows.create(
      {
        id,
        tokenHash,
        keyProof: gate.prove(caller.credential, tokenHash),
        address: caller.address,
        userAgent: printable(userAgent),
      },
      LIMITS,
    );
    return ok({ token, id });
  }

  /** The session of the first of these tokens that has one that lives. Null: there is none. */
  async find(tokens: readonly string[]): Promise<LiveSession | null> {
    if (tokens.length === 0) return null;
    const found = await this.#kit.rows.find(tokens.map(hashOf));
    return found.map((stored) => living(stored, this.#kit.gate.proven)).find((session) => session !== null) ?? null;
  }

  /** Another one whenever another set of sessions lives: while it stays, none has ended. */
  mark(): Promise<string> {
    return this.#kit.rows.mark(LIMITS);
  }

  /** Which of these sessions still live. Each was proven when it was found, by keys that stay while this admin runs. */
  async living(sessions: readonly StoredSession[]): Promise<ReadonlySet<string>> {
    const ids = sessions.map(({ id }) => id);
    return new Set(await this.#kit.rows.living(ids, LIMITS));
  }

  /** Those that live, the last one used first. */
  list(): Promise<readonly LiveSession[]> {
    return liveOnes(this.#kit.rows, this.#kit.gate.proven);
  }

  /** Somebody used it just now. */
  used({ stored }: LiveSession): Promise<void> {
    return this.#kit.rows.touch(stored.id);
  }

  /** Ends it, at every admin. False: there is none. */
  end(id: string): Promise<boolean> {
    return this.#kit.rows.remove(id);
  }
}

/** What operations are told of sessions. `proven`: as of the gate. */
export function consoleSessions(rows: SessionRows, proven: Gate['proven']): ConsoleSessions {
  return {
    list: async () => (await liveOnes(rows, proven)).map(sessionResource),
    end: (id) => rows.remove(id),
  };
}

/** A session as everybody may see it. */
export function sessionResource({ stored, principal }: LiveSession): ConsoleSessionResource {
  return {
    id: stored.id,
    principal,
    address: stored.address,
    user_agent: stored.userAgent,
    inserted_at: stored.insertedAt,
    last_used_at: stored.lastUsedAt,
    expires_at: new Date(Date.parse(stored.insertedAt) + SESSION_AGE_MS_MAX).toISOString(),
  };
}

async function liveOnes(rows: SessionRows, proven: Gate['proven']): Promise<readonly LiveSession[]> {
  const all = await rows.list();
  return all.map((stored) => living(stored, proven)).filter((session) => session !== null);
}

/** It reaches what its key does: a row that somebody changed, or whose key is no key any more, is nothing. */
function living(stored: StoredSession, proven: Gate['proven']): LiveSession | null {
  if (isOver(stored)) return null;
  const [principal] = proven(stored.keyProof, stored.tokenHash);
  return principal === undefined ? null : { stored, principal };
}

/** Whether a session has been unused, or there, for too long. */
export function isOver({ ageMs, idleMs }: Pick<StoredSession, 'ageMs' | 'idleMs'>): boolean {
  return idleMs >= SESSION_IDLE_MS_MAX || ageMs >= SESSION_AGE_MS_MAX;
}

const NO_KEY_ASKED = refuse('conflict', 'No key is asked for here, so there is nothing to sign in for.');

/** By which a token is known. */
function hashOf(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}

/** Without what would break a line or turn its direction. */
function printable(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/gu, '?').slice(0, USER_AGENT_CHARACTERS_MAX);
}
