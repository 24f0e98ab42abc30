/** The agent's record of what it received, started and finished (C3, C5). */
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { openJournal } from '../../../../../agent/execution/journal/open-journal.ts';
import { AgentProblem } from '../../../../../agent/problem.ts';
import type { Timeline } from '../../../../../agent/execution/timeline.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../../../../transport/protocol/limits.ts';
import { fill, smallDisk } from '../../../../support/small-disk.ts';
import { silentLog } from '../../../../support/log.ts';
import { refusing } from '../../../../support/agent/refused-writes.ts';
import { delivery, executionId } from '../../../../support/agent/session-fixture.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

interface Time {
  bootId: string;
  monotonicMs: number;
  wallMs: number;
}

function timelineOf(time: Time): Timeline {
  return {
    get bootId() {
      return time.bootId;
    },
    monotonicMs: () => time.monotonicMs,
    aliveMs: () => time.monotonicMs,
    wallMs: () => time.wallMs,
  };
}

function journalIn(
  t: ExecutionContext,
  directory = temporaryDirectory(t),
  time: Time = { bootId: 'boot', monotonicMs: 0, wallMs: 1_000_000 },
) {
  const path = join(directory, 'journal.db');
  const journal = new Journal(path, timelineOf(time), silentLog);
  t.teardown(() => journal.close());
  return { journal, path, directory, time };
}

const END = { outcome: 'completed', exitCode: 0, outputTruncated: false } as const;

test('what was received, started and finished is there when the journal is opened again', (t) => {
  const { journal, path, time } = journalIn(t);
  journal.receive([1, 2, 3, 4].map((n) => delivery(n)));
  journal.start([
    { execution: executionId(2), shim: 'k2' },
    { execution: executionId(3), shim: 'k3' },
  ]);
  journal.finish([{ ...END, execution: executionId(3), exitCode: 7, output: Buffer.from('out') }]);
  journal.close();

  const again = new Journal(path, timelineOf(time), silentLog);
  t.teardown(() => again.close());

  t.deepEqual(again.holding(), [1, 2, 3, 4].map(executionId));
  t.deepEqual(again.waiting(), [executionId(1), executionId(4)]);
  t.deepEqual(
    again.started().map(({ execution, shim }) => [execution, shim]),
    [[executionId(2), 'k2']],
  );
  t.deepEqual(again.finished(), [executionId(3)]);
  t.deepEqual(again.result(executionId(3)), {
    outcome: 'completed',
    exitCode: 7,
    outputTruncated: false,
    outputBytes: 3,
  });
  t.false(existsSync(`${path}-shm`), 'nobody else is let in');
  t.is(statSync(path).mode & 0o777, 0o600);
});

test('only finished executions are forgotten on a confirm, any on a settle', (t) => {
  const { journal } = journalIn(t);
  journal.receive([1, 2].map((n) => delivery(n)));
  journal.finish([{ ...END, execution: executionId(1), output: Buffer.alloc(0) }]);

  journal.forget([executionId(1), executionId(2), executionId(3)]);
  t.deepEqual(journal.holding(), [executionId(2)]);

  journal.erase([executionId(2)]);
  t.deepEqual(journal.holding(), []);
});

test('a finished execution stays as it ended, and a started one does not start again', (t) => {
  const { journal } = journalIn(t);
  journal.receive([delivery(1)]);
  journal.start([{ execution: executionId(1), shim: 'k' }]);
  t.is(journal.load(executionId(1)), null);
  journal.finish([{ ...END, execution: executionId(1), output: Buffer.from('first') }]);

  journal.finish([{ ...END, execution: executionId(1), exitCode: 1, output: Buffer.from('second') }]);

  t.like(journal.result(executionId(1)), { exitCode: 0, outputBytes: 5 });
  t.deepEqual(journal.receive([delivery(1)]), { acknowledged: [executionId(1)], fresh: [] });
  t.deepEqual(journal.waiting(), []);
});

