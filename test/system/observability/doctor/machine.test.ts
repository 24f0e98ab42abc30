/** Checks of what the agent lives on, against disks that are full and systems that are short. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { diagnose, type Check } from '../../../../agent/observability/doctor/check.ts';
import { diskCheck, resourceChecks, systemCheck } from '../../../../agent/observability/doctor/machine.ts';
import type { DiagnosisCheck } from '../../../../transport/protocol/diagnosis.ts';
import { fill, smallDisk } from '../../../support/small-disk.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function look(check: Check): Promise<DiagnosisCheck> {
  const {
    checks: [found],
  } = await diagnose([check]);
  if (found === undefined) throw new Error('no check');
  return found;
}

test('a disk with room passes, a small one is warned of, and one that is full fails until it is emptied', async (t) => {
  t.pass();
  const [large, small] = [smallDisk(t, 1_048_576), smallDisk(t, 65_536)];
  if (large === null || small === null) return t.log('left out: this user may not mount a small disk');
  const [passing, warning] = [await look(diskCheck({ directory: large })), await look(diskCheck({ directory: small }))];
  const empty = fill(small);
  const failing = await look(diskCheck({ directory: small }));
  empty();
  const emptied = await look(diskCheck({ directory: small }));

  t.deepEqual(
    [passing, warning, failing, emptied].map(({ status }) => status),
    ['pass', 'warn', 'fail', 'warn'],
  );
  t.is(
    failing.summary,
    '0 MiB are free where the agent keeps its data: once none is, commands wait and outputs are cut.',
  );
});

test('a disk that has room and no inodes fails', async (t) => {
  t.pass();
  const directory = temporaryDirectory(t);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1g,nr_inodes=40', 'tmpfs', directory], { stdio: 'ignore' });
  } catch {
    return t.log('left out: this user may not mount a disk');
  }
  t.teardown(() => {
    execFileSync('umount', ['-l', directory]);
  });

  const found = await look(diskCheck({ directory }));

  t.is(found.status, 'fail');
  t.regex(found.summary, /files can still be made/u);
});

test('a directory that is gone is a failure of the check, with the word of the system', async (t) => {
  const found = await look(diskCheck({ directory: join(temporaryDirectory(t), 'gone') }));

  t.deepEqual([found.status, found.summary], ['fail', 'This check itself failed: ENOENT.']);
});

/**
 * A /proc with so much memory left, in percent, stalled for so much of the time, and with so many files open of 100.
 */
function systemWith(t: ExecutionContext, percent: number, stalled: number | null, open: number): string {
  const proc = temporaryDirectory(t);
  mkdirSync(join(proc, 'self/fd'), { recursive: true });
  mkdirSync(join(proc, 'pressure'));
  writeFileSync(
    join(proc, 'meminfo'),
    `MemTotal:        1000000 kB\nMemFree:  1 kB\nMemAvailable:    ${percent * 10_000} kB\n`,
  );
  if (stalled !== null)
    writeFileSync(
      join(proc, 'pressure/memory'),
      `some avg10=90.00 avg60=90.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=${stalled}.00 avg300=0.00 total=1\n`,
    );
  writeFileSync(
    join(proc, 'self/limits'),
    'Limit                     Soft Limit           Hard Limit           Units\nMax open files            100                  1000                 files\n',
  );
  for (let index = 0; index < open; index += 1) writeFileSync(join(proc, 'self/fd', String(index)), '');
  return proc;
}

test('memory that runs out, and memory that everything waits for, are told; as are file descriptors', async (t) => {
  const systems = [
    [50, 0, 10],
    [50, null, 81],
    [50, 20, 96],
    [8, 0, 10],
    [2, 50, 10],
  ] as const;

  const found = await Promise.all(
    systems.map(async ([percent, stalled, open]) =>
      diagnose(resourceChecks({ proc: systemWith(t, percent, stalled, open) })),
    ),
  );

  t.deepEqual(
    found.map(({ checks }) => checks.map(({ status }) => status)),
    [
      ['pass', 'pass'],
      ['pass', 'warn'],
      ['warn', 'fail'],
      ['warn', 'pass'],
      ['fail', 'pass'],
    ],
  );
  t.regex(found[4]?.checks[0]?.summary ?? '', /^2 % of the memory is left/u);
});

test('this system tells how much memory and how many descriptors there are, and what runs', async (t) => {
  const { checks } = await diagnose([...resourceChecks({ proc: '/proc' }), systemCheck({ version: '1.2.3' })]);

  t.true(
    checks.every(({ details }) => details !== null && Object.keys(details).length > 1),
    JSON.stringify(checks),
  );
  t.regex(checks[2]?.summary ?? '', /^Agent 1\.2\.3 runs on Node 24/u);
});
