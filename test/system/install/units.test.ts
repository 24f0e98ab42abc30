/** The units of the services: systemd reads them without a complaint, and finds them as closed as they say. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { peerTest } from '../../support/run/peer-test.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('systemd-analyze', 'shellcheck');

const UNITS = join(ROOT, 'deploy/systemd');

/** What may be open of services through which nobody runs commands, in tenths of what systemd-analyze says. */
const EXPOSURE_MAX = 20;

const SERVICES = ['edge-agent', 'edge-updater', 'edge-admin', 'edge-relay'];

/** Directives of a unit that are used, one a line. */
function directives(name: string): readonly string[] {
  return readFileSync(join(UNITS, `${name}.service`), 'utf8')
    .split('\n')
    .filter((line) => /^[A-Z]\w*=/u.test(line));
}

test('systemd-analyze verify has nothing to say of any unit, nor of the one that reaches another data directory', (t) => {
  const root = temporaryDirectory(t);
  // programs that are there, and the targets that units of ours want
  for (const program of ['usr/lib/edge/launch', 'usr/bin/edge-admin']) {
    mkdirSync(join(root, program, '..'), { recursive: true });
    writeFileSync(join(root, program), '#!/bin/sh\n');
    chmodSync(join(root, program), 0o755);
  }
  const system = join(root, 'etc/systemd/system');
  cpSync(UNITS, system, { recursive: true });
  const dropIn = readFileSync(join(UNITS, 'edge-updater-data.conf'), 'utf8').replace('@DATA@', '/home/ada/edge');
  mkdirSync(join(system, 'edge-updater.service.d'));
  writeFileSync(join(system, 'edge-updater.service.d/data.conf'), dropIn);
  cpSync('/usr/lib/systemd/system', join(root, 'usr/lib/systemd/system'), { recursive: true, verbatimSymlinks: true });

  for (const name of SERVICES) {
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', `--root=${root}`, `${name}.service`],
      { encoding: 'utf8' },
    );
    const ours = stderr.split('\n').filter((line) => line.includes('edge-'));

    t.deepEqual({ name, status, ours }, { name, status: 0, ours: [] });
  }
});

test('systemd-analyze verify has nothing to say of the units of one user', (t) => {
  const home = temporaryDirectory(t);
  mkdirSync(join(home, '.local/lib/edge'), { recursive: true });
  writeFileSync(join(home, '.local/lib/edge/launch'), '#!/bin/sh\n', { mode: 0o755 });

  for (const name of ['edge-agent', 'edge-updater']) {
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['--user', 'verify', '--man=no', join(UNITS, `user/${name}.service`)],
      { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: home, XDG_RUNTIME_DIR: home } },
    );
    const ours = stderr.split('\n').filter((line) => line.includes('edge-'));

    t.deepEqual({ name, status, ours }, { name, status: 0, ours: [] });
  }
});

for (const name of ['edge-updater', 'edge-admin', 'edge-relay'])
  test(`what ${name} may do is little: an exposure of at most ${EXPOSURE_MAX / 10}`, (t) => {
    const { status, stdout } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, join(UNITS, `${name}.service`)],
      { encoding: 'utf8' },
    );

    t.is(status, 0, stdout);
  });

/** The same for the machine and for one user. */
const AGENTS = ['edge-agent', 'user/edge-agent'];

for (const name of AGENTS)
  test(`${name} leaves its commands running, and starts again unless that would end the same way`, (t) => {
    const used = directives(name);

    for (const line of ['KillMode=process', 'Restart=always', 'RestartPreventExitStatus=2 3 4'])
      t.true(used.includes(line), line);
  });

for (const name of AGENTS)
  test(`one command of ${name} that takes all memory or many processes ends no other, and many have files enough`, (t) => {
    const used = directives(name);

    for (const line of ['Delegate=yes', 'OOMPolicy=continue', 'TasksMax=infinity', 'LimitNOFILE=65536'])
      t.true(used.includes(line), line);
  });

/** `edge-agentctl` of a machine without systemd in a directory of its own, with this as what it starts. */
function controlled(t: ExecutionContext, launch: string) {
  const place = temporaryDirectory(t);
  const control = readFileSync(join(ROOT, 'deploy/install/edge-agentctl.sh'), 'utf8')
    .replaceAll(/@[A-Z]+@/gu, place)
    .replace(/^AGAIN_S=.*$/mu, 'AGAIN_S=0');
  writeFileSync(join(place, 'launch'), `#!/bin/sh\n${launch}\n`, { mode: 0o755 });
  writeFileSync(join(place, 'agent.log'), '');
  return {
    place,
    control,
    run: (script: string) => spawnSync('sh', ['-c', script], { cwd: place, encoding: 'utf8' }).stdout.trim(),
    install: (filesMax: number, name = 'edge-agentctl') =>
      writeFileSync(join(place, name), control.replace(/^FILES_MAX=.*$/mu, `FILES_MAX=${filesMax}`)),
  };
}

