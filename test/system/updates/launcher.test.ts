/** The launcher by the shells that machines have: what it starts when files are damaged. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, rmSync, truncateSync, writeFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { linkedName } from '../../../agent/updater/durable.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { scaled } from '../../support/busy.ts';
import { peerTest, type PeerTest } from '../../support/run/peer-test.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { Supervisor } from '../../support/updater/supervisor.ts';
import { until } from '../../support/until.ts';
import type { Serving } from '../../support/updater/small-agent.ts';
import { updaterFixture, type UpdaterFixture } from '../../support/updater/fixture.ts';

const LAUNCHER = join(ROOT, 'deploy/launcher.sh');

/** Shells of machines, by the words that run a script. */
const SHELLS: readonly { readonly shell: readonly string[]; readonly tested: PeerTest }[] = [
  { shell: ['dash'], tested: test },
  { shell: ['busybox', 'sh'], tested: await peerTest('busybox') },
  { shell: ['bash', '--posix'], tested: test },
];

/** An updater that says nothing for so long hangs: by then its process has started on a busy machine too. In s. */
const SILENT_S = Math.ceil(scaled(2_000) / 1_000);

function launch(
  machine: UpdaterFixture,
  words: readonly string[],
  [shell = 'sh', ...more]: readonly string[] = ['sh'],
) {
  const { stdout, stderr, status } = spawnSync(shell, [...more, LAUNCHER, ...words], {
    env: { PATH: process.env['PATH'], UPDATER_DIR: machine.layout.directory, AGENT_DATA_DIR: machine.dataDirectory },
    encoding: 'utf8',
  });
  return { said: stdout.trim(), told: stderr.trim(), status };
}

/** Two versions, 0.1.0 before 0.2.0. */
async function installed(t: ExecutionContext, updater: Serving = 'ends'): Promise<UpdaterFixture> {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0', 'well', updater);
  const { outcome } = await machine.update();
  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  await machine.agent.stop();
  return machine;
}

const pathOf = ({ layout }: UpdaterFixture, file: string) => join(layout.current, file);

for (const { shell, tested } of SHELLS)
  tested(`${shell.join(' ')} starts the current version, or the one before where that is damaged`, async (t) => {
    const machine = await installed(t);
    const before = linkedName(machine.layout.previous) ?? '';
    const { verified } = machine.layout;

    t.like(launch(machine, ['agent', '--version'], shell), { said: '0.2.0', told: '', status: 0 });
    rmSync(verified);
    t.like(launch(machine, ['agent', '--version'], shell), { said: '0.2.0', told: '', status: 0 });
    t.regex(readFileSync(verified, 'utf8'), /^[\da-f-]{36} 0\.2\.0-[\da-f]{8}\n$/u);
    // the hash is another one, and it is the first start after a boot
    const agent = pathOf(machine, 'edge-agent.cjs');
    writeFileSync(agent, Buffer.alloc(statSync(agent).size));
    rmSync(verified);
    const fallen = launch(machine, ['updater', '--version'], shell);

    t.like(fallen, { said: '0.1.0', status: 0 });
    t.regex(fallen.told, /the files of 0\.2\.0-[\da-f]{8} are damaged\nlaunch: 0\.1\.0-[\da-f]{8} is started instead/u);
    t.is(readlinkSync(machine.layout.current), `versions/${before}`);
  });

// bash ends with 254 there, after 15 s
for (const { shell, tested } of SHELLS.filter(({ shell: [name] }) => name !== 'bash'))
  tested(`${shell.join(' ')} that can start no process does not end as for a wrong setting: it is tried again`, (t) => {
    // root has no such limit: another user with this one process
    const limited = ['--nproc=1:1', 'setpriv', '--reuid=54321', '--regid=54321', '--clear-groups', ...shell];
    const words = ['-c', readFileSync(LAUNCHER, 'utf8'), 'launch', 'agent'];
    const { stderr, status } = spawnSync('prlimit', [...limited, ...words], { encoding: 'utf8' });

    if (!/fork/u.test(stderr)) t.pass('not tried: this user sets no such limit');
    else t.false([0, 2, 3, 4].includes(status ?? 0), `${status}: ${stderr}`);
  });

