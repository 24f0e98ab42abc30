/** The program that reads what a script writes: how it is disturbed, and what it may lack (C10). */
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { SHIM_MARK } from '../../../agent/execution/exec-shim/exec-shim-script.ts';
import { scriptEnvironment } from '../../../agent/execution/exec-shim/exec-shims.ts';
import { listProcesses } from '../../../agent/execution/processes.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** Bytes of an output for which the program is started more than once, and of those that are kept of one. */
const READ_BYTES = 5_000_000;
const KEPT_BYTES = 9_000_000;

/** An executor on a machine whose `dd` is what `make` puts at a path. */
function machineWith(t: ExecutionContext, make: (path: string) => void): Fixture {
  const programs = temporaryDirectory(t);
  make(join(programs, 'dd'));
  const environment = scriptEnvironment('a-node', process.env);
  return new Fixture(t, {
    outputBytesMax: KEPT_BYTES,
    environment: { ...environment, PATH: `${programs}:${environment['PATH']}` },
  });
}

/** Writes that much, and a last line. */
const WRITE = `head -c ${READ_BYTES} /dev/zero | tr '\\0' x; echo; echo end`;

/** The ids of those that read what the one running script writes, once something was read. */
async function readersOf({ directory }: Fixture): Promise<number[]> {
  const keepers = join(directory, 'keepers');
  const shim = await until('its first line', () =>
    readdirSync(keepers).find(
      (name) => (statSync(join(keepers, name, 'first'), { throwIfNoEntry: false })?.size ?? 0) > 0,
    ),
  );
  return listProcesses()
    .filter(({ environment }) => environment.includes(`${SHIM_MARK}=${shim}\0`))
    .map(({ pid }) => pid)
    .filter((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'dd\n');
}

const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path));

for (const [name, program] of [
  ['dd', '/bin/dd'],
  ["busybox's", BUSYBOX],
] as const) {
  test(`SIGUSR1, which has ${name} tell its progress, costs no output, from the script or from somebody else`, async (t) => {
    if (program === undefined) {
      t.pass('not tried: there is no busybox here');
      return;
    }
    for (const isOwn of [true, false]) {
      const fixture = machineWith(t, (path) => symlinkSync(program, path));
      const go = join(fixture.directory, 'go');
      const execution = fixture.start(
        `trap '' USR1; echo begun; until [ -e ${go} ]; do sleep 0.02; done
        ${isOwn ? 'kill -USR1 0' : ':'}; echo on; ${WRITE}`,
      );
      const readers = await readersOf(fixture);
      t.is(readers.length, 1);
      if (!isOwn) for (const pid of readers) process.kill(pid, 'SIGUSR1');
      writeFileSync(go, '');

      const { output, ...result } = await fixture.result(execution);

      const outputBytes = 'begun\non\n\nend\n'.length + READ_BYTES;
      t.deepEqual(result, { outcome: 'completed', exitCode: 0, outputTruncated: false, outputBytes });
      t.true(output.startsWith('begun\non\nxxx') && output.endsWith('xxx\nend\n'));
    }
  });
}

test('where the program does not say how much it read, what it is not started for again is told as cut', async (t) => {
  const fixture = machineWith(t, (path) =>
    writeFileSync(path, '#!/bin/sh\nexec /bin/dd "$@" 2>/dev/null', { mode: 0o755 }),
  );

  const [little, much] = [await fixture.run('echo all'), await fixture.run(WRITE)];

  t.deepEqual(little, { outcome: 'completed', exitCode: 0, outputTruncated: false, outputBytes: 4, output: 'all\n' });
  t.like(much, { outcome: 'completed', exitCode: 0, outputTruncated: true });
});

test('a reader that somebody kills ends no script, and its output is told as cut', async (t) => {
  const fixture = new Fixture(t);
  const go = join(fixture.directory, 'go');
  const execution = fixture.start(`echo begun; until [ -e ${go} ]; do sleep 0.02; done; ${WRITE}; exit 3`);
  for (const pid of await readersOf(fixture)) process.kill(pid, 'SIGKILL');

  writeFileSync(go, '');

  t.like(await fixture.result(execution), {
    outcome: 'completed',
    exitCode: 3,
    outputTruncated: true,
    output: 'begun\n',
  });
});
