/** How the SFTP server is started. */
import { join } from 'node:path';
import { accountWord, type BecomeAccount } from './privileges.ts';

/** The program as one text. deploy/build.ts puts it into the published agent, which is a single file. */
declare const SFTP_PROGRAM: string | undefined;

/**
 * The program and its arguments. It serves the client on its stdin and stdout, from the directory that it is started
 * in, until stdin ends; its status is 0, or 1 after what is not SFTP. With an account (the agent must be root) it
 * becomes that account before it reads anything: an account may thus be served that could not read, or run, what the
 * agent itself consists of.
 *
 * Its environment: HOME is where `~` leads; NODE_OPTIONS and the like must not come from the client. In the published
 * agent the program is handed over as a text, because reading all of the agent for it would take as long as the rest of
 * the start (measured: 40 ms).
 */
export function sftpCommand(account: BecomeAccount | null): readonly [string, ...string[]] {
  const words = account === null ? [] : [accountWord(account)];
  return typeof SFTP_PROGRAM === 'string'
    ? [process.execPath, '-e', SFTP_PROGRAM, ...words]
    : [process.execPath, join(import.meta.dirname, 'program.ts'), ...words];
}
