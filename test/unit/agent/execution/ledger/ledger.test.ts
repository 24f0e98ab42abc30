/** What an agent remembers of executions when its journal has forgotten or lost them (C3). */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { encodeHeader, RECORD_BYTES } from '../../../../../agent/execution/ledger/ledger-record.ts';
import { Ledger } from '../../../../../agent/execution/ledger/ledger.ts';
import { LEDGER_RECORDS_MAX } from '../../../../../agent/execution/ledger/ledger-file.ts';
import { AgentProblem } from '../../../../../agent/problem.ts';
import { machineTimeline } from '../../../../../agent/execution/timeline.ts';
import { silentLog } from '../../../../support/log.ts';
import { delivery, executionId } from '../../../../support/agent/session-fixture.ts';
import { fill, smallDisk } from '../../../../support/small-disk.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const SHIM = '0123456789abcdef01234567';

function ledgerAt(t: ExecutionContext, path: string, lines: string[] = []): Ledger {
  const ledger = new Ledger(path, {
    ...silentLog,
    error: (_fields, line) => {
      lines.push(line);
    },
  });
  t.teardown(() => ledger.close());
  return ledger;
}

/** A ledger in a directory of the test's own. */
function openLedger(t: ExecutionContext) {
  const path = join(temporaryDirectory(t), 'ledger');
  return { path, ledger: ledgerAt(t, path) };
}

const begun = (...numbers: readonly number[]) => numbers.map((n) => ({ execution: executionId(n), shim: SHIM }));

const statesOf = (ledger: Ledger, ...numbers: readonly number[]) => numbers.map((n) => ledger.stateOf(executionId(n)));

const ended = (n: number, output = 'out\n') => ({
  execution: executionId(n),
  outcome: 'completed' as const,
  exitCode: 3,
  output: Buffer.from(output),
});

test('starts, endings and confirmations are there when the ledger is opened again, and nobody else may read them', (t) => {
  const { path, ledger } = openLedger(t);
  t.true(ledger.start(begun(1, 2, 3)));
  ledger.end([ended(2), ended(3), { ...ended(4), outcome: 'cancelled', exitCode: 143 }]);
  ledger.confirm([executionId(3)]);
  ledger.close();

  const next = ledgerAt(t, path);

  t.deepEqual([next.isNew, next.started(), next.unconfirmed()], [false, begun(1), [executionId(2), executionId(4)]]);
  t.deepEqual(statesOf(next, 1, 2, 3, 4, 5), ['started', 'ended', 'confirmed', 'ended', null]);
  t.deepEqual(next.tombstone(executionId(3)), {
    outcome: 'completed',
    exitCode: 3,
    outputBytes: 4,
    outputHash: createHash('sha256').update('out\n').digest('hex'),
  });
  t.is(next.tombstone(executionId(1)), null);
  t.is(statSync(path).mode & 0o777, 0o600);
});

test('a start that is taken back is one that never was', (t) => {
  const { path, ledger } = openLedger(t);
  ledger.start(begun(1));

  ledger.withdraw([executionId(1)]);
  ledger.close();

  t.is(ledgerAt(t, path).stateOf(executionId(1)), null);
});

test('the ledger is bounded in number: the oldest that ended make room, one that runs is never forgotten', (t) => {
  const { path, ledger } = openLedger(t);
  ledger.start(begun(1));
  for (let first = 2; first <= LEDGER_RECORDS_MAX + 100; first += 1_000)
    ledger.end(Array.from({ length: 1_000 }, (_, index) => ended(first + index)));

  t.is(statSync(path).size, RECORD_BYTES * (LEDGER_RECORDS_MAX + 1));
  t.deepEqual(statesOf(ledger, 1, 2, 3, LEDGER_RECORDS_MAX), ['started', null, null, 'ended']);
  ledger.close();
  const next = ledgerAt(t, path);
  next.end([ended(1_000_000)]);
  t.deepEqual(
    [next.stateOf(executionId(1)), next.stateOf(executionId(1_000_000)), next.started().length],
    ['started', 'ended', 1],
  );
});

test('a record that is damaged costs that record, which is said', (t) => {
  const { path, ledger } = openLedger(t);
  ledger.end([ended(1), ended(2), ended(3)]);
  ledger.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from('x'), 0, 1, RECORD_BYTES * 2 + 30);
  closeSync(file);
  const lines: string[] = [];

  const next = ledgerAt(t, path, lines);

  t.deepEqual(statesOf(next, 1, 2, 3), ['ended', null, 'ended']);
  t.deepEqual(lines, [
    '1 records in the ledger of executions are damaged: what they said of executions that ran is lost',
  ]);
});

for (const [what, harm] of [
  [
    'overwritten',
    (path: string) => writeFileSync(path, 'this is no ledger, and long enough to be taken for one'.repeat(100)),
  ],
  ['empty', (path: string) => truncateSync(path, 0)],
  ['cut in its header', (path: string) => truncateSync(path, 20)],
] as const) {
  test(`a ledger that is ${what} is set aside, and a new one begun`, (t) => {
    const directory = temporaryDirectory(t);
    const path = join(directory, 'ledger');
    const first = ledgerAt(t, path);
    first.end([ended(1)]);
    first.close();
    harm(path);

    const next = ledgerAt(t, path);

    t.deepEqual([next.isNew, next.stateOf(executionId(1)), next.start(begun(2))], [true, null, true]);
    t.true(readdirSync(directory).some((name) => name.startsWith('ledger.damaged-')));
  });
}

