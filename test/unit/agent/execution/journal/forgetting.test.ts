/** What an agent that is killed as it forgets knows afterwards: the journal and the ledger are two files (C3, C5). */
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { FREE_BYTES_MAX } from '../../../../../agent/execution/journal/journal-file.ts';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { Ledger } from '../../../../../agent/execution/ledger/ledger.ts';
import { machineTimeline } from '../../../../../agent/execution/timeline.ts';
import { delivery, executionId } from '../../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../../support/log.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** Dies when it is told that an admin has a result. */
class KilledLedger extends Ledger {
  override confirm(): void {
    throw new Error('killed');
  }
}

function opened(t: ExecutionContext, directory: string, Kind: typeof Ledger) {
  const ledger = new Kind(join(directory, 'ledger'), silentLog);
  const journal = new Journal(join(directory, 'journal.db'), machineTimeline(), silentLog, ledger);
  const close = () => {
    journal.close();
    ledger.close();
  };
  t.teardown(close);
  return { journal, close };
}

test('an agent that is killed between the two says a confirmed result again as it was', (t) => {
  const directory = temporaryDirectory(t);
  const { journal, close } = opened(t, directory, KilledLedger);
  journal.receive([delivery(1)]);
  journal.start([{ execution: executionId(1), shim: 'k1' }]);
  const output = Buffer.from('out 1');
  journal.finish([{ execution: executionId(1), outcome: 'completed', exitCode: 0, outputTruncated: false, output }]);
  t.throws(() => journal.forget([executionId(1)]), { message: 'killed' });
  close();

  const { journal: again } = opened(t, directory, Ledger);

  t.deepEqual(again.finished(), [executionId(1)]);
  t.is(again.output(executionId(1), 0, 100)?.text, 'out 1');
});

const MIB = 1_048_576;

/** What waits through an outage of the admins: outputs of 1 MiB, more than the file keeps room for. */
function waiting(journal: Journal, numbers: readonly number[]): void {
  for (const n of numbers) {
    journal.receive([delivery(n)]);
    const output = Buffer.alloc(MIB, 65);
    journal.finish([{ execution: executionId(n), outcome: 'completed', exitCode: 0, outputTruncated: false, output }]);
  }
}

const RESULTS = Array.from({ length: FREE_BYTES_MAX / MIB + 4 }, (_, n) => n + 1);

test('what results of an outage took on the disk is given back once they are confirmed, and what waits stays', (t) => {
  const directory = temporaryDirectory(t);
  const { journal, close } = opened(t, directory, Ledger);
  const size = (suffix = '') => statSync(join(directory, `journal.db${suffix}`)).size;
  waiting(journal, RESULTS);
  journal.receive([delivery(1_000)]);
  t.true(size() > FREE_BYTES_MAX);

  journal.forget(RESULTS.map(executionId));
  const after = [size(), size('-wal')];
  close();
  const { journal: again } = opened(t, directory, Ledger);

  t.true(Math.max(...after) < 1.1 * MIB, after.join());
  t.deepEqual(again.waiting(), [executionId(1_000)]);
});

test('a journal of before that kept what was deleted from it is made smaller at its opening', (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'journal.db');
  const { journal, close } = opened(t, directory, Ledger);
  waiting(journal, RESULTS);
  journal.receive([delivery(1_000)]);
  close();
  const before = new DatabaseSync(path);
  before.exec("DELETE FROM execution WHERE state = 'finished'");
  before.close();
  t.true(statSync(path).size > FREE_BYTES_MAX);

  const { journal: again } = opened(t, directory, Ledger);

  t.true(statSync(path).size < MIB, String(statSync(path).size));
  t.deepEqual(again.waiting(), [executionId(1_000)]);
});

test('an agent that is killed at any step of it has all that waits', (t) => {
  const directory = temporaryDirectory(t);
  const { journal } = opened(t, directory, Ledger);
  waiting(journal, RESULTS);
  journal.receive([delivery(1_000)]);

  const copies = copiedAtEachStep(directory, () => journal.forget(RESULTS.map(executionId)));

  t.true(copies.some(({ step }) => step === 'VACUUM'));
  for (const { step, copy } of copies) {
    const { journal: again, close } = opened(t, copy, Ledger);
    t.deepEqual(again.waiting(), [executionId(1_000)], step);
    t.true([0, RESULTS.length].includes(again.finished().length), step);
    close();
  }
});

/** The files as they are before each statement that `act` has SQLite do by itself. */
function copiedAtEachStep(directory: string, act: () => void) {
  const copies: { readonly step: string; readonly copy: string }[] = [];
  const exec: (this: DatabaseSync, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec');
  DatabaseSync.prototype.exec = function copyFirst(sql) {
    const copy = join(directory, `copy-${copies.length}`);
    mkdirSync(copy);
    for (const name of ['journal.db', 'journal.db-wal', 'ledger'])
      if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(copy, name));
    copies.push({ step: sql, copy });
    exec.call(this, sql);
  };
  try {
    act();
  } finally {
    DatabaseSync.prototype.exec = exec;
  }
  return copies;
}
