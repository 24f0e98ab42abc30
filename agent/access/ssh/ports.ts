/** What the SSH server needs of the rest of the agent. */
import type { SshCredential, SshVerdict } from '../../../transport/protocol/ssh.ts';

/**
 * Asks the admin about a login. Null: no admin could be asked in time, which is a no that nobody remembers (never a
 * cached yes). Never rejects.
 */
export type VerifySsh = (username: string, credential: SshCredential) => Promise<SshVerdict | null>;
