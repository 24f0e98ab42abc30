/**
 * Servers of SSH beside each other: the same account, key and algorithms, one client configuration with a host for
 * each.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SshFleet } from './ssh-fleet.ts';

const run = promisify(execFile);

/** For all servers: the fastest that both know, and OpenSSH's own first choice for what is left. */
export const SSH_ALGORITHMS = {
  KexAlgorithms: 'curve25519-sha256',
  HostKeyAlgorithms: 'ssh-ed25519',
  PubkeyAcceptedAlgorithms: 'ssh-ed25519',
  Ciphers: 'aes128-gcm@openssh.com',
  Compression: 'no',
} as const;

/**
 * Where a host of the configuration is: a port of this machine, or behind a command that connects its standard input
 * and output.
 */
export type SshPlace = { readonly port: number } | { readonly proxyCommand: readonly string[] };

/** Clients of these hosts. */
export interface SshClients {
  /** Logs in, runs `true`, leaves. */
  login(host: string): Promise<void>;
  /** Copies a file with scp; `:` before a path means on the host. */
  copy(host: string, from: string, to: string): Promise<void>;
}

/** Writes the configuration. The key is the fleet's. */
export async function sshClients(fleet: SshFleet, hosts: Readonly<Record<string, SshPlace>>): Promise<SshClients> {
  const config = join(fleet.directory, 'servers');
  const common = [
    'Host *',
    '  HostName 127.0.0.1',
    `  User ${fleet.account}`,
    `  IdentityFile ${join(fleet.directory, 'client_key')}`,
    '  IdentitiesOnly yes',
    '  StrictHostKeyChecking no',
    '  UserKnownHostsFile /dev/null',
    '  LogLevel ERROR',
    ...Object.entries(SSH_ALGORITHMS).map(([name, value]) => `  ${name} ${value}`),
    '',
  ];
  const places = Object.entries(hosts).flatMap(([name, place]) => [
    `Host ${name}`,
    'port' in place ? `  Port ${place.port}` : `  ProxyCommand ${place.proxyCommand.join(' ')}`,
  ]);
  await writeFile(config, [...places, ...common].join('\n'));
  return {
    login: async (host) => void (await run('ssh', ['-F', config, host, 'true'])),
    copy: async (host, from, to) => void (await run('scp', ['-q', '-F', config, onHost(host, from), onHost(host, to)])),
  };
}

function onHost(host: string, path: string): string {
  return path.startsWith(':') ? `${host}${path}` : path;
}

/** The line of the key with which the clients log in. */
export function clientKey(fleet: SshFleet): Promise<string> {
  return readFile(join(fleet.directory, 'client_key.pub'), 'utf8').then((text) => text.trim());
}

/**
 * Two directories for copies, the remote one the account's, in memory where the machine has such a place: disks are not
 * what is compared.
 */
export async function copyPlaces(
  fleet: SshFleet,
  root: string,
): Promise<{ readonly local: string; readonly remote: string }> {
  const [local, remote] = [join(root, 'local'), join(root, 'remote')];
  await mkdir(local);
  await mkdir(remote);
  await run('chown', [fleet.account, remote]);
  return { local, remote };
}
