/**
 * A run of the tests in namespaces of its own, so that nothing of it stays behind, however it ends: with the last
 * process of a PID namespace's parent go all of its processes, with its mounts go its directories and named networks,
 * and with these their interfaces.
 */
import { spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';

/**
 * Where the run's temporary directories are: a file system in memory that only the run sees. The empty directory below
 * it stays.
 */
const MOUNT_POINT = '/run/edge-fleet-tests';

/** Variable that is set inside. */
const INSIDE_VARIABLE = 'EDGE_TEST_NAMESPACES';

/** Variable that is set where the network is one of its own too. */
const NETWORK_VARIABLE = 'EDGE_TEST_NETWORK';

/**
 * What starts inside, as process 1: it collects what its own children left behind, which Node does not. `ip netns`
 * keeps names in /run/netns.
 * A shell gives its background jobs no standard input and has them ignore Ctrl-C; Node takes signals back, and reads
 * nothing.
 */
const NAMES = ['mkdir -p /run/netns', 'mount -t tmpfs -o mode=0755 tests /run/netns'].join(' && ');
const FILES = [`mkdir -p ${MOUNT_POINT}`, `mount -t tmpfs -o mode=1777 tests ${MOUNT_POINT}`].join(' && ');

/** What shells read when somebody logs in, in their home. */
export const STARTUP_FILES = ['.profile', '.bash_profile', '.bash_login', '.bashrc', '.bash_logout'] as const;

/**
 * Nothing stands in them: what a developer's do takes seconds, and may hold up the next shell when a test kills one in
 * the middle of it (pyenv leaves its lock, and waits a minute for it).
 */
const SHELLS = [
  `: > ${MOUNT_POINT}/.empty`,
  `for file in ${STARTUP_FILES.map((name) => `"${userInfo().homedir}/${name}"`).join(' ')}; do`,
  `  if [ -f "$file" ]; then mount --bind ${MOUNT_POINT}/.empty "$file" || exit; fi`,
  'done',
].join('\n');

const UNSHARE = ['unshare', '--pid', '--mount', '--fork', '--kill-child=KILL', '--mount-proc'];

/** Whether this process is in the namespaces of a run. */
export function isInOwnNamespaces(): boolean {
  return process.env[INSIDE_VARIABLE] === 'yes';
}

/**
 * Goes on in such namespaces: this very process becomes their parent, so whoever ends it ends all. Returns why it could
 * not, in one line, or null when it is inside already. The environment inside is this one and `env`. With a network of
 * its own it has nothing but a loopback, which is down; a run that is inside already keeps its files. Needs root, Linux
 * and unshare.
 */
export function enterOwnNamespaces(
  env: Readonly<Record<string, string>>,
  { hasNetwork = false }: { readonly hasNetwork?: boolean } = {},
): string | null {
  const keepsFiles = isInOwnNamespaces();
  if (hasNetwork ? process.env[NETWORK_VARIABLE] === 'yes' : keepsFiles) return null;
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || process.execve === undefined)
    return 'only root on Linux can make namespaces';
  const flags = [...UNSHARE.slice(1), ...(hasNetwork ? ['--net'] : [])];
  const init = keepsFiles ? NAMES : `${NAMES} && ${FILES} && ${SHELLS}`;
  const tried = spawnSync('unshare', [...flags, 'sh', '-c', init], { encoding: 'utf8' });
  if (tried.status !== 0) return tried.error?.message ?? tried.stderr.trim().split('\n')[0] ?? 'unshare failed';
  const path = spawnSync('sh', ['-c', 'command -v unshare'], { encoding: 'utf8' }).stdout.trim();
  return process.execve(
    path,
    [
      'unshare',
      ...flags,
      'sh',
      '-c',
      `{ ${init}
} && "$@" & wait $!`,
      'sh',
      process.execPath,
      ...process.argv.slice(1),
    ],
    {
      ...process.env,
      ...env,
      [INSIDE_VARIABLE]: 'yes',
      ...(hasNetwork && { [NETWORK_VARIABLE]: 'yes' }),
      ...(!keepsFiles && { TMPDIR: MOUNT_POINT }),
    },
  );
}