test('a ledger that was cut in a record keeps the records before it', (t) => {
  const { path, ledger: first } = openLedger(t);
  first.end([ended(1), ended(2), ended(3)]);
  first.close();
  truncateSync(path, RECORD_BYTES * 3 + 5);

  const next = ledgerAt(t, path);
  next.end(Array.from({ length: 50 }, (_, index) => ended(10 + index)));

  t.deepEqual(statesOf(next, 1, 2, 3, 10, 59), ['ended', 'ended', null, 'ended', 'ended']);
});

test('the ledger answers what an admin misses, with its status; unknown ones are lost, journalled ones stay', (t) => {
  const directory = temporaryDirectory(t);
  const ledger = ledgerAt(t, join(directory, 'ledger'));
  ledger.start(begun(1));
  ledger.end([{ ...ended(1), exitCode: 7 }]);
  ledger.confirm([executionId(1)]);
  const journal = new Journal(join(directory, 'journal'), machineTimeline(), silentLog, ledger);
  t.teardown(() => journal.close());
  journal.receive([delivery(3)]);

  const answered = journal.recall([1, 2, 3, 1].map((n) => executionId(n)));

  t.deepEqual(answered, [executionId(1), executionId(2)]);
  t.like(journal.result(executionId(1)), { outcome: 'completed', exitCode: 7, outputTruncated: true });
  t.like(journal.result(executionId(2)), {
    outcome: 'cancelled',
    exitCode: 137,
    outputTruncated: false,
    outputBytes: 0,
  });
  t.is(journal.result(executionId(3)), null);
  t.deepEqual(journal.recall([executionId(1)]), []);
});

test('a ledger of a newer agent stops this one, and is left alone', (t) => {
  const path = join(temporaryDirectory(t), 'ledger');
  const header = encodeHeader(2);
  writeFileSync(path, header);

  const problem = t.throws(() => new Ledger(path, silentLog), { instanceOf: AgentProblem });

  t.regex(problem.message, /the ledger has version 2, this agent knows 1: install a newer agent/u);
  t.deepEqual(readFileSync(path), header);
});

test('on a full disk a ledger that is there takes starts and endings; a missing one is made when there is room', (t) => {
  const disk = smallDisk(t, 1_024);
  if (disk === null) {
    t.pass('not tried: this user cannot mount a disk');
    return;
  }
  const there = ledgerAt(t, join(disk, 'there'));
  const free = fill(disk);
  const missing = ledgerAt(t, join(disk, 'missing'));

  t.true(there.start(begun(1)));
  there.end([ended(1)]);
  t.is(there.problem, null);
  t.false(missing.start(begun(1)));
  t.regex(missing.problem ?? '', /the disk is full/u);
  t.false(existsSync(join(disk, 'missing')));
  free();
  t.true(missing.heal() && missing.start(begun(1)));
  t.is(missing.problem, null);
});

test('a ledger that is opened again goes on behind the execution that came last, not behind the one that ended last', (t) => {
  const { path, ledger } = openLedger(t);
  ledger.start(begun(1, 2, 3));
  for (const n of [3, 2, 1]) {
    ledger.end([ended(n)]);
    ledger.confirm([executionId(n)]);
  }
  ledger.close();

  const next = ledgerAt(t, path);
  next.start(begun(4, 5));

  t.deepEqual(statesOf(next, 1, 2, 3, 4, 5), ['confirmed', 'confirmed', 'confirmed', 'started', 'started']);
});

test('a start that could not be recorded is not remembered as one: sent again it is run, not answered', (t) => {
  const { path, ledger } = openLedger(t);
  const starts = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ execution: executionId(first + index), shim: SHIM }));
  t.true(ledger.start(starts(1, LEDGER_RECORDS_MAX - 1)));
  const [former, latter] = [executionId(LEDGER_RECORDS_MAX), executionId(LEDGER_RECORDS_MAX + 1)];

  t.false(ledger.start(starts(LEDGER_RECORDS_MAX, 2)), 'there is room for one');

  t.deepEqual([ledger.stateOf(former), ledger.stateOf(latter)], [null, null]);
  t.true(ledger.start(starts(LEDGER_RECORDS_MAX + 1, 1)));
  ledger.close();
  const next = ledgerAt(t, path);
  t.deepEqual([next.stateOf(former), next.stateOf(latter)], [null, 'started']);
});

test('a ledger that was cut behind its header takes records again', (t) => {
  const path = join(temporaryDirectory(t), 'ledger');
  ledgerAt(t, path).close();
  truncateSync(path, RECORD_BYTES);

  const ledger = ledgerAt(t, path);

  t.true(ledger.start(begun(1)), ledger.problem ?? '');
  t.is(ledger.stateOf(executionId(1)), 'started');
});

test('a machine that goes down after a start was recorded and before the journal has it does not start it again', (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'journal.db');
  const ledger = ledgerAt(t, join(directory, 'ledger'));
  const journal = new Journal(path, machineTimeline(), silentLog, ledger);
  journal.receive([1, 2, 3].map((n) => delivery(n)));
  const onDisk = ['', '-wal'].map((suffix) => [path + suffix, readFileSync(path + suffix)] as const);
  journal.start(begun(1, 2));
  journal.finish([{ ...ended(2), outputTruncated: false }]);
  journal.close();
  ledger.close();
  for (const [file, content] of onDisk) writeFileSync(file, content);

  const next = new Journal(path, machineTimeline(), silentLog, ledgerAt(t, join(directory, 'ledger')));
  t.teardown(() => next.close());

  t.deepEqual(next.waiting(), [executionId(3)]);
  t.deepEqual(
    next.started().map(({ execution, shim }) => [execution, shim]),
    [[executionId(1), SHIM]],
  );
  t.like(next.result(executionId(2)), { outcome: 'completed', exitCode: 3 });
});
