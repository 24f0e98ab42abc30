/** A disk that refused writes and takes them again: what the agent does by itself, with nobody who repeats a write. */
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { Journal } from '../../../../../agent/execution/journal/journal.ts';
import { Ledger } from '../../../../../agent/execution/ledger/ledger.ts';
import { machineTimeline } from '../../../../../agent/execution/timeline.ts';
import { readOnly, refusing } from '../../../../support/agent/refused-writes.ts';
import { delivery, executionId, sessionFixture } from '../../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../../support/log.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

function open(t: ExecutionContext, directory = temporaryDirectory(t)) {
  const ledger = new Ledger(join(directory, 'ledger'), silentLog);
  const journal = new Journal(join(directory, 'journal.db'), machineTimeline(), silentLog, ledger);
  const close = () => {
    journal.close();
    ledger.close();
  };
  t.teardown(close);
  return { journal, ledger, directory, close };
}

/** One that ran to its end, with a result that waits. */
function finished(journal: Journal, n: number): void {
  journal.receive([delivery(n)]);
  journal.start([{ execution: executionId(n), shim: '0123456789abcdef01234567' }]);
  const output = Buffer.from('out');
  journal.finish([{ execution: executionId(n), outcome: 'completed', exitCode: 0, outputTruncated: false, output }]);
}

test('a deletion that the disk refused is done by the session before its next ping, whose report says that all is well', (t) => {
  const { journal, directory, close } = open(t);
  const report = () => ({
    services: [{ name: 'journal', healthy: journal.problem === null, detail: journal.problem }],
  });
  const { clock, link, links, session } = sessionFixture({}, () => 0, { journal, report });
  link().welcome();
  finished(journal, 1);
  session.finished([executionId(1)]);
  refusing('COMMIT', () => link().hear({ type: 'confirm', executions: [executionId(1)] }));
  session.reportNow();
  t.regex(journal.problem ?? '', /^the journal cannot drop what admins confirmed/u);

  link().hear({ type: 'pong' });
  clock.pass(10_000);

  t.is(journal.problem, null);
  t.is(links.length, 1, 'no delivery was refused: the session goes on');
  t.deepEqual(
    link().frames.flatMap((frame) => (frame.type === 'report' ? [frame.report.services[0]?.healthy] : [])),
    [false, true],
  );
  close();
  t.deepEqual(open(t, directory).journal.holding(), []);
});

test('a ledger that cannot be written is tried with a write, and no write of nothing counts as one', (t) => {
  const { ledger, journal } = open(t);
  finished(journal, 1);

  readOnly(() => {
    journal.forget([executionId(1)]);
    ledger.end([]);
    ledger.confirm([executionId(2)]);
    t.false(journal.heal());
    t.regex(ledger.problem ?? '', /^the ledger of executions cannot be written/u);
  });

  t.true(journal.heal());
  t.is(ledger.problem, null);
});
