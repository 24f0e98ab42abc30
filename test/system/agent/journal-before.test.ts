/**
 * Going back: an updater that takes a new version back starts the one before on the journal that the new one wrote.
 * What ran is not run again, what waited is run once, and no result is lost.
 *
 * Promises: C3, C5.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import type { Journal as JournalOfNow } from '../../../agent/execution/journal/journal.ts';
import { JOURNAL_VERSION } from '../../../agent/execution/journal/journal-schema.ts';
import { machineTimeline } from '../../../agent/execution/timeline.ts';
import { AgentFixture } from '../../support/agent/agent-fixture.ts';
import { delivery, executionId } from '../../support/agent/session-fixture.ts';
import { hangAfter } from '../../support/busy.ts';
import { releaseAt, releaseTest } from '../../support/fleet/release.ts';
import { silentLog } from '../../support/log.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Commits that stand for releases, since there are none yet. */
const BEFORE_UPDATES = '9677450045c3680a7d2f809c12cc0f3644384bcb';
const RELEASES = {
  'the last one before self-updates': BEFORE_UPDATES,
  'the last one of protocol 4': '4acd99848f3ea7bb6d99afd65cc4ad28d7e4b8dd',
} as const;

for (const [name, commit] of Object.entries(RELEASES)) {
  releaseTest(commit)(
    `an agent of an earlier release (${name}) goes on with what the new one left, and the new one after it`,
    async (t) => {
      t.timeout(hangAfter(180_000));
      const release = await releaseAt(t, commit);
      const { fixture, admin, session } = await AgentFixture.open(
        t,
        { confirms: false },
        { COMMAND_EXECUTION_CONCURRENCY: '2' },
      );
      const ended = await fixture.taken(session, `echo ended >>${fixture.ledger}; echo one`);
      await admin.result(ended);
      const running = [1, 2].map((one) =>
        admin.deliver(session, `echo ran-${one} >>${fixture.ledger}; ${fixture.waiting()}; echo two; exit 3`),
      );
      const waiting = admin.deliver(session, `echo waited >>${fixture.ledger}; echo three`);
      await fixture.acknowledged(session, 4);
      await fixture.wrote(3);

      writeFileSync(
        join(fixture.dataDirectory, 'updating.json'),
        JSON.stringify({ from: '0.2.0', to: '0.1.0', until: Date.now() + 60_000 }),
      );
      await fixture.terminate();
      fixture.start({}, undefined, release.program('edge-agent.ts').pathname);
      const before = await admin.session(1);
      t.deepEqual(before.of('hello')[0]?.holding.toSorted(), [ended, ...running, waiting].toSorted());
      fixture.letGo();
      for (const execution of running)
        t.like(await admin.result(execution), { outcome: 'completed', exit_code: 3, output: 'two\n' });
      await fixture.wrote(4);
      await admin.until('the results of the older agent', () => before.of('result').length > 1);
      await fixture.kill();
      admin.habits = { confirms: true };
      fixture.start();
      const after = await admin.session(2);

      await admin.until(
        'all results once more',
        () =>
          new Set(after.of('result').flatMap(({ results }) => results.map(({ execution }) => execution))).size === 4,
      );
      t.deepEqual(fixture.lines().toSorted(), ['ended', 'ran-1', 'ran-2', 'waited']);
    },
  );
}

/** A journal as its release has it, opened on a file. */
type OpenJournal = (path: string) => JournalOfNow;

/** One thing that is done to an execution, by an agent of a release; each opens the file anew. */
interface Act {
  readonly era: 'before' | 'now' | 'later';
  readonly act: 'receive' | 'start' | 'finish' | 'forget';
  readonly n: number;
}

const ACTS = array(
  record({
    era: constantFrom<Act['era']>('before', 'now', 'later'),
    act: constantFrom<Act['act']>('receive', 'start', 'finish', 'forget'),
    n: integer({ min: 1, max: 3 }),
  }),
  { minLength: 4, maxLength: 14 },
);