test('a file that is cut is noticed at every start, a missing runtime and a damaged manifest too', async (t) => {
  const damages: readonly ((machine: UpdaterFixture) => void)[] = [
    (machine) => truncateSync(pathOf(machine, 'edge-updater.cjs'), 3),
    (machine) => rmSync(pathOf(machine, 'edge-agent.cjs')),
    (machine) => writeFileSync(pathOf(machine, 'manifest'), Buffer.alloc(200)),
    (machine) => writeFileSync(pathOf(machine, 'manifest'), 'edge-release 1 3\n'),
    (machine) => rmSync(pathOf(machine, 'manifest')),
    (machine) => rmSync(pathOf(machine, 'runtime')),
    (machine) => rmSync(machine.layout.current),
  ];
  for (const damage of damages) {
    const machine = await installed(t);
    damage(machine);

    t.like(launch(machine, ['agent', '--version']), { said: '0.1.0', status: 0 });
  }
});

test('where no version is whole it says so, and starts nothing', async (t) => {
  const machine = await installed(t);
  execFileSync('sh', ['-c', `rm -r ${machine.layout.versions}/*/edge-agent.cjs`]);

  const { told, status } = launch(machine, ['agent', '--version']);

  t.is(status, 1);
  t.regex(told, /no version in \S+versions is whole: install again$/u);
});

test('an updater that does not come up makes way for the one before, and is tried again at the next start', async (t) => {
  const machine = await installed(t);
  const start = () => launch(machine, ['updater']).told;
  // these stand-ins end at once, as an updater does that crashes

  const told = [start(), start(), start(), start(), start()];

  t.deepEqual(
    told.map((text) => /that of 0\.1\.0-\S+ is started/u.test(text)),
    [false, false, false, true, false],
  );
  t.is(machine.current(), '0.2.0');
});

/** Its updater kept running; one that gives no sign of life for SILENT_S hangs. */
function updaterOf(t: ExecutionContext, { layout: { directory } }: UpdaterFixture): Supervisor {
  const env = { UPDATER_DIR: directory, EDGE_UPDATER_SILENT_SECONDS: `${SILENT_S}` };
  const updater = new Supervisor(t, 'updater', env, join(directory, 'updater.pid'));
  updater.start();
  return updater;
}

test('an updater that hangs is ended, and makes way for the one before at once', async (t) => {
  const machine = await installed(t, 'hangs');
  writeFileSync(machine.layout.updaterAlive, ''); // of one that was killed amid an update

  const updater = updaterOf(t, machine);

  await until('the updater before', () => updater.output.includes('ok 0.1.0'));
  t.regex(
    updater.output.replace(` ${SILENT_S} s:`, ' long:'),
    /^ok 0\.2\.0\nlaunch: the updater of 0\.2\.0-\S+ gave no sign of life for long: that of 0\.1\.0-\S+ is started\nok 0\.1\.0\n/u,
  );
  t.is(machine.current(), '0.2.0');
});

test('an updater that says it lives is let be, and one that came up is not looked at any more', async (t) => {
  const machine = await installed(t, 'lives');
  const updater = updaterOf(t, machine);
  const { pid } = updater;
  await until('it serves', () => existsSync(machine.layout.updaterAlive));

  // That it is let be is seen by time alone: twice the silence that ends one.
  await sleep(2_000 * SILENT_S);
  rmSync(machine.layout.updaterStarts);
  await sleep(scaled(500)); // it touches the file no more
  rmSync(machine.layout.updaterAlive);
  await sleep(2_000 * SILENT_S);

  t.is(updater.pid, pid);
  t.is(updater.output, 'ok 0.2.0\n');
});

test('starts of the agent are noted for the updater, the last twenty of this boot', async (t) => {
  const machine = await installed(t);
  writeFileSync(machine.layout.agentStarts, 'another-boot 5.00\n'.repeat(30));
  for (let starts = 0; starts < 25; starts += 1)
    spawnSync(
      'sh',
      // where it can keep nothing it ends at once
      [
        '-c',
        `UPDATER_DIR=${machine.layout.directory} AGENT_DATA_DIR=/dev/null/x timeout -s KILL 5 sh ${LAUNCHER} agent`,
      ],
      { env: { PATH: process.env['PATH'] } },
    );

  const lines = readFileSync(machine.layout.agentStarts, 'utf8').trim().split('\n');

  t.is(lines.length, 20);
  t.true(
    lines.every((line) => /^[\da-f-]{36} \d+\.\d+$/u.test(line)),
    lines.join('; '),
  );
  t.false(existsSync(join(machine.layout.directory, 'current.new')));
});

test('words that are no role are refused', async (t) => {
  const { told, status } = launch(await updaterFixture(t), ['admin']);

  t.deepEqual([told, status], ['launch: what is to be started? launch agent, or launch updater', 2]);
});
