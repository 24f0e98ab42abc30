/**
 * One sshd on a loopback port that stands for many hosts, and what the tools over it need: keys, a client configuration
 * with the hosts n1 … nN, an inventory. The account runs /bin/sh in an empty home, since a shell with start-up files
 * doubled every figure.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { treeOf } from '../method/usage.ts';
import { answering } from './answering.ts';
import { PEERS_DIR } from './programs.ts';

const run = promisify(execFile);

/** Made for the run and removed after it. */
const ACCOUNT = 'edge-bench';

/** Timeout of what is connected when it ends, in ms. */
const END_MS_MAX = 5_000;

/** A running sshd and its client side. */
export interface SshFleet {
  /** Of sshd, the parent of its connections. */
  readonly pid: number;
  readonly account: string;
  /** ssh_config whose connections end with each command, and one whose connections stay open. */
  readonly coldConfig: string;
  readonly warmConfig: string;
  readonly inventory: string;
  readonly directory: string;
  end(): Promise<void>;
}

/** Starts it for `hosts` host names. Needs root: sshd changes to the account. */
export async function startSshFleet(sshd: string, port: number, hosts: number): Promise<SshFleet> {
  await mkdir(PEERS_DIR, { recursive: true });
  const directory = await mkdtemp(join(PEERS_DIR, 'ssh-'));
  await chmod(directory, 0o755);
  const home = join(directory, 'home');
  await mkdir(join(home, '.ssh'), { recursive: true });
  await run('userdel', [ACCOUNT]).catch(() => undefined); // left by a bench that was killed, or none is there
  await run('useradd', ['-M', '-d', home, '-s', '/bin/sh', ACCOUNT]);
  await run('usermod', ['-p', '*', ACCOUNT]);
  await mkdir('/run/sshd', { recursive: true }); // sshd's own, where no service made it
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'host_key')]);
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'client_key')]);
  await run('cp', [join(directory, 'client_key.pub'), join(home, '.ssh/authorized_keys')]);
  const { stdout } = await run('id', ['-u', ACCOUNT]);
  await chown(home, Number(stdout), Number(stdout));
  await writeFile(
    join(directory, 'sshd_config'),
    [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${join(directory, 'host_key')}`,
      `PidFile ${join(directory, 'sshd.pid')}`,
      `AllowUsers ${ACCOUNT}`,
      'MaxStartups 2000',
      'MaxSessions 100',
      'UsePAM no',
      'StrictModes no',
      'UseDNS no',
      'PasswordAuthentication no',
      'Subsystem sftp internal-sftp',
      '',
    ].join('\n'),
  );
  await mkdir(join(directory, 'cm'));
  const common = [
    'Host n*',
    '  HostName 127.0.0.1',
    `  Port ${port}`,
    `  User ${ACCOUNT}`,
    `  IdentityFile ${join(directory, 'client_key')}`,
    '  StrictHostKeyChecking no',
    '  UserKnownHostsFile /dev/null',
    '  LogLevel ERROR',
  ];
  await writeFile(join(directory, 'cold'), [...common, ''].join('\n'));
  await writeFile(
    join(directory, 'warm'),
    [...common, '  ControlMaster auto', `  ControlPath ${join(directory, 'cm')}/%n`, '  ControlPersist 300', ''].join(
      '\n',
    ),
  );
  await writeFile(
    join(directory, 'inventory'),
    `${Array.from({ length: hosts }, (_, index) => `n${index + 1}`).join('\n')}\n`,
  );

  const server = spawn(sshd, ['-D', '-f', join(directory, 'sshd_config')], { stdio: ['ignore', 'ignore', 'ignore'] });
  const end = async (): Promise<void> => {
    // sessions too: clients that stay connected end with them
    for (const pid of treeOf(server.pid ?? 0)) endProcess(pid);
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    for (const until = Date.now() + END_MS_MAX; Date.now() < until; await delay(100)) {
      // processes of the account may still be ending
      if (
        await run('userdel', [ACCOUNT]).then(
          () => true,
          () => false,
        )
      )
        break;
    }
    await rm(directory, { recursive: true, force: true });
  };
  await answering(port).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return {
    pid: server.pid ?? 0,
    account: ACCOUNT,
    coldConfig: join(directory, 'cold'),
    warmConfig: join(directory, 'warm'),
    inventory: join(directory, 'inventory'),
    directory,
    end,
  };
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it ended by itself in between
  }
}
