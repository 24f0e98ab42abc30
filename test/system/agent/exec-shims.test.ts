/** What becomes of the directory of an exec shim, whatever the script left in it. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { SCRIPT_DIRECTORY } from '../../../agent/execution/exec-shim/exec-shim-script.ts';
import { removeTree } from '../../../agent/removal.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { NOBODY } from '../../support/agent/sftp-process.ts';
import { recordingLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a directory that a process fills while it is removed ends nobody, and is removed once it rests', async (t) => {
  const home = temporaryDirectory(t);
  const directory = join(home, 'keeper');
  mkdirSync(directory);
  const writer = spawn(
    '/bin/sh',
    ['-c', 'i=0; while :; do i=$((i+1)); { : > "$0/$i"; } 2>/dev/null; done', directory],
    { stdio: 'ignore' },
  );
  t.teardown(() => writer.kill('SIGKILL'));
  await until('some files', () => readdirSync(directory).length > 10);

  for (let time = 0; time < 20; time += 1) {
    mkdirSync(directory, { recursive: true });
    // so that removing takes a moment
    for (let file = 0; file < 500; file += 1) writeFileSync(join(directory, `full-${file}`), '');
    t.notThrows(() => removeTree(directory));
  }

  writer.kill('SIGKILL');
  await once(writer, 'exit');
  t.is(removeTree(directory), null);
  t.false(existsSync(directory));
});

/** Puts a link in the place of a directory as soon as something goes from it. */
const EXCHANGER = `
  const { renameSync, statSync, symlinkSync } = require('node:fs');
  const [place, target] = process.argv.slice(1);
  const { mtimeNs: before } = statSync(place, { bigint: true });
  process.stdout.write('ready');
  while (statSync(place, { bigint: true }).mtimeNs === before);
  renameSync(place, place + '-aside');
  symlinkSync(target, place);`;

test('a directory that becomes a link while it is removed leads nowhere: what the link names stays', async (t) => {
  const home = temporaryDirectory(t);
  const [directory, outside] = [join(home, 'keeper'), join(home, 'outside')];
  const [exchanged, names] = [join(directory, 'x'), Array.from({ length: 5_000 }, (_, number) => `file-${number}`)];
  for (const path of [outside, exchanged]) {
    mkdirSync(path, { recursive: true });
    for (const name of names) writeFileSync(join(path, name), '');
  }
  const exchanger = spawn(process.execPath, ['-e', EXCHANGER, exchanged, outside], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => exchanger.kill('SIGKILL'));
  const ended = once(exchanger, 'exit');
  await once(exchanger.stdout, 'data');

  removeTree(directory);
  await ended;

  t.is(readdirSync(outside).length, names.length);
  t.is(removeTree(directory), null);
  t.false(existsSync(directory));
});

/** Makes directories in each other, as a script that goes down into each of them can: no path leads to the last. */
function nest(directory: string, name: string, levels: number): void {
  execFileSync(
    '/bin/sh',
    ['-c', 'i=0; while [ $i -lt "$1" ]; do mkdir "$0" && cd -P "$0" || exit 1; i=$((i+1)); done', name, String(levels)],
    { cwd: directory, stdio: 'ignore' },
  );
}

test('a tree that goes deeper than a path can tell is removed, and one of more levels than are opened at once', (t) => {
  for (const [name, levels] of [
    ['n'.repeat(200), 30],
    ['n', 450],
  ] as const) {
    const home = join(temporaryDirectory(t), 'home');
    mkdirSync(home);
    nest(home, name, levels);

    t.is(removeTree(home), null);
    t.false(existsSync(home));
  }
});

/** Binds a directory with one file into `place`. Null: this user mounts nothing. Its answer says what is there now. */
function bind(t: ExecutionContext, place: string) {
  const source = temporaryDirectory(t);
  writeFileSync(join(source, 'precious'), '');
  mkdirSync(place);
  if (spawnSync('mount', ['--bind', source, place]).status !== 0) return null;
  let isThere = true;
  const unmount = () => {
    if (isThere) execFileSync('umount', [place]);
    isThere = false;
  };
  t.teardown(unmount);
  return { left: () => readdirSync(source), unmount };
}

test('what is mounted in a directory, by names of any kind, stays with the way to it, and all else goes', (t) => {
  const home = join(temporaryDirectory(t), 'a home');
  mkdirSync(join(home, 'deep/empty'), { recursive: true });
  writeFileSync(join(home, 'deep/file'), '');
  writeFileSync(Buffer.concat([Buffer.from(`${home}/`), Buffer.from([0xff, 0xfe])]), '');
  symlinkSync('/', join(home, 'link'));
  const mount = bind(t, join(home, 'deep/a röot\\'));
  if (mount === null) {
    t.pass('only root mounts');
    return;
  }

  const problem = removeTree(home);
  const left = readdirSync(home, { recursive: true });
  const kept = mount.left();
  mount.unmount();

  t.is(problem, `${home}/deep/a röot\\ is a mount point`);
  t.deepEqual(left, ['deep', 'deep/a röot\\', 'deep/a röot\\/precious']);
  t.deepEqual(kept, ['precious']);
  t.is(removeTree(home), null);
  t.false(existsSync(home));
});

