/** What the journal has on the disk, and when (C5). */
import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { machineTimeline } from '../../../../../agent/execution/timeline.ts';
import { delivery, executionId } from '../../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../../support/log.ts';
import { fill, smallDisk } from '../../../../support/small-disk.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { until } from '../../../../support/until.ts';

const MIB = 1_048_576;

function open(t: ExecutionContext, directory = temporaryDirectory(t)) {
  const path = join(directory, 'journal.db');
  const journal = new Journal(path, machineTimeline(), silentLog);
  t.teardown(() => journal.close());
  return { journal, path, log: `${path}-wal` };
}

const end = (n: number, output = Buffer.from('out')) => ({
  execution: executionId(n),
  outcome: 'completed' as const,
  exitCode: 0,
  outputTruncated: false,
  output,
});

test('its log is made before it is needed: 1 MiB at opening, and no more after 200 commands', (t) => {
  const { journal, log } = open(t);
  const { size } = statSync(log);

  for (let n = 1; n <= 200; n += 1) {
    journal.receive([delivery(n)]);
    journal.finish([end(n)]);
    journal.forget([executionId(n)]);
  }

  t.true(size >= MIB && size < 1.1 * MIB, String(size));
  t.true(statSync(log).size >= MIB && statSync(log).size <= size, String(statSync(log).size));
});

test('the late sync has something to write for each result that nobody confirms, not only for the first', async (t) => {
  const { journal, log } = open(t);
  for (const n of [1, 2, 3]) {
    journal.receive([delivery(n)]);
    journal.finish([end(n)]);
    const before = readFileSync(log);

    await until(`the late sync of result ${n}`, () => !readFileSync(log).equals(before));
  }

  t.deepEqual(journal.finished(), [1, 2, 3].map(executionId));
});

test('a disk without room for the log keeps what room it has, and the journal writes', (t) => {
  const disk = smallDisk(t, 2_048);
  if (disk === null) {
    t.log('not tried: this user cannot mount a disk');
    t.pass();
    return;
  }
  open(t, disk).journal.close();
  fill(disk, MIB / 2);

  const { journal, log } = open(t, disk);

  t.true(statSync(log).size < MIB / 4, String(statSync(log).size));
  t.deepEqual(journal.receive([delivery(1)]).fresh, [executionId(1)]);
  t.is(journal.problem, null);
});

test('after a kill, the log is kept on a full disk, and the next agent writes into it', (t) => {
  const disk = smallDisk(t, 4_096);
  if (disk === null) {
    t.log('not tried: this user cannot mount a disk');
    t.pass();
    return;
  }
  const killed = open(t);
  for (let n = 1; n <= 100; n += 1) {
    killed.journal.receive([delivery(n)]);
    killed.journal.finish([end(n)]);
    killed.journal.forget([executionId(n)]);
  }
  for (const file of ['journal.db', 'journal.db-wal']) copyFileSync(join(killed.path, '..', file), join(disk, file));
  fill(disk);

  const { journal, log } = open(t, disk);
  fill(disk); // another program takes what was given back

  t.true(statSync(log).size >= MIB, String(statSync(log).size));
  t.deepEqual(journal.receive([delivery(101)]).fresh, [executionId(101)]);
  t.is(journal.problem, null);
});
