/** What one of the journal and the ledger knows and the other does not, when they are opened (C3). */
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { reconcile } from '../../../../../agent/execution/journal/reconciliation.ts';
import { Ledger } from '../../../../../agent/execution/ledger/ledger.ts';
import { machineTimeline } from '../../../../../agent/execution/timeline.ts';
import { refusing } from '../../../../support/agent/refused-writes.ts';
import { delivery, executionId } from '../../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../../support/log.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const SHIM = '0123456789abcdef01234567';
const END = { outcome: 'completed', exitCode: 7, output: Buffer.from('out') } as const;

function openBoth(t: ExecutionContext) {
  const directory = temporaryDirectory(t);
  const ledger = new Ledger(join(directory, 'ledger'), silentLog);
  const open = () => new Journal(join(directory, 'journal.db'), machineTimeline(), silentLog, ledger);
  t.teardown(() => ledger.close());
  return { ledger, open };
}

/** A journal with one that waits, opened again on a disk that refuses it what the ledger has learned since. */
function openedInVain(t: ExecutionContext, learn: (ledger: Ledger) => void) {
  const { ledger, open } = openBoth(t);
  const before = open();
  before.receive([delivery(1, { timeout_ms: 5_000 })]);
  before.close();
  learn(ledger);
  const journal = refusing('COMMIT', open);
  t.teardown(() => journal.close());
  return { ledger, journal, open };
}

const started = (ledger: Ledger) => void ledger.start([{ execution: executionId(1), shim: SHIM }]);

function confirmed(ledger: Ledger): void {
  ledger.end([{ execution: executionId(1), ...END }]);
  ledger.confirm([executionId(1)]);
}

test('nothing waits, is loaded or is started of which the ledger knows a start, whatever its row says', (t) => {
  const { ledger, open } = openBoth(t);
  const journal = open();
  t.teardown(() => journal.close());
  journal.receive([1, 2].map((n) => delivery(n)));

  started(ledger);

  t.deepEqual(journal.waiting(), [executionId(2)]);
  t.deepEqual([journal.load(executionId(1)), journal.load(executionId(2))?.execution], [null, executionId(2)]);
  t.false(journal.start([1, 2].map((n) => ({ execution: executionId(n), shim: 'k' }))), 'neither of them');
  t.true(journal.start([{ execution: executionId(2), shim: 'k' }]));
});

test('a start that the journal cannot be told of is one all the same, with its exec shim and its timeout', (t) => {
  const { journal } = openedInVain(t, started);

  t.deepEqual([journal.holding(), journal.waiting(), journal.formerEnds()], [[executionId(1)], [], []]);
  t.like(journal.started(), [{ execution: executionId(1), shim: SHIM, timeoutMs: 5_000 }]);
  t.deepEqual(journal.receive([delivery(1)]), { acknowledged: [executionId(1)], fresh: [] });
});

test('an end that the journal cannot be told of is stored as soon as it can, and what the ledger says of it stays', (t) => {
  const { ledger, journal } = openedInVain(t, confirmed);
  const before = ledger.tombstone(executionId(1));
  t.deepEqual([journal.holding(), journal.waiting(), journal.started()], [[executionId(1)], [], []]);

  t.false(refusing('COMMIT', () => journal.finish(journal.formerEnds())));
  t.is(journal.result(executionId(1)), null);
  t.true(journal.finish(journal.formerEnds()));

  t.like(journal.result(executionId(1)), { outcome: 'completed', exitCode: 7, outputTruncated: true });
  t.deepEqual([journal.finished(), journal.formerEnds()], [[executionId(1)], []]);
  t.deepEqual([ledger.stateOf(executionId(1)), ledger.tombstone(executionId(1))], ['confirmed', before]);
});

test('what the journal could not be told of and no admin wants is gone for good, and the ledger keeps how it ended', (t) => {
  const { ledger, journal, open } = openedInVain(t, confirmed);
  const before = ledger.tombstone(executionId(1));

  journal.erase([executionId(1)]);
  t.deepEqual([journal.holding(), journal.formerEnds()], [[], []]);
  journal.close();
  const next = open();
  t.teardown(() => next.close());

  t.deepEqual([next.holding(), ledger.tombstone(executionId(1))], [[], before]);
});

test('an end of what has no row is stored with it', (t) => {
  const { ledger, open } = openBoth(t);
  started(ledger);
  const journal = refusing('COMMIT', open);
  t.teardown(() => journal.close());

  t.true(journal.finish([{ execution: executionId(1), ...END, outputTruncated: false }]));

  t.like(journal.result(executionId(1)), { outcome: 'completed', exitCode: 7, outputBytes: 3 });
  t.deepEqual([journal.started(), ledger.stateOf(executionId(1))], [[], 'ended']);
});

test('a ledger that is new learns the ends of a full journal one by one: no two outputs are held at once', (t) => {
  const { ledger } = openBoth(t);
  const executions = Array.from({ length: 20 }, (_, n) => executionId(n));
  let [held, heldMax] = [0, 0];
  const end = ledger.end.bind(ledger);
  ledger.end = (endings) => {
    end(endings);
    held -= endings.length;
  };

  reconcile(ledger, {
    states: new Map(executions.map((execution) => [execution, 'finished'])),
    rows: {
      started: () => [],
      ending: (execution) => {
        held += 1;
        heldMax = Math.max(heldMax, held);
        return { execution, ...END };
      },
    },
    restore: () => t.fail(),
    answer: (none) => t.deepEqual(none, []),
  });

  t.is(heldMax, 1);
  t.deepEqual(ledger.unconfirmed(), executions);
});
