/** The ends of an output that is over, from the files of its exec shim (C10). */
import fs, { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import test from 'ava';
import * as fc from 'fast-check';
import { CapturedOutput } from '../../../../../agent/execution/output/captured-output.ts';
import { CUT_MARKER, halfBytes, storedOutput } from '../../../../../agent/execution/output/output-limit.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** An output in which no four bytes come twice: numbers, one a line. */
const NUMBERS = Array.from({ length: 2_000 }, (_, index) => `${1_000 + index}\n`).join('');

/** Leaves what an exec shim leaves of the first `length` bytes: all files are of `fileBytes`, the last one begun. */
function capture(directory: string, length: number, fileBytes: number): void {
  const piece = (index: number) => NUMBERS.slice(index * fileBytes, Math.min(length, (index + 1) * fileBytes));
  const last = Math.floor((length - 1) / fileBytes);
  writeFileSync(join(directory, 'first'), piece(0));
  for (const index of [last - 1, last])
    if (index > 0) writeFileSync(join(directory, `ring.${index % 2}`), piece(index));
  writeFileSync(join(directory, 'segment'), last === 0 ? '' : `${last} ${last * fileBytes}\n`);
}

/** Does this while the machine's table of files is full whenever the one of this name is opened. */
function without<T>(name: string, work: () => T): T {
  const { openSync } = fs;
  fs.openSync = (path, ...rest) => {
    if (String(path).endsWith(`/${name}`)) throw Object.assign(new Error('file table overflow'), { code: 'ENFILE' });
    return openSync(path, ...rest);
  };
  syncBuiltinESMExports();
  try {
    return work();
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
}

test('an output is stored with nothing twice, whatever the limit was raised or lowered to since it was captured', (t) => {
  const directory = temporaryDirectory(t);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: NUMBERS.length }),
      fc.integer({ min: 50, max: 1_000 }),
      fc.integer({ min: 60, max: 2 * NUMBERS.length }),
      (length, fileBytes, bytesMax) => {
        capture(directory, length, fileBytes);
        const whole = NUMBERS.slice(0, length);

        const captured = new CapturedOutput(directory).ends(bytesMax, halfBytes(bytesMax) + 4);
        const { output, isCut } = storedOutput(captured, bytesMax);

        const [head = '', tail] = output.toString().split(CUT_MARKER);
        t.true(output.length <= bytesMax);
        t.is(isCut, tail !== undefined);
        t.true(whole.startsWith(head) && whole.endsWith(tail ?? head));
        if (tail === undefined) t.is(head, whole);
        else t.true(head.length + tail.length < length);
      },
    ),
    { numRuns: 500 },
  );
});

test('where the middle of an output was not kept, all that was kept is stored, in two parts', (t) => {
  const directory = temporaryDirectory(t);
  capture(directory, 2_000, 500);

  const captured = new CapturedOutput(directory).ends(4_000, 2_000);

  t.deepEqual(
    [captured.head.toString(), captured.tail?.toString()],
    [NUMBERS.slice(0, 500), NUMBERS.slice(1_000, 2_000)],
  );
});

test('an output of which a file cannot be opened now is not taken for a shorter one', (t) => {
  const directory = temporaryDirectory(t);
  capture(directory, 1_500, 500);
  const output = new CapturedOutput(directory);

  for (const name of ['segment', 'first', 'ring.1', 'ring.0'])
    t.throws(() => without(name, () => output.ends(4_000, 2_000)), { code: 'ENFILE' }, name);

  t.is(output.ends(4_000, 2_000).head.toString(), NUMBERS.slice(0, 1_500));
});
