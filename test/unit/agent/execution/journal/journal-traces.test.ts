/** The journal and traces: what it keeps of them, and files of agents from before there were any. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { Ledger } from '../../../../../agent/execution/ledger/ledger.ts';
import { processTraceparent } from '../../../../../agent/execution/process-trace.ts';
import { refusing } from '../../../../support/agent/refused-writes.ts';
import { silentLog } from '../../../../support/log.ts';
import { delivery, executionId } from '../../../../support/agent/session-fixture.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** The table as the first agents made it. Never edited: such files are in the field. */
const FIRST_SCHEMA = `
CREATE TABLE execution (
  receipt INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('received', 'started', 'finished')),
  command_text TEXT NOT NULL,
  timeout_ms INTEGER,
  expires_in_ms INTEGER,
  boot_id TEXT NOT NULL,
  monotonic_ms INTEGER NOT NULL,
  wall_ms INTEGER NOT NULL,
  keeper TEXT,
  outcome TEXT,
  exit_code INTEGER,
  output BLOB,
  output_bytes INTEGER,
  output_truncated INTEGER,
  finished_order INTEGER,
  CHECK (state = 'received' OR keeper IS NOT NULL OR state = 'finished'),
  CHECK (state <> 'finished' OR (outcome IS NOT NULL AND exit_code IS NOT NULL AND output IS NOT NULL))
);
CREATE INDEX execution_state ON execution (state, finished_order);
CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB);
PRAGMA user_version = 1`;

/** As the first agents wrote what they received, and read it. */
const FIRST_INSERT =
  "INSERT INTO execution (id, state, keeper, command_text, timeout_ms, expires_in_ms, boot_id, monotonic_ms, wall_ms) VALUES (?, 'received', NULL, 'true', NULL, NULL, 'boot', 0, 0)";
const FIRST_FINISH =
  "UPDATE execution SET state = 'finished', command_text = '', outcome = 'completed', exit_code = 0, output = x'', output_bytes = 0, output_truncated = 0, finished_order = 1 WHERE id = ?";

function open(
  t: { teardown(end: () => void): void },
  path: string,
  time: { monotonicMs: number; bootId?: string; wallMs?: number },
  ledger: Ledger | null = null,
): Journal {
  const journal = new Journal(
    path,
    {
      get bootId() {
        return time.bootId ?? 'boot';
      },
      monotonicMs: () => time.monotonicMs,
      aliveMs: () => time.monotonicMs,
      wallMs: () => time.wallMs ?? time.monotonicMs,
    },
    silentLog,
    ledger,
  );
  t.teardown(() => journal.close());
  return journal;
}

const end = (n: number, more = {}) => ({
  execution: executionId(n),
  outcome: 'completed' as const,
  exitCode: 0,
  output: Buffer.alloc(0),
  outputTruncated: false,
  ...more,
});

test('a journal from before there were traces is taken up as it is, and takes in traced deliveries', (t) => {
  const path = join(temporaryDirectory(t), 'journal.db');
  const old = new DatabaseSync(path);
  old.exec(FIRST_SCHEMA);
  for (const n of [1, 2]) old.prepare(FIRST_INSERT).run(executionId(n));
  old.prepare(FIRST_FINISH).run(executionId(2));
  old.close();

  const journal = open(t, path, { monotonicMs: 10 });
  journal.receive([delivery(3, { traceparent: TRACEPARENT })]);

  t.deepEqual(journal.waiting(), [executionId(1), executionId(3)]);
  t.deepEqual(journal.finished(), [executionId(2)]);
  t.deepEqual(
    [journal.load(executionId(1))?.traceparent, journal.load(executionId(3))?.traceparent],
    [null, TRACEPARENT],
  );
  t.false('trace' in (journal.result(executionId(2)) ?? {}));
});

test('an agent that is put back to the version before reads the journal of this one', (t) => {
  const path = join(temporaryDirectory(t), 'journal.db');
  const journal = open(t, path, { monotonicMs: 0 });
  journal.receive([delivery(1, { traceparent: TRACEPARENT })]);
  journal.close();

  const old = new DatabaseSync(path);
  t.teardown(() => old.close());
  old.prepare(FIRST_INSERT).run(executionId(2));
  old.prepare(FIRST_FINISH).run(executionId(1));

  t.is(old.prepare('PRAGMA user_version').get()?.['user_version'], 1);
  t.deepEqual(
    old
      .prepare('SELECT id, state FROM execution ORDER BY receipt')
      .all()
      .map((row) => [row['id'], row['state']]),
    [
      [executionId(1), 'finished'],
      [executionId(2), 'received'],
    ],
  );
});