test('the journal holds as many executions as hello can name, and refuses the rest', (t) => {
  const { journal } = journalIn(t);
  journal.receive(Array.from({ length: EXECUTIONS_PER_FRAME_MAX - 1 }, (_, n) => delivery(n)));

  const { acknowledged, fresh } = journal.receive([delivery(5_000), delivery(5_001), delivery(3)]);

  t.deepEqual(fresh, [executionId(5_000)]);
  t.deepEqual(acknowledged, [executionId(3), executionId(5_000)]);
  t.is(journal.holding().length, EXECUTIONS_PER_FRAME_MAX);
});

test('an output is read in pieces that split no code point', (t) => {
  const { journal } = journalIn(t);
  const text = 'aé🚀b'.repeat(1_000);
  journal.receive([delivery(1)]);
  journal.finish([{ ...END, execution: executionId(1), output: Buffer.from(text) }]);
  for (const bytesMax of [4, 5, 7, 64, 8_000, 100_000]) {
    let read = '';
    let offset = 0;
    for (;;) {
      const piece = journal.output(executionId(1), offset, bytesMax);
      if (piece === null || piece.text === '') break;
      t.true(Buffer.byteLength(piece.text) <= bytesMax);
      t.is(piece.next, offset + Buffer.byteLength(piece.text));
      read += piece.text;
      offset = piece.next;
    }
    t.is(read, text);
  }
});

test('an output of nothing is read as nothing, not as an error that ends the agent', (t) => {
  const { journal } = journalIn(t);
  journal.receive([delivery(1)]);
  journal.finish([{ ...END, execution: executionId(1), output: Buffer.alloc(0) }]);

  t.deepEqual(journal.output(executionId(1), 0, 100), { text: '', next: 0 });
  t.deepEqual(journal.output(executionId(1), 7, 100), { text: '', next: 7 });
});

test('expiry is counted from receipt on the monotonic clock, over restarts, and over a reboot by the wall clock', (t) => {
  const { journal, path, time } = journalIn(t);
  journal.receive([delivery(1, { expires_in_ms: 10_000 }), delivery(2)]);
  const isExpired = (each: Journal) => [1, 2].map((n) => each.load(executionId(n))?.isExpired);

  Object.assign(time, { monotonicMs: 9_999, wallMs: 90_000_000 });
  t.deepEqual(isExpired(journal), [false, false], 'a wall clock that jumps changes nothing');
  time.monotonicMs = 10_000;
  t.deepEqual(isExpired(journal), [true, false]);

  journal.close();
  const afterReboot = (wallMs: number) => {
    const again = new Journal(path, timelineOf({ bootId: 'next boot', monotonicMs: 5, wallMs }), silentLog);
    const expired = isExpired(again);
    again.close();
    return expired;
  };
  t.deepEqual(afterReboot(1_009_999), [false, false]);
  t.deepEqual(afterReboot(1_010_000), [true, false]);
  t.deepEqual(afterReboot(0), [false, false], 'a wall clock that went back');
});

test('a damaged journal is kept under a dated name and a new one begun', (t) => {
  const { journal, path, directory, time } = journalIn(t);
  journal.receive(Array.from({ length: 500 }, (_, n) => delivery(n)));
  journal.close();
  const bytes = readFileSync(path);
  bytes.fill(0xab, 4_096, bytes.length - 4_096);
  writeFileSync(path, bytes);
  const lines: string[] = [];

  const next = openJournal(path, timelineOf(time), { ...silentLog, error: (_fields, line) => lines.push(line) }, null);
  t.teardown(() => next.close());

  t.deepEqual(next.holding(), []);
  t.is(lines.length, 1);
  const aside = readdirSync(directory).find((name) => name.startsWith('journal.db.damaged-1970-01-01T00-16-40'));
  t.deepEqual(readFileSync(join(directory, aside ?? '')), bytes);
});

