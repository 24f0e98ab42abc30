/** What becomes of the journal of an identity that is given up. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { removeJournal } from '../../../../../agent/execution/journal/open-journal.ts';
import { AgentProblem } from '../../../../../agent/problem.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

test('a journal of an identity that is given up goes with its logs, or says why it stays', (t) => {
  const directory = temporaryDirectory(t);
  const [journal, ledger] = [join(directory, 'journal.db'), join(directory, 'executions.ledger')];
  for (const name of ['', '-wal', '.damaged-1970-01-01', '.backup']) writeFileSync(`${journal}${name}`, '');
  writeFileSync(ledger, '');
  const isMounted = spawnSync('mount', ['--bind', journal, journal]).status === 0;

  const problem = isMounted
    ? t.throws(() => removeJournal({ journal, ledger }), { instanceOf: AgentProblem })
    : undefined;
  if (isMounted) execFileSync('umount', [journal]);
  removeJournal({ journal, ledger });

  if (isMounted) t.regex(problem?.message ?? '', /cannot be removed.*journal\.db is a mount point/u);
  t.deepEqual(readdirSync(directory), ['journal.db.backup']);
});