test('how long a process ran, and how long ago that was, is known after a restart', (t) => {
  const path = join(temporaryDirectory(t), 'journal.db');
  const time = { monotonicMs: 1_000 };
  const journal = open(t, path, time);
  journal.receive([1, 2, 3].map((n) => delivery(n, { traceparent: TRACEPARENT })));
  journal.start([
    { execution: executionId(1), shim: 'k1' },
    { execution: executionId(2), shim: 'k2' },
  ]);
  time.monotonicMs = 3_500;
  journal.finish([end(1), end(2, { hasRun: false }), end(3, { outcome: 'cancelled' })]);
  journal.close();

  time.monotonicMs = 10_000;
  const again = open(t, path, time);

  t.deepEqual(again.result(executionId(1))?.trace, {
    traceparent: processTraceparent(TRACEPARENT) ?? '',
    ranMs: 2_500,
    endedMsAgo: 6_500,
  });
  t.is(again.result(executionId(2))?.trace, undefined, 'its process never came to be');
  t.is(again.result(executionId(3))?.trace, undefined, 'it never started');
});

test('what started and cannot be stored so has one beginning, its receipt where that is known, over starts of the agent', (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'journal.db');
  const ledger = new Ledger(join(directory, 'ledger'), silentLog);
  t.teardown(() => ledger.close());
  const time = { monotonicMs: 1_000 };
  const before = open(t, path, time, ledger);
  before.receive([delivery(1, { traceparent: TRACEPARENT, timeout_ms: 60_000 })]);
  before.close();
  ledger.start([1, 2].map((n) => ({ execution: executionId(n), shim: `${n}`.repeat(24) })));
  const startedMs = (journal: Journal) =>
    new Map(journal.started().map(({ execution, startedAt }) => [execution, startedAt.monotonicMs]));

  time.monotonicMs = 5_000;
  const first = refusing('COMMIT', () => open(t, path, time, ledger));
  time.monotonicMs = 6_000;
  t.deepEqual(
    [...startedMs(first)],
    [1, 2].map((n) => [executionId(n), n === 1 ? 1_000 : 5_000] as const),
  );
  first.close();
  const second = refusing('COMMIT', () => open(t, path, time, ledger));
  t.is(startedMs(second).get(executionId(1)), 1_000);
  time.monotonicMs = 9_000;
  second.finish([end(1)]);

  t.is(second.result(executionId(1))?.trace?.ranMs, 8_000);
});

test('over a reboot durations are those of the wall clock, and never below zero', (t) => {
  const path = join(temporaryDirectory(t), 'journal.db');
  const time = { bootId: 'one', monotonicMs: 50_000, wallMs: 1_000_000 };
  const journal = open(t, path, time);
  journal.receive([1, 2].map((n) => delivery(n, { traceparent: TRACEPARENT })));
  journal.start([
    { execution: executionId(1), shim: 'k1' },
    { execution: executionId(2), shim: 'k2' },
  ]);
  journal.close();

  Object.assign(time, { bootId: 'two', monotonicMs: 5, wallMs: 1_007_000 });
  const again = open(t, path, time);
  again.finish([end(1)]);
  time.wallMs = 900_000; // the clock was put back
  again.finish([end(2)]);

  t.like(again.result(executionId(1))?.trace, { ranMs: 7_000, endedMsAgo: 0 });
  t.like(again.result(executionId(2))?.trace, { ranMs: 0, endedMsAgo: 0 });
});

test('the place of a process in its trace is the same for the same delivery, and below it', (t) => {
  const own = processTraceparent(TRACEPARENT);

  t.is(own, processTraceparent(TRACEPARENT));
  t.regex(own ?? '', /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/u);
  t.not(own, TRACEPARENT);
  t.deepEqual(
    [processTraceparent(null), processTraceparent(undefined), processTraceparent('nonsense')],
    [null, null, null],
  );
});