test('without systemd the agent may open as many files, and starts also where the machine lets it have fewer', (t) => {
  const { control, run, install } = controlled(t, 'ulimit -H -n; exit 3');
  t.regex(control, /^FILES_MAX=65536$/mu);

  // no machine lets a process have as many as the second
  for (const [filesMax, wanted] of [
    [1_000, '1000'],
    [4_294_967_295, run('ulimit -H -n')],
  ] as const) {
    install(filesMax);

    const said = run('exec sh edge-agentctl supervise agent');

    t.is(said.split('\n')[0], wanted);
  }
});

test('a limit that is changed in edge-agentctl is that of the next start: its supervisor need not end', (t) => {
  const { run, install } = controlled(t, 'ulimit -H -n; mv edge-agentctl.new edge-agentctl || exit 3; exit 1');
  install(1_000);
  install(900, 'edge-agentctl.new');

  const said = run('exec sh edge-agentctl supervise agent');

  t.deepEqual(said.split('\n').slice(0, 2), ['1000', '900']);
});

test('an agent goes on under a supervisor whose edge-agentctl is an older one now, or gone', (t) => {
  const { place, run, install } = controlled(
    t,
    'ulimit -H -n; [ ! -e again ] || exit 3; mv edge-agentctl.old edge-agentctl 2>/dev/null || touch again; exit 1',
  );
  const olders = ['echo "Usage: edge-agentctl start|stop|restart" >&2\nexit 2\n', 'FILES_MAX=many\nexit 2\n', null];
  for (const older of olders) {
    install(1_000);
    rmSync(join(place, 'again'), { force: true });
    if (older === null)
      writeFileSync(join(place, 'launch'), '#!/bin/sh\nulimit -H -n; rm edge-agentctl || exit 3; exit 1\n');
    else writeFileSync(join(place, 'edge-agentctl.old'), older);

    const said = run('exec sh edge-agentctl supervise agent');

    t.deepEqual(said.split('\n').slice(0, 2), ['1000', '1000'], older ?? 'gone');
    t.true(said.endsWith('ended with status 3 and is not started again'), said);
  }
});

test('the agent of a machine is as open as its commands may need, and keeps its data to itself', (t) => {
  const used = directives('edge-agent');

  t.true(used.includes('StateDirectoryMode=0700'));
  t.false(used.includes('SendSIGKILL=no'), 'one that hangs could not be updated');
  t.deepEqual(
    used.filter((line) => /^(?:Protect|Private|Restrict|Capability|SystemCall|NoNew|User=)/u.test(line)),
    [],
  );
});

for (const name of ['edge-admin', 'edge-relay'])
  test(`${name} begins in a directory of its own that it can write, where what it makes stays`, (t) => {
    const used = directives(name);

    for (const line of [`StateDirectory=${name}`, 'StateDirectoryMode=0700', `WorkingDirectory=/var/lib/${name}`])
      t.true(used.includes(line), line);
  });

test('what packages run when they are installed, and what OpenRC and the plain way run, is plain sh', (t) => {
  const packaged = globSync('deploy/packages/files/*.sh', { cwd: ROOT });
  const { stdout: said } = spawnSync('shellcheck', ['-x', '-s', 'sh', ...packaged], { cwd: ROOT, encoding: 'utf8' });
  t.true(packaged.length >= 8);
  t.is(said, '');
  for (const path of ['deploy/install/edge-agentctl.sh', 'deploy/install/edge-command.sh', 'deploy/launcher.sh'])
    t.is(execFileSync('shellcheck', ['-s', 'sh', join(ROOT, path)], { encoding: 'utf8' }), '', path);
  for (const name of ['edge-agent', 'edge-updater']) {
    const script = readFileSync(join(ROOT, 'deploy/openrc', name), 'utf8').replace('#!/sbin/openrc-run', '#!/bin/sh');
    const { stdout } = spawnSync('shellcheck', ['-s', 'sh', '-e', 'SC2034', '-'], { input: script, encoding: 'utf8' });

    t.is(stdout, '', name);
  }
});