/** What an agent does when it is told so; true: a process would be started. */
function done(journal: JournalOfNow, { act, n }: Act): boolean {
  const execution = executionId(n);
  switch (act) {
    case 'receive':
      journal.receive([delivery(n)]);
      return false;
    case 'start':
      return journal.waiting().includes(execution) && journal.start([{ execution, shim: `shim-${n}` }]);
    case 'finish':
      journal.finish(
        journal.started().some((started) => started.execution === execution)
          ? [{ execution, outcome: 'completed', exitCode: n, output: Buffer.from(`${n}`), outputTruncated: false }]
          : [],
      );
      return false;
    case 'forget':
      journal.forget([execution]);
      return false;
    default:
      throw new Error(`no such act: ${String(act satisfies never)}`);
  }
}

/** What an agent of a release to come may do to the tables: columns that may be null, an index, a table of its own. */
function grow(path: string): void {
  const database = new DatabaseSync(path);
  const columns = database.prepare("SELECT name FROM pragma_table_info('execution')").all();
  if (!columns.some((column) => column['name'] === 'later'))
    database.exec(
      'ALTER TABLE execution ADD COLUMN later TEXT; CREATE INDEX later_index ON execution (later); CREATE TABLE later_table (id TEXT)',
    );
  database.exec("UPDATE execution SET later = 'written by an agent of a later release'");
  database.close();
}

releaseTest(BEFORE_UPDATES)(
  'whichever of three releases has the journal next, nothing is started twice and no result is lost',
  async (t) => {
    t.timeout(hangAfter(180_000));
    const release = await releaseAt(t, BEFORE_UPDATES);
    const file = join(release.directory, 'agent/execution/journal/journal.ts');
    const { Journal: JournalOfBefore } = (await import(pathToFileURL(file).href)) as {
      readonly Journal: new (...of: ConstructorParameters<typeof JournalOfNow>) => JournalOfNow;
    };
    const { Journal } = await import('../../../agent/execution/journal/journal.ts');
    const open: Readonly<Record<Act['era'], OpenJournal>> = {
      before: (path) => new JournalOfBefore(path, machineTimeline(), silentLog),
      now: (path) => new Journal(path, machineTimeline(), silentLog),
      later: (path) => new Journal(path, machineTimeline(), silentLog),
    };
    const directory = temporaryDirectory(t);
    let files = 0;

    assert(
      property(ACTS, (acts) => {
        const path = join(directory, `journal-${(files += 1)}.db`);
        const starts = new Map<number, number>();
        for (const act of acts) {
          const journal = open[act.era](path);
          const known = new Set(journal.holding());
          const isStart = done(journal, act);
          if (act.act === 'receive' && !known.has(executionId(act.n))) starts.set(act.n, 0);
          if (isStart) starts.set(act.n, (starts.get(act.n) ?? 0) + 1);
          const isTwice = [...starts.values()].some((count) => count > 1);
          const outputs = journal
            .finished()
            .map((execution) => [journal.output(execution, 0, 10)?.text, String(Number(execution.slice(-2)))]);
          journal.close();
          if (act.era === 'later') grow(path);
          if (isTwice || outputs.some(([text, wanted]) => text !== wanted)) return false;
        }
        return true;
      }),
      { numRuns: 150 },
    );
    t.pass();
  },
);

test('a journal that no agent of now understands is said to be so, in one line, and is left as it is', async (t) => {
  const path = join(temporaryDirectory(t), 'journal.db');
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE execution (id TEXT); PRAGMA user_version = ${JOURNAL_VERSION + 1}`);
  database.close();
  const { openJournal } = await import('../../../agent/execution/journal/open-journal.ts');

  t.throws(() => openJournal(path, machineTimeline(), silentLog, null), {
    message: `${path}: the journal has version ${JOURNAL_VERSION + 1}, this agent knows ${JOURNAL_VERSION}: install a newer agent`,
  });
});
