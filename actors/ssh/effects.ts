/** What nodes ask about SSH logins. */
import type { SessionId } from '../../transport/protocol/ids.ts';
import type { SshCredential, SshGrant } from '../../transport/protocol/ssh.ts';

/** Of nodes. */
export type SshEffect =
  /** Asks the rows about a login: comes back as `ssh-verified`. */
  | {
      readonly type: 'verify-ssh';
      readonly session: SessionId;
      readonly attempt: number;
      readonly username: string;
      readonly credential: SshCredential;
    }
  /** A login was refused without a look, for there were too many: it is counted. */
  | { readonly type: 'limit-ssh' }
  /** Which of these are gone? They come back as `ssh-grants-checked`. */
  | { readonly type: 'check-ssh-grants'; readonly session: SessionId; readonly grants: readonly SshGrant[] };
