import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../support/until.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { fill, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test.serial(
  'a script that cannot be written to the disk waits and is said to; it runs when there is room',
  async (t) => {
    const disk = smallDisk(t, 4_096);
    if (disk === null) {
      t.pass('not tried: this user cannot mount a disk');
      return;
    }
    const fixture = new Fixture(t, { concurrency: 1 }, disk);
    const [ran, go] = [join(temporaryDirectory(t), 'ran'), join(temporaryDirectory(t), 'go')];
    const first = fixture.start(`while [ ! -e ${go} ]; do sleep 0.02; done`);
    const second = fixture.start(`touch ${ran}; echo done; # ${'x'.repeat(100_000)}`);
    const free = fill(disk, 65_536);

    fixture.executor.cancel([first]);
    await until('the problem', () => fixture.executor.service.problem() !== null || fixture.journal.problem !== null);
    t.false(existsSync(ran));
    free();

    t.like(await fixture.result(second), { outcome: 'completed', exitCode: 0, output: 'done\n' });
    t.is(fixture.executor.service.problem(), null);
    t.is(fixture.journal.problem, null);
  },
);

test.serial(
  'output that the disk does not take is lost, the script goes on, and the result says that it was cut',
  async (t) => {
    const disk = smallDisk(t, 4_096);
    if (disk === null) {
      t.pass('not tried: this user cannot mount a disk');
      return;
    }
    const fixture = new Fixture(t, {}, disk);
    const go = join(temporaryDirectory(t), 'go');
    const execution = fixture.start(
      `echo begun; while [ ! -e ${go} ]; do sleep 0.02; done; head -c 600000 /dev/zero | tr '\\0' x; exit 3`,
    );
    const keepers = join(disk, 'keepers');
    await until('its first line', () => {
      const [shim = ''] = readdirSync(keepers);
      const files = readdirSync(join(keepers, shim)).map((file) => join(keepers, shim, file));
      return files.some((file) => statSync(file).isFile() && readFileSync(file, 'utf8').startsWith('begun\n'));
    });
    const free = fill(disk, 131_072);

    writeFileSync(go, '');
    // The exit status does not fit either: its exec shim tries again until it does.
    await until('the cut', () =>
      readdirSync(join(disk, 'keepers')).some((shim) => existsSync(join(disk, 'keepers', shim, 'cut'))),
    );
    free();
    const result = await fixture.result(execution);

    t.like(result, { outcome: 'completed', exitCode: 3, outputTruncated: true });
    t.true(result.output.startsWith('begun\nxxx'));
  },
);
