/** The Debian packages on a plain Debian: installed, used, upgraded and removed without a trace. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import ava from 'ava';
import packageFile from '../../../package.json' with { type: 'json' };
import { FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { startMachine, type Machine } from '../../support/installing/machine.ts';
import { buildDistribution, makePackages } from '../../support/releases/packages.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('root', 'debian-root', 'dpkg-deb');
const run = promisify(execFile);
const scope = createScope();
ava.after.always('its files go', () => scope.end());

const ADMIN = ['edge-runtime', 'edge-admin-postgresql', 'edge-admin', 'edge'];
const AGENT = ['edge-runtime', 'edge-agent', 'edge-updater'];

/** Where a machine has the packages. */
const DEBS = '/root/debs';

/** Whatever port is free: the machines share the network of this one. */
const ADMIN_PORTS = {
  ADMIN_API_HOST: '127.0.0.1',
  ADMIN_API_PORT: '0',
  ADMIN_HTTP_PROXY_PORT: '0',
  ADMIN_SOCKS5_PROXY_PORT: '0',
  ADMIN_OBSERVER_PORT: '0',
  ADMIN_GATEWAY_ENABLED: 'false',
};

/** What dpkg and the tools of accounts write down themselves, and clocks. */
const NOT_OURS =
  /^\/(?:var\/(?:lib\/dpkg|log|cache|backups)|root\/debs|etc\/(?:passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)|run)\b/u;

let debs = '';
let admins: Machine;
let nodes: Machine;
let before: (readonly string[])[] = [];

// one machine of each kind, from the first installation to the last trace: the tests are its days, in this order
test.before(async () => {
  debs = await makePackages(scope, await buildDistribution(scope), '--only', 'deb');
  [admins, nodes] = [await machineWith(scope, ADMIN), await machineWith(scope, AGENT)];
  before = [await admins.files(), await nodes.files()];
});

test.serial('an admin and an agent out of packages say what is left to do, and run a command', async (t) => {
  const installed = [await dpkg(admins, '--install', ...ADMIN), await dpkg(nodes, '--install', ...AGENT)];

  t.regex(
    installed[0] ?? '',
    /^edge-admin is installed and not started: set ADMIN_URLS in \/etc\/edge-admin\/admin\.env, then: systemctl enable --now edge-admin$/mu,
  );
  t.regex(installed[1] ?? '', /^edge-agent is installed and not started: put ENROLLMENT_KEY=/mu);
  t.regex(installed[1] ?? '', /^edge-updater is installed and not started: it trusts no releases yet\./mu);
  for (const [machine, program] of [
    [admins, 'edge-admin'],
    [admins, 'edge'],
    [nodes, 'edge-agent'],
    [nodes, 'edge-updater'],
  ] as const)
    t.deepEqual(await machine.run(`${program} --version`), {
      status: 0,
      stdout: `${packageFile.version}\n`,
      stderr: '',
    });
  t.regex((await admins.run('edge --help')).stdout, /^Usage: edge /u);

  const admin = await startAdmin(admins);
  const { url } = admin;
  const edge = async (words: string): Promise<string> => {
    const { stdout, stderr, status } = await admins.run(
      `EDGE_API_KEY=$(cat /var/lib/edge-admin/master.key) edge ${words}`,
      { env: { EDGE_URL: url } },
    );
    t.is(status, 0, stderr);
    return stdout;
  };
  await edge('cluster create site');
  const agentEnded = startAgent(nodes, (await edge('key create site')).trim());
  await until('a healthy node', async () => (await edge('node ls')).includes('healthy'));

  t.is(await edge("run --all -- 'echo it runs'"), 'one: it runs\n');
  t.is(
    statSync(join(nodes.root, runtimeOf(nodes))).ino,
    statSync(join(nodes.root, 'usr/lib/edge-runtime/bin/node')).ino,
  );
  for (const machine of [nodes, admins]) await machine.run('kill $(cat /tmp/pid)');
  await Promise.all([admin.ended, agentEnded]);
});

test.serial('an upgrade keeps changed settings, and neither changes nor restarts an agent', async (t) => {
  const settings = nodes.read('/etc/edge-agent/agent.env');
  const [current, token] = await both(nodes);
  await newerDeb(t, nodes, 'edge-agent', (root) => {
    const [name = ''] = readdirSync(join(root, 'usr/lib/edge-agent/first/versions'));
    writeFileSync(join(root, 'usr/lib/edge-agent/first/versions', name, 'release.json'), '{"version": "9.9.9"}');
  });
  await newerDeb(t, nodes, 'edge-updater');

  t.regex(settings, /^ENROLLMENT_KEY=/u);
  t.regex(await dpkg(nodes, '--install', 'edge-agent', 'edge-updater'), /Unpacking edge-agent \(\S+-2\)/u);
  t.deepEqual(await both(nodes), [current, token]);
  t.is(nodes.read('/etc/edge-agent/agent.env'), settings);
  t.is((await nodes.run('edge-agent --version')).stdout, `${packageFile.version}\n`);

  // who wants the version of the package says so
  t.is((await nodes.run('/usr/lib/edge-agent/setup lay-out')).status, 1);
  await nodes.run('rm -r /var/lib/edge-updater/versions/*');
  t.deepEqual(await nodes.run('/usr/lib/edge-agent/setup lay-out --replace'), { status: 0, stdout: '', stderr: '' });
  t.regex(nodes.read('/var/lib/edge-updater/current/release.json'), /9\.9\.9/u);
});

