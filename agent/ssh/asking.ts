/** Logins asked of the admin over the control session, and its verdicts. Nothing is remembered: an admin that does not answer has said no. One that is away for a moment is waited for. */
import type { SshCredential, SshVerdict } from '../../transport/protocol/ssh.ts';
import type { VerifySsh } from './ports.ts';

/** The admin has this long for a verdict, in ms. Longer than its database may stay silent (L3), shorter than a login may take. */
export const VERDICT_MS_MAX = 10_000;

/** A login waits so long for a session with an admin, in ms: those of a restart, a move or an owner that changed are back within it. */
export const SESSION_AWAITED_MS_MAX = 3_000;

/** Logins that wait for a verdict at once. Above it the answer is no. */
export const ASKED_MAX = 64;

/** The asking side of a session. */
export interface Asking {
  readonly verify: VerifySsh;
  /** A session with an admin is live: who waits is asked about, also those whose answer went with the session before. The admin gives an attempt one verdict. */
  connected(): void;
  /** A verdict came. One that nobody waits for is dropped. */
  verdict(attempt: number, verdict: SshVerdict): void;
}

/** Nothing asked yet. `send` is false when no admin can be asked now. */
export function createAsking(send: (attempt: number, username: string, credential: SshCredential) => boolean): Asking {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  return {
    verify(username, credential) {
      last += 1;
      const attempt = last;
      if (waiting.size >= ASKED_MAX) return Promise.resolve(null);
      return new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        const ask = (): void => {
          clearTimeout(timer);
          timer = setTimeout(() => settle(null), send(attempt, username, credential) ? VERDICT_MS_MAX : SESSION_AWAITED_MS_MAX);
        };
        const settle = (verdict: SshVerdict | null): void => {
          clearTimeout(timer);
          waiting.delete(attempt);
          resolve(verdict);
        };
        waiting.set(attempt, { ask, settle });
        ask();
      });
    },
    connected() {
      for (const { ask } of waiting.values()) ask();
    },
    verdict: (attempt, verdict) => waiting.get(attempt)?.settle(verdict),
  };
}

/** A login that nobody answered yet. */
interface Waiting {
  readonly ask: () => void;
  readonly settle: (verdict: SshVerdict | null) => void;
}
