/** `edge-agent check`: a new version looks at the data of the one that runs, and disturbs nothing. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import test from 'ava';
import manifest from '../../../package.json' with { type: 'json' };
import { selfCheck } from '../../../agent/self-check.ts';
import { JOURNAL_GROWTH, JOURNAL_VERSION } from '../../../agent/execution/journal/journal-schema.ts';
import { encodeHeader, LEDGER_VERSION } from '../../../agent/execution/ledger/ledger-record.ts';
import { scaled } from '../../support/busy.ts';
import { AgentFixture } from '../../support/agent/agent-fixture.ts';
import { programFile } from '../../support/run/programs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { untilStill } from '../../support/until.ts';

const CAN_RUN = `edge-agent ${manifest.version} can run here: journal schema ${JOURNAL_GROWTH}`;

/** Runs the program to its end. */
async function check(env: Readonly<Record<string, string>>) {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [programFile('edge-agent'), 'check'], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      timeout: 60_000,
    });
    return { status: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as {
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    return { status: code, stdout, stderr };
  }
}

/** Names, sizes and times of all that is in a directory; what the agent itself keeps writing is left out. */
function shapeOf(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((name) => !['health.json', 'health.json.new', 'keepers'].includes(name))
    .map((name) => {
      const stats = statSync(join(directory, name), { throwIfNoEntry: false }); // it may be replaced just now
      return `${name} ${stats?.size} ${stats?.mtimeMs}`;
    })
    .toSorted();
}

test('beside a running agent it says that it can, leaves everything as it is, and the agent goes on', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  t.like(await admin.result(await fixture.taken(session, 'echo before')), { output: 'before\n' });
  // what was told may still be on its way to the disk
  const before = await untilStill('what is on the disk', () => shapeOf(fixture.dataDirectory).join('\n'), scaled(500));

  const checked = await check({ AGENT_DATA_DIR: fixture.dataDirectory });

  t.deepEqual(checked, { status: 0, stdout: `${CAN_RUN}\n`, stderr: '' });
  t.is(shapeOf(fixture.dataDirectory).join('\n'), before);
  t.like(await admin.result(await fixture.taken(session, 'echo after')), { output: 'after\n' });
  t.true(session.isOpen);
});

test('a machine that has no data yet is good to run on, and gets none', async (t) => {
  const directory = temporaryDirectory(t);

  t.deepEqual(await check({ AGENT_DATA_DIR: join(directory, 'none') }), {
    status: 0,
    stdout: `${CAN_RUN}\n`,
    stderr: '',
  });
  t.deepEqual(readdirSync(directory), []);
});

test('a setting that this version does not take is one line, and status 2', async (t) => {
  const { status, stderr } = await check({ AGENT_DATA_DIR: 'relative' });

  t.is(status, 2);
  t.is(stderr, 'edge-agent: AGENT_DATA_DIR is "relative": it should be an absolute path\n');
});

/** What `selfCheck` says of a directory with this file. */
function saidOf(directory: string): string {
  try {
    return selfCheck({ AGENT_DATA_DIR: directory }, manifest.version);
  } catch (error) {
    return (error as Error).message.replaceAll(directory, 'DATA');
  }
}

test('a journal, a ledger or an identity that only another agent understands is refused in one line', (t) => {
  const [journals, ledgers, identities] = [temporaryDirectory(t), temporaryDirectory(t), temporaryDirectory(t)];
  const journal = new DatabaseSync(join(journals, 'journal.db'));
  journal.exec(`CREATE TABLE execution (id TEXT); PRAGMA user_version = ${JOURNAL_VERSION + 1}`);
  journal.close();
  writeFileSync(join(ledgers, 'executions.ledger'), encodeHeader(LEDGER_VERSION + 1));
  writeFileSync(join(identities, 'identity.json'), '{"node_id": 7}');

  t.deepEqual([journals, ledgers, identities].map(saidOf), [
    'DATA/journal.db: the journal has version 2, this agent knows 1: install a newer agent',
    'DATA/executions.ledger: the ledger has version 2, this agent knows 1: install a newer agent',
    'The identity DATA/identity.json is damaged: restore it, or remove it and start with ENROLLMENT_KEY and a RECOVERY_KEY for the node',
  ]);
});

test('a journal that is damaged is no reason to stay with the older version: the agent begins another one', (t) => {
  for (const content of ['', 'this is no database, and long enough to be taken for one'.repeat(100)]) {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'journal.db'), content);

    t.is(saidOf(directory), CAN_RUN);
    t.deepEqual(readdirSync(directory), ['journal.db']);
  }
});

test('a path with signs of URLs in it is a path', (t) => {
  const directory = join(temporaryDirectory(t), 'a?mode=memory#%20 b');
  mkdirSync(directory);
  const journal = new DatabaseSync(join(directory, 'journal.db'));
  journal.exec('PRAGMA user_version = 9');
  journal.close();

  t.regex(saidOf(directory), /the journal has version 9/u);
});

if (process.getuid?.() !== 0)
  test('data that another user keeps to itself are said to be closed', (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'journal.db'), '');
    chmodSync(join(directory, 'journal.db'), 0);

    t.regex(saidOf(directory), /cannot be read: no permission/u);
  });