test.serial('a removed admin keeps settings and data, and one that is installed again goes on with them', async (t) => {
  const key = admins.read('/var/lib/edge-admin/master.key');
  admins.write('/etc/edge-admin/admin.env', 'ADMIN_URLS=http://127.0.0.1:1\n', 0o600);
  await dpkg(admins, '--remove', 'edge-admin');

  t.is((await admins.run('edge-admin --version')).status, 127);
  await dpkg(admins, '--install', 'edge-admin');
  t.is(admins.read('/etc/edge-admin/admin.env'), 'ADMIN_URLS=http://127.0.0.1:1\n');
  t.is(admins.read('/var/lib/edge-admin/master.key'), key);
});

test.serial(
  'what is mounted among the data keeps the data when they are purged, and else nothing is left',
  async (t) => {
    const mounted = '/var/lib/edge-agent/keepers/mounted';
    nodes.write('/opt/of-others', '');
    await nodes.bind('/opt', mounted);
    const { status, stderr } = await nodes.run(`dpkg --purge ${AGENT.toReversed().join(' ')}`);
    await nodes.unbind(mounted);
    t.is(status, 0, stderr);
    t.regex(stderr, /^edge-agent: something is mounted in its data, which stays: \/var\/lib\/edge-agent/mu);
    t.is(nodes.read('/opt/of-others'), '');
    await nodes.run('rm -rf /opt/of-others /var/lib/edge-agent /var/lib/edge-updater');

    await dpkg(admins, '--purge', ...ADMIN.toReversed());

    t.deepEqual([await admins.files(), await nodes.files()].map(ours), before.map(ours));
    t.is((await admins.run('getent passwd edge-admin')).status, 2);
  },
);

test.serial('packages go apart from an installation by the one line, and say so', async (t) => {
  nodes.write('/usr/lib/edge/installed-by', 'install.sh');
  const { status, stderr } = await nodes.run(`dpkg --install ${DEBS}/edge-agent_*.deb`);

  t.is(status, 1);
  t.regex(stderr, /^edge-agent was installed here by install\.sh: run it with --uninstall first/mu);
  t.false(nodes.read('/var/lib/dpkg/status').includes('Package: edge-agent\nStatus: install ok installed'));
});

async function machineWith(scope: Scope, names: readonly string[]): Promise<Machine> {
  const machine = await startMachine(scope);
  mkdirSync(join(machine.root, DEBS));
  for (const file of readdirSync(debs).filter((file) => names.some((name) => file.startsWith(`${name}_`))))
    copyFileSync(join(debs, file), join(machine.root, DEBS, file));
  return machine;
}

/** Runs it for packages, by their files where they come. Answers what was said. */
async function dpkg(
  machine: Machine,
  action: '--install' | '--remove' | '--purge',
  ...names: readonly string[]
): Promise<string> {
  const words = names.map((name) => (action === '--install' ? `${DEBS}/${name}_*.deb` : name));
  const { status, stdout, stderr } = await machine.run(`dpkg ${action} ${words.join(' ')}`, {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status !== 0) throw new Error(`dpkg ${action}: ${stdout}${stderr}`);
  return stdout + stderr;
}

/** As its unit does: with its settings, which only root reads, under its account. */
async function startAdmin(machine: Machine) {
  machine.write('/tmp/admin.log', '', 0o666);
  const ended = machine.run(
    'set -a; . /etc/edge-admin/admin.env; cd /var/lib/edge-admin; setsid setpriv --reuid=edge-admin --regid=edge-admin --init-groups edge-admin serve </dev/null >/tmp/admin.log 2>&1 & echo $! >/tmp/pid; wait',
    { env: ADMIN_PORTS },
  );
  const url = await until('the admin', () => {
    const log = machine.read('/tmp/admin.log');
    if (/"level":"fatal"|^edge-admin: /mu.test(log)) throw new Error(log);
    return /"url":"(?<url>[^"]+)","msg":"edge-admin is ready/u.exec(log)?.groups?.['url'];
  });
  return { url, ended };
}

/** As its unit does. Resolves when it has ended. */
async function startAgent(machine: Machine, key: string): Promise<unknown> {
  machine.write('/etc/edge-agent/agent.env', `ENROLLMENT_KEY=${key}\nAGENT_ALIASES=one\n`, 0o600);
  return machine.run(
    'set -a; . /etc/edge-agent/agent.env; setsid /usr/lib/edge/launch agent </dev/null >/tmp/agent.log 2>&1 & echo $! >/tmp/pid; wait',
    {
      env: FREE_PORTS,
    },
  );
}

/** The version that runs, and the token of its updater. */
async function both(machine: Machine): Promise<readonly string[]> {
  const { stdout } = await machine.run('readlink /var/lib/edge-updater/current');
  return [stdout, machine.read('/var/lib/edge-updater/token')];
}

function runtimeOf(machine: Machine): string {
  const [hash = ''] = readdirSync(join(machine.root, 'var/lib/edge-updater/runtimes'));
  return join('var/lib/edge-updater/runtimes', hash, 'node');
}

/** The package as its next revision, with something changed, in place of the one that was there. */
async function newerDeb(
  scope: Scope,
  machine: Machine,
  name: string,
  change: (root: string) => void = () => {},
): Promise<void> {
  const directory = join(machine.root, DEBS);
  const file = readdirSync(directory).find((one) => one.startsWith(`${name}_`)) ?? '';
  const root = join(temporaryDirectory(scope), basename(file));
  await run('dpkg-deb', ['--raw-extract', join(directory, file), root]);
  const control = join(root, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^(?<version>Version: .*)-1$/mu, '$<version>-2'));
  change(root);
  await run('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '--build', root, join(directory, file)]);
}

/** Of all files those that a package may have left, without the times of directories. */
function ours(files: readonly string[]): readonly string[] {
  return files.filter((line) => !NOT_OURS.test(line));
}
