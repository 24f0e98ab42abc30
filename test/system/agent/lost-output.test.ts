/** Output that a disk does not take: it is lost, its script goes on, and the result says so (C10). */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../support/until.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { fill, fillWithFiles, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A script that writes so much once there is `go`; there is `done` when it was read, but for what a pipe holds. */
const written = (bytes: number, directory: string) =>
  `echo begun; until [ -e ${directory}/go ]; do sleep 0.02; done
  head -c ${bytes} /dev/zero | tr '\\0' x; touch ${directory}/done; exit 3`;

/** The directory of the only exec shim that has captured something. */
const capturing = async (keepers: string) =>
  until('its first line', () =>
    readdirSync(keepers)
      .map((shim) => join(keepers, shim))
      .find((shim) => (statSync(join(shim, 'first'), { throwIfNoEntry: false })?.size ?? 0) > 0),
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
    const outside = temporaryDirectory(t);
    const execution = fixture.start(written(600_000, outside));
    await capturing(join(disk, 'keepers'));
    const free = fill(disk, 131_072);

    writeFileSync(join(outside, 'go'), '');
    await until('all of it', () => existsSync(join(outside, 'done')));
    free();
    const result = await fixture.result(execution);

    t.like(result, { outcome: 'completed', exitCode: 3, outputTruncated: true });
    t.true(result.output.startsWith('begun\nxxx'));
  },
);

/** An output that takes the exec shim two files, and that is kept whole when it gets them. */
const TWO_FILES_BYTES = 9_000_000;
const TWO_FILES_BYTES_MAX = 9_437_184;

test.serial(
  'output for which the disk takes no further file is lost, and the result says that it was cut',
  async (t) => {
    const disk = smallDisk(t, 65_536, 0o700, 64);
    if (disk === null) {
      t.pass('not tried: this user cannot mount a disk');
      return;
    }
    const fixture = new Fixture(t, { outputBytesMax: TWO_FILES_BYTES_MAX }, disk);
    const outside = temporaryDirectory(t);
    const execution = fixture.start(written(TWO_FILES_BYTES, outside));
    await capturing(join(disk, 'keepers'));
    const free = fillWithFiles(disk);

    writeFileSync(join(outside, 'go'), '');
    await until('all of it', () => existsSync(join(outside, 'done')));
    free();

    const { output, ...result } = await fixture.result(execution);
    t.like(result, { outcome: 'completed', exitCode: 3, outputTruncated: true });
    t.true(output.startsWith('begun\nxxx'));
  },
);

test.serial('output of which the disk does not take where it goes on is lost, and the result says so', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: TWO_FILES_BYTES_MAX });
  const execution = fixture.start(written(TWO_FILES_BYTES, fixture.directory));
  mkdirSync(join(await capturing(join(fixture.directory, 'keepers')), 'segment'));

  writeFileSync(join(fixture.directory, 'go'), '');

  const { output, ...result } = await fixture.result(execution);
  t.like(result, { outcome: 'completed', exitCode: 3, outputTruncated: true });
  t.true(output.startsWith('begun\nxxx'));
});

test.serial('an output of as many files that the disk takes is whole', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: TWO_FILES_BYTES_MAX });
  const execution = fixture.start(written(TWO_FILES_BYTES, fixture.directory));

  writeFileSync(join(fixture.directory, 'go'), '');

  const { output: _output, ...result } = await fixture.result(execution);
  const outputBytes = 'begun\n'.length + TWO_FILES_BYTES;
  t.deepEqual(result, { outcome: 'completed', exitCode: 3, outputTruncated: false, outputBytes });
});
