/** OpenSSH's own sshd in a test, with the server as its subsystem: for clients that come over SSH. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { sftpCommand } from '../../../../agent/access/sftp/command.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { keyPair, options, sshWords } from '../../../support/ssh/openssh.ts';
import { peerPath } from '../../../support/run/peers.ts';
import { until } from '../../../support/until.ts';
import { ENVIRONMENT } from '../../../support/agent/sftp-process.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Where it listens on this machine, and who gets in. */
export interface Sshd {
  readonly port: number;
  readonly username: string;
  /** File of the private key. */
  readonly key: string;
  /** Options of ssh, scp and sftp. */
  readonly words: readonly string[];
}

/** Starts one; ended after the test. */
export async function startSshd(t: ExecutionContext): Promise<Sshd> {
  const directory = temporaryDirectory(t, 0o777);
  const [host, key, config] = ['host', 'key', 'config'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const file of [host, key]) await keyPair(file);
  const port = await freePort();
  const command = [
    '/usr/bin/env',
    ...Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`),
    ...sftpCommand(null),
  ].join(' ');
  writeFileSync(
    config,
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${host}\nAuthorizedKeysFile ${key}.pub\nStrictModes no\nUsePAM no\nPidFile none\nSubsystem sftp ${command}\n`,
  );
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 }); // what sshd wants of Debian
  const daemon = spawn(await peerPath('sshd'), ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  daemon.stderr.on('data', (piece: Buffer) => {
    log += piece.toString('utf8');
  });
  t.teardown(async () => {
    daemon.kill('SIGTERM');
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
  });
  await until('sshd to listen', () => log.includes('Server listening'));
  return { port, key, words: [...sshWords(key), ...options(`Port=${port}`)], username: userInfo().username };
}