test('a journal that is damaged while it is open answers as one that knows nothing, takes nothing in, and says so', async (t) => {
  const { journal, path } = journalIn(t);
  journal.receive([1, 2].map((n) => delivery(n)));
  journal.finish([{ ...END, execution: executionId(1), output: Buffer.alloc(3_000_000, 'x') }]);
  for (const file of [path, `${path}-wal`])
    writeFileSync(file, Buffer.alloc(statSync(file).size, 0xab), { flag: 'r+' });

  for (let offset = 0; journal.output(executionId(1), offset, 65_536) !== null;) offset += 65_536;
  await journal.unreadable;

  t.deepEqual([journal.finished(), journal.result(executionId(1)), journal.load(executionId(2))], [[], null, null]);
  t.deepEqual(journal.receive([delivery(3)]), { acknowledged: [], fresh: [] });
  t.false(journal.finish([{ ...END, execution: executionId(2), output: Buffer.alloc(0) }]));
  t.false(journal.heal());
  t.regex(journal.problem ?? '', /^the journal cannot be read: /);
});

test('a journal of a newer agent is left alone', (t) => {
  const { journal, path, time } = journalIn(t);
  journal.close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 99');
  database.close();

  const problem = t.throws(() => openJournal(path, timelineOf(time), silentLog, null), { instanceOf: AgentProblem });

  t.regex(problem.message, /version 99, this agent knows 1: install a newer agent/);
});

test('a full disk refuses deliveries, keeps what is there, and heals', (t) => {
  const disk = smallDisk(t, 2_048);
  if (disk === null) {
    t.log('not tried: this user cannot mount a disk');
    t.pass();
    return;
  }
  const { journal } = journalIn(t, disk);
  journal.receive([delivery(1)]);
  const free = fill(disk);

  // Its log has some room of its own.
  const problem = () => journal.problem;
  const large = (n: number) => delivery(n, { command_text: 'x'.repeat(40_000) });
  let taken = 1;
  while (problem() === null) taken += journal.receive([large(taken + 1)]).fresh.length;
  const refused = journal.receive([delivery(1), large(taken + 1)]);

  t.deepEqual(refused, { acknowledged: [executionId(1)], fresh: [] });
  t.regex(problem() ?? '', /^the journal cannot take in executions: /);
  t.false(journal.heal());
  t.is(journal.holding().length, taken);

  free();
  t.true(journal.heal());
  t.is(problem(), null);
  t.deepEqual(journal.receive([delivery(taken + 1)]).fresh, [executionId(taken + 1)]);
});

test('a confirmed result that the disk did not let go is answered, whole, when the admin sends its execution again', (t) => {
  const { journal } = journalIn(t);
  journal.receive([1, 2].map((n) => delivery(n)));
  journal.finish([1, 2].map((n) => ({ ...END, execution: executionId(n), output: Buffer.from(`out ${n}`) })));
  refusing('COMMIT', () => journal.forget([1, 2].map(executionId)));
  t.deepEqual(journal.holding(), []);

  const received = journal.receive([delivery(1)]);
  const recalled = journal.recall([executionId(2)]);

  t.deepEqual(received, { acknowledged: [executionId(1)], fresh: [], answered: [executionId(1)] });
  t.deepEqual(recalled, [executionId(2)]);
  t.deepEqual(journal.finished(), [1, 2].map(executionId));
  t.is(journal.output(executionId(1), 0, 100)?.text, 'out 1');
});

test('an execution that was settled while the disk refused it comes again once the disk lets it go, and not before', (t) => {
  const { journal } = journalIn(t);
  journal.receive([delivery(1)]);
  refusing('COMMIT', () => journal.erase([executionId(1)]));

  const refused = refusing('COMMIT', () => journal.receive([delivery(1)]));
  const taken = journal.receive([delivery(1)]);

  t.deepEqual(refused, { acknowledged: [], fresh: [] });
  t.deepEqual(taken, { acknowledged: [executionId(1)], fresh: [executionId(1)] });
  t.deepEqual(journal.waiting(), [executionId(1)]);
});

test('a change that cannot even be taken back is refused like any other, and is gone with the next', (t) => {
  const { journal } = journalIn(t);

  const refused = refusing('COMMIT', () => refusing('ROLLBACK', () => journal.receive([delivery(1)])));
  const taken = journal.receive([delivery(2)]);

  t.deepEqual(refused, { acknowledged: [], fresh: [] });
  t.deepEqual(taken.fresh, [executionId(2)]);
  t.deepEqual(journal.holding(), [executionId(2)]);
  t.is(journal.load(executionId(1)), null);
});
