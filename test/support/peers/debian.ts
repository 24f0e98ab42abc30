/**
 * Peers that are packages of Debian. Installed when the tests run as root on it; elsewhere they may be on the path all
 * the same.
 */
import { execFile } from 'node:child_process';
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Peer } from './peer.ts';

/** Directories of daemons that are often not on a user's path. */
const DAEMON_DIRECTORIES = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '/usr/lib/rabbitmq/bin',
];

/** Where npm puts programs of packages. */
const PACKAGE_PROGRAMS = join('node_modules', '.bin');

/** One run of apt-get, in ms: a slow mirror and 130 MB of packages. */
const APT_MS_MAX = 420_000;

/**
 * Asked by packages before they start what they install. Exit status 101: do not. Source:
 * /usr/share/doc/init-system-helpers/README.policy-rc.d.gz.
 */
const POLICY_FILE = '/usr/sbin/policy-rc.d';

const run = promisify(execFile);

/**
 * By name of the peer, which is that of its executable: the package. redis-server brings redis-cli and the sentinel
 * with it.
 */
const PACKAGES: Readonly<Record<string, string>> = {
  'nats-server': 'nats-server',
  'rabbitmq-server': 'rabbitmq-server',
  'redis-server': 'redis-server',
  mosquitto: 'mosquitto',
  mosquitto_sub: 'mosquitto-clients',
  kcat: 'kcat',
  chromium: 'chromium',
  asciinema: 'asciinema',
  curl: 'curl',
  shellcheck: 'shellcheck',
  busybox: 'busybox',
  'systemd-analyze': 'systemd',
  jq: 'jq',
  tmux: 'tmux',
  haproxy: 'haproxy',
  nginx: 'nginx',
  caddy: 'caddy',
  sftp: 'openssh-client',
  ssh: 'openssh-client',
  scp: 'openssh-client',
  'ssh-keygen': 'openssh-client',
  'ssh-agent': 'openssh-client',
  'ssh-add': 'openssh-client',
  sshd: 'openssh-server',
  sshfs: 'sshfs',
  rsync: 'rsync',
  ncat: 'ncat',
  ps: 'procps',
  setpriv: 'util-linux',
  useradd: 'passwd',
  prometheus: 'prometheus',
  promtool: 'prometheus',
  'prometheus-node-exporter': 'prometheus-node-exporter',
  faketime: 'faketime',
  ip: 'iproute2',
  nft: 'nftables',
  conntrack: 'conntrack',
  iperf3: 'iperf3',
  ping: 'iputils-ping',
  dig: 'bind9-dnsutils',
  'dbus-daemon': 'dbus-daemon',
  wg: 'wireguard-tools',
  'wireguard-go': 'wireguard-go',
  'dpkg-deb': 'dpkg',
  mmdebstrap: 'mmdebstrap',
  podman: 'podman',
  crun: 'crun',
  lintian: 'lintian',
  rpmbuild: 'rpm',
  zsh: 'zsh',
  fish: 'fish',
};

/** Modules of Python by their name, and the package. */
const PYTHON_PACKAGES: Readonly<Record<string, string>> = {
  paramiko: 'python3-paramiko',
};

/** One for each package. A module of Python is found as the Python that has it. */
export const debianPeers: readonly Peer[] = [
  ...Object.entries(PACKAGES).map(([name, packageName]) => ({
    name,
    found: () => onPath(name),
    install: () => install(packageName),
  })),
  ...Object.entries(PYTHON_PACKAGES).map(([name, packageName]) => ({
    name,
    found: async () => (existsSync(`/usr/lib/python3/dist-packages/${name}`) ? '/usr/bin/python3' : null),
    install: () => install(packageName),
  })),
  // Debian keeps the programs of each version in a directory of their own, beside each other.
  {
    name: 'postgres',
    found: async () => newestOf(globSync('/usr/lib/postgresql/*/bin/postgres')) ?? onPath('postgres'),
    install: () => install('postgresql'),
  },
];

function newestOf(paths: readonly string[]): string | null {
  return paths.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? null;
}

/** Path of an executable, or null. npm puts programs of its packages first, and one of them is called nft too. */
async function onPath(command: string): Promise<string | null> {
  const directories = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((directory) => !directory.endsWith(PACKAGE_PROGRAMS));
  for (const directory of [...directories, ...DAEMON_DIRECTORIES]) {
    const path = join(directory, command);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

/** Installs a package without starting what is in it. Rejects where this is not for root on Debian. */
export async function install(packageName: string): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Error(`install the package ${packageName}: this is done by itself only for root on Debian`);
  const isPolicyOurs = await writeFile(
    POLICY_FILE,
    '#!/bin/sh\n# Written while the tests install packages: no service is to be started.\nexit 101\n',
    { flag: 'wx', mode: 0o755 },
  ).then(
    () => true,
    () => false,
  );
  try {
    const asked = ['install', '--yes', '--no-install-recommends', packageName];
    await apt(asked).catch(async () => {
      // the lists of packages may be missing or old
      await apt(['update']);
      await apt(asked);
    });
  } finally {
    if (isPolicyOurs) await rm(POLICY_FILE, { force: true });
  }
}

/** One run of apt-get. Rejects with what it calls an error. `cwd`: where it downloads to. */
export async function apt(words: readonly string[], cwd = '/'): Promise<void> {
  await run('apt-get', ['--quiet', '-o', 'DPkg::Lock::Timeout=300', ...words], {
    cwd,
    timeout: APT_MS_MAX,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  }).catch((error: unknown) => {
    const output = (error as { stderr?: string }).stderr ?? '';
    throw new Error(
      output.split('\n').find((line) => line.startsWith('E: ')) ??
        `apt-get ${words[0]} failed or took over ${APT_MS_MAX} ms`,
      { cause: error },
    );
  });
}
