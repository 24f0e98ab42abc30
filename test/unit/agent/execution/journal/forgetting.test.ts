/** What an agent that is killed as it forgets knows afterwards: the journal and the ledger are two files (C3, C5). */
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
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
