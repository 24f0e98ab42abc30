/** OpenSSH's sftp in a test, talking to the server without SSH between them. */
import { execFile, type ExecFileException } from 'node:child_process';
import type { ExecutionContext } from 'ava';
import { sftpCommand } from '../../../../agent/access/sftp/command.ts';
import type { BecomeAccount } from '../../../../agent/access/sftp/privileges.ts';
import { ENVIRONMENT } from '../../../support/agent/sftp-process.ts';

/** What sftp said. */
export interface SftpRun {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How sftp is called. */
export interface SftpOptions {
  /** Of the client. */
  readonly local: string;
  /** Of the server: where it starts. */
  readonly remote: string;
  readonly account?: BecomeAccount;
  /** Options of sftp besides. */
  readonly words?: readonly string[];
}

/**
 * Runs the lines (a leading `-` lets a line fail) and returns what was said, with status 0 when none failed. Lines may
 * be bytes.
 */
export async function sftp(
  t: ExecutionContext,
  lines: readonly (string | Buffer)[],
  { local, remote, account, words = [] }: SftpOptions,
): Promise<SftpRun> {
  // sftp splits the command at blanks, and starts it in its own directory: so a shell goes to the server's first.
  const [file, ...rest] = sftpCommand(account ?? null);
  const server = ['/usr/bin/env', '-C', remote, file, ...rest].join(' ');
  const batch = Buffer.concat(lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from('\n')])));
  return new Promise((resolve) => {
    const client = execFile(
      'sftp',
      ['-q', ...words, '-D', server, '-b', '-', 'machine'],
      { cwd: local, env: ENVIRONMENT, encoding: 'latin1' },
      (error: ExecFileException | null, stdout, stderr) => {
        const said = stdout
          .split('\n')
          .filter((line) => !line.startsWith('sftp> '))
          .join('\n');
        resolve({ status: error === null ? 0 : Number(error.code ?? -1), stdout: said, stderr });
      },
    );
    t.teardown(() => {
      client.kill('SIGKILL');
    });
    client.stdin?.end(batch);
  });
}