test('a directory that is a mount point itself is not emptied', (t) => {
  const home = join(temporaryDirectory(t), 'home');
  const mount = bind(t, home);
  if (mount === null) {
    t.pass('only root mounts');
    return;
  }

  t.is(removeTree(home), `${home} is a mount point`);
  t.deepEqual(mount.left(), ['precious']);
});

test("another user's files in a directory of another user stay, and all else goes", (t) => {
  if (process.getuid?.() !== 0) {
    t.pass('only root has files of two users');
    return;
  }
  const home = join(temporaryDirectory(t, 0o755), 'home');
  mkdirSync(join(home, 'out'), { recursive: true });
  for (const file of ['out/built', 'roots', 'script']) writeFileSync(join(home, file), '');
  for (const mine of [dirname(home), home, join(home, 'script')]) chownSync(mine, NOBODY.uid, NOBODY.gid);

  process.seteuid?.(NOBODY.uid);
  const problem = removeTree(home);
  process.seteuid?.(0);

  t.is(problem, `${home}/out/built: no permission`);
  t.deepEqual(readdirSync(home, { recursive: true }), ['out', 'out/built']);
});

test('a script that leaves a mount beside itself ends as any other, and its directory goes at the first start without', async (t) => {
  const log = recordingLog();
  const fixture = new Fixture(t, { log });
  const keepers = join(fixture.directory, 'keepers');
  const execution = fixture.start(
    `cd "$(dirname "$0")"; touch made; pwd; while [ ! -e ../../../go ]; do sleep 0.02; done`,
  );
  const directory = await until('the directory', () => {
    const [home] = readdirSync(keepers)
      .map((name) => join(keepers, name))
      .filter((home) => existsSync(join(home, SCRIPT_DIRECTORY, 'made')));
    return home;
  });
  const own = join(directory, SCRIPT_DIRECTORY);
  const mount = bind(t, join(own, 'root'));
  if (mount === null) {
    t.pass('only root mounts');
    return;
  }
  writeFileSync(join(fixture.directory, 'go'), '');

  const result = await fixture.result(execution);
  const told = await log.seen(/left something beside its script/u);
  const left = readdirSync(directory, { recursive: true });
  fixture.journal.forget([execution]);
  fixture.executor.recover();
  const toldAgain = await log.seen(/Former executions left something/u);
  const isRunningAgain = fixture.journal.started().length > 0;
  mount.unmount();
  fixture.executor.recover();

  t.like(result, { outcome: 'completed', exitCode: 0, output: `${own}\n` });
  t.deepEqual(told.fields, { execution, path: directory, problem: `${own}/root is a mount point` });
  t.deepEqual(left, [SCRIPT_DIRECTORY, `${SCRIPT_DIRECTORY}/root`, `${SCRIPT_DIRECTORY}/root/precious`]);
  t.deepEqual(toldAgain.fields, { path: directory, problem: `${own}/root is a mount point`, executions: 1 });
  t.false(isRunningAgain);
  t.deepEqual(mount.left(), ['precious']);
  t.false(existsSync(directory));
});

test('a directory whose start lock names no execution goes at the next start, and nothing is told of it', (t) => {
  const fixture = new Fixture(t);
  const directory = join(fixture.directory, 'keepers/left');
  mkdirSync(directory);
  writeFileSync(join(directory, 'claim'), '2147480000 nothing\n');

  fixture.executor.recover();

  t.deepEqual(fixture.journal.started(), []);
  t.false(existsSync(directory));
});

for (const [place, script, output] of [
  ['a link to itself in place of its output', 'rm first; ln -s first first', ''],
  ['a directory in place of its output', 'rm first; mkdir first', ''],
  ['a link to itself in place of a further piece of it', 'echo "1 4" >segment; ln -s ring.1 ring.1', 'out\n'],
  ['a place of the next piece that is none', 'echo "1.5 3" >segment', 'out\n'],
  ['a place of the next piece that is too far to count', 'echo "1 1152921504606846976" >segment', 'out\n'],
] as const)
  test(`a script that leaves ${place} ends as any other, also at the next agent`, async (t) => {
    const fixture = new Fixture(t);
    const directory = join(fixture.directory, 'keepers');
    const hasMade = (file: string) => readdirSync(directory).some((home) => existsSync(join(directory, home, file)));
    const execution = fixture.start(
      `cd "$(dirname "$0")/.."; echo out; until [ -s first ]; do sleep 0.02; done
      touch ready; until [ -e ../../go ]; do sleep 0.02; done; ${script}; touch done`,
    );
    await until('the output is captured', () => hasMade('ready'));
    fixture.executor.detach(); // before the end: that removes the directory
    writeFileSync(join(fixture.directory, 'go'), '');
    await until('the script has ended', () => hasMade('done'));

    fixture.journal.close();
    const next = new Fixture(t, {}, fixture.directory);
    next.executor.recover();

    t.like(await next.result(execution), { outcome: 'completed', exitCode: 0, output });
  });
