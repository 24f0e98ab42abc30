/**
 * Logins asked of the admin over the control session, and its verdicts. Nothing is remembered: an admin that does not
 * answer has said no. One that is away for a moment is waited for.
 */
import type { SshCredential, SshVerdict } from '../../../../transport/protocol/ssh.ts';
import type { VerifySsh } from './login.ts';
import type { UnansweredLogins } from './unanswered.ts';

/**
 * The admin has this long for a verdict, in ms. Longer than its database may stay silent (L3), shorter than a login may
 * take.
 */
export const VERDICT_MS_MAX = 10_000;

/**
 * A login waits so long for a session with an admin, in ms: those of a restart, a move or an owner that changed are
 * back within it.
 */
export const SESSION_AWAITED_MS_MAX = 3_000;

/** Logins that wait for a verdict at once. Above it the answer is no. */
export const ASKED_MAX = 64;

/** The asking side of a session. */
export interface Asking {
  readonly verify: VerifySsh;
  /**
   * A session with an admin is live: who waits is asked about, also those whose answer went with the session before.
   * The admin gives an attempt one verdict.
   */
  connected(): void;
  /** A verdict came. One that nobody waits for is dropped. */
  verdict(attempt: number, verdict: SshVerdict): void;
}

/**
 * Nothing asked yet. `send` is false when no admin can be asked now. Logins that nobody answers are kept by
 * `unanswered`, to be told of later.
 */
export function createAsking(
  send: (attempt: number, username: string, credential: SshCredential) => boolean,
  unanswered: Pick<UnansweredLogins, 'add' | 'remove'>,
): Asking {
  const waiting = new Map<number, Waiting>();
  /**
   * Ids of what is kept by the attempt, for verdicts that come too late: the admin has stored such an attempt itself.
   */
  const late = new Map<number, string>();
  let last = 0;

  function remember(attempt: number, id: string): void {
    late.set(attempt, id);
    for (const oldest of late.keys()) {
      if (late.size <= ASKED_MAX) break;
      late.delete(oldest);
    }
  }

  return {
    verify(username, credential) {
      last += 1;
      const attempt = last;
      if (waiting.size >= ASKED_MAX) return Promise.resolve(null);
      return new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        const ask = (): void => {
          clearTimeout(timer);
          timer = setTimeout(giveUp, send(attempt, username, credential) ? VERDICT_MS_MAX : SESSION_AWAITED_MS_MAX);
        };
        const settle = (verdict: SshVerdict | null): void => {
          clearTimeout(timer);
          waiting.delete(attempt);
          resolve(verdict);
        };
        const giveUp = (): void => {
          settle(null);
          if (isQuestion(credential)) return;
          const id = unanswered.add(username, credential.method);
          if (id !== null) remember(attempt, id);
        };
        waiting.set(attempt, { ask, settle });
        ask();
      });
    },
    connected() {
      for (const { ask } of waiting.values()) ask();
    },
    verdict(attempt, verdict) {
      waiting.get(attempt)?.settle(verdict);
      const id = late.get(attempt);
      if (id !== undefined) unanswered.remove([id]);
      late.delete(attempt);
    },
  };
}

/** A client that asks whether a key would do has not tried to log in. */
function isQuestion(credential: SshCredential): boolean {
  return credential.method === 'public_key' && credential.signature === 'none';
}

/** A login that nobody answered yet. */
interface Waiting {
  readonly ask: () => void;
  readonly settle: (verdict: SshVerdict | null) => void;
}
