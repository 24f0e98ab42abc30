/** Who may use a proxy: whoever shows one of its passwords. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { WindowLimiter } from '../net/window-limiter.ts';
import type { Credentials, ProxyPorts } from './ports.ts';

/** Username of those who show none, and of forward mode. Source: docs/reaching.md. */
export const PLAIN_USERNAME = '_';

/** What lets people in. */
export interface AdmissionOptions {
  /** Any of them will do. */
  readonly passwords: readonly string[];
  /** False: any credentials will do, and none at all. */
  readonly isEnforced: boolean;
  /** Usernames that may come; null: all. */
  readonly username: string | null;
  /** Counts wrong passwords by address. */
  readonly failures: Pick<WindowLimiter, 'add'>;
}

/**
 * The `admit` of a proxy. Passwords are compared in constant time, as hashes (E3). A right one always gets in, also
 * from an address that showed many wrong ones: else whoever shares it could lock the operator out.
 */
export function createAdmission({ passwords, isEnforced, username, failures }: AdmissionOptions): ProxyPorts['admit'] {
  const known = passwords.map(digest);
  const isRight = (shown: Credentials): boolean => {
    const given = digest(shown.password);
    return (
      known.filter((one) => timingSafeEqual(one, given)).length > 0 &&
      (username === null || shown.username === username)
    );
  };
  return (credentials, address) => {
    if (!isEnforced) return { ok: true, username: username ?? (credentials?.username || PLAIN_USERNAME) };
    if (credentials === null) return { ok: false, reason: 'credentials' };
    if (isRight(credentials)) return { ok: true, username: credentials.username };
    return { ok: false, reason: failures.add(address) > 0 ? 'throttled' : 'credentials' };
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
