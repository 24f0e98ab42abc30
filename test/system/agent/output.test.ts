/** What is kept of what a script writes (C10). */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { CUT_MARKER } from '../../../agent/execution/output/output-limit.ts';
import { scaled } from '../../support/busy.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { until } from '../../support/until.ts';

test.serial('writing to /dev/stderr and /dev/stdout by name adds to the output and wipes nothing', async (t) => {
  const fixture = new Fixture(t);

  t.is(
    (await fixture.run('echo one; echo two >/dev/stderr; echo three >/dev/stdout; echo four')).output,
    'one\ntwo\nthree\nfour\n',
  );
});

test.serial('invalid UTF-8 and NUL are replaced, a missing last newline stays missing', async (t) => {
  const fixture = new Fixture(t);

  t.is((await fixture.run("printf 'a\\377b\\000c\\303\\251'")).output, 'a\uFFFDb\uFFFDcé');
});

test.serial('an output over the limit keeps its first and last halves exactly, and says so', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: 10_000 });
  const half = Math.floor((10_000 - CUT_MARKER.length) / 2);
  const whole = Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join('');

  const result = await fixture.run('i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done');

  t.true(result.outputTruncated);
  t.is(result.output, whole.slice(0, half) + CUT_MARKER + whole.slice(-half));
});

test.serial('an output at the limit is whole, and one byte more is cut', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: 4_096 });

  t.like(await fixture.run('head -c 4096 /dev/zero | tr "\\0" x'), { outputTruncated: false, outputBytes: 4_096 });
  // two equal halves and the marker
  t.like(await fixture.run('head -c 4097 /dev/zero | tr "\\0" x'), { outputTruncated: true, outputBytes: 4_095 });
});

test.serial(
  'what is stored of an output is streamed from any place on when it is whole, and not when it was cut',
  async (t) => {
    const fixture = new Fixture(t, { outputBytesMax: 4_096 });
    const whole = fixture.start('echo one; echo two');
    const cut = fixture.start('seq 1 10000');
    await fixture.result(whole);
    await fixture.result(cut);

    const cursor = fixture.executor.tail(whole, 4, () => {});
    t.deepEqual(cursor?.read(1_000), { offset: 4, text: 'two\n' });
    t.deepEqual([cursor?.read(1_000), cursor?.ended], [null, true]);

    t.deepEqual(
      [0, 2_000, 4_000, 48_894].map((offset) => fixture.executor.tail(cut, offset, () => {})),
      [null, null, null, null],
      'its places are not those of the live output',
    );
  },
);

test.serial('an output of many files of the ring keeps its ends, whatever its length', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: 100_000 });
  const half = Math.floor((100_000 - CUT_MARKER.length) / 2);
  for (const mebibytes of [5, 13, 40]) {
    const result = await fixture.run(`seq 1 100000000 | head -c ${mebibytes * 1_048_576 - 3}; echo; echo last`);

    t.true(result.outputTruncated);
    t.true(result.output.startsWith('1\n2\n3\n'), String(mebibytes));
    t.true(result.output.endsWith('\nlast\n'), String(mebibytes));
    const lines = result.output
      .slice(half + CUT_MARKER.length)
      .split('\n')
      .slice(1, -3)
      .map(Number);
    t.true(
      lines.every((line, index) => index === 0 || line === (lines[index - 1] ?? 0) + 1),
      'no line is missing in the last half',
    );
    t.is(result.outputBytes, 2 * half + CUT_MARKER.length);
  }
});

test.serial('a process that writes gigabytes costs a bounded amount of disk', async (t) => {
  const fixture = new Fixture(t);
  const execution = fixture.start('yes 0123456789', { timeout_ms: scaled(1_500) }); // it has begun by then
  let most = 0;
  const look = setInterval(() => {
    for (const shim of readdirSync(join(fixture.directory, 'keepers'))) {
      const directory = join(fixture.directory, 'keepers', shim);
      const sizes = readdirSync(directory).map(
        (file) => statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0,
      );
      most = Math.max(
        most,
        sizes.reduce((sum, size) => sum + size, 0),
      );
    }
  }, 20);

  const result = await fixture.result(execution);

  clearInterval(look);
  t.like(result, { outcome: 'completed', exitCode: 124, outputTruncated: true });
  t.true(most < 16 * 1_048_576, `${most} bytes at most`);
});

test.serial('what a script prints when it is asked to end is kept', async (t) => {
  const fixture = new Fixture(t);
  const execution = fixture.start('trap "echo bye; exit 0" TERM; echo hi; while :; do sleep 0.05; done');
  const seen: string[] = [];
  const cursor = fixture.executor.tail(execution, 0, () => {
    seen.push(cursor?.read(1_000)?.text ?? '');
  });
  await until('its output', () => seen.join('').includes('hi'));

  fixture.executor.cancel([execution]);

  const result = await fixture.result(execution);
  t.like(result, { outcome: 'cancelled', exitCode: 143 });
  // the shell says so of its sleep, which got the signal as well
  t.regex(result.output, /^hi\n(?:Terminated\n)?bye\n$/);
});
