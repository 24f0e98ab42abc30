/** Logins asked of the admin over the control session, and its verdicts. Nothing is remembered: an admin that does not answer has said no. */
import type { SshCredential, SshVerdict } from '../../transport/protocol/ssh.ts';
import type { VerifySsh } from './ports.ts';

/** The admin has this long for a verdict, in ms. Longer than its database may stay silent (L3), shorter than a login may take. */
export const VERDICT_MS_MAX = 10_000;

/** Logins that wait for a verdict at once. Above it the answer is no. */
export const ASKED_MAX = 64;

/** The asking side of a session. */
export interface Asking {
  readonly verify: VerifySsh;
  /** A verdict came. One that nobody waits for is dropped. */
  verdict(attempt: number, verdict: SshVerdict): void;
}

/** Nothing asked yet. `send` is false when no admin can be asked now. */
export function createAsking(send: (attempt: number, username: string, credential: SshCredential) => boolean): Asking {
  const waiting = new Map<number, (verdict: SshVerdict | null) => void>();
  let last = 0;
  return {
    verify(username, credential) {
      last += 1;
      const attempt = last;
      if (waiting.size >= ASKED_MAX || !send(attempt, username, credential)) return Promise.resolve(null);
      return new Promise((resolve) => {
        const timer = setTimeout(() => settle(null), VERDICT_MS_MAX);
        const settle = (verdict: SshVerdict | null): void => {
          clearTimeout(timer);
          waiting.delete(attempt);
          resolve(verdict);
        };
        waiting.set(attempt, settle);
      });
    },
    verdict: (attempt, verdict) => waiting.get(attempt)?.(verdict),
  };
}
