/**
 * An agent whose journal or ledger is damaged when it comes back, or while it runs: nothing runs twice (C3, C5). The
 * ledger that the script itself writes says how often it ran.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { AgentFixture, JOURNAL_FILES } from '../../support/agent/agent-fixture.ts';

test.serial('a damaged journal is set aside, what runs is taken up, and the agent goes on', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = admin.deliver(session, `echo ran >>${fixture.ledger}; ${fixture.waiting()}; echo end`);
  await fixture.wrote(1);
  await fixture.kill();
  fixture.damage(JOURNAL_FILES);

  fixture.start();
  const again = await admin.session(1);
  fixture.letGo();

  t.deepEqual(again.of('hello')[0]?.holding, [execution]);
  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 0, output: 'end\n' });
  t.deepEqual(fixture.lines(), ['ran']);
  t.regex(fixture.agent.log, /The journal is damaged; it was kept as .*journal\.db\.damaged-/);
});

test.serial(
  'with a damaged journal, what finished and was not confirmed is told with its status and not run again',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t, { confirms: false });
    const script = `echo ran >>${fixture.ledger}; exit 7`;
    const execution = admin.deliver(session, script);
    await admin.result(execution);
    await fixture.kill();
    fixture.damage(JOURNAL_FILES);

    fixture.start();
    const again = await admin.session(1);
    admin.deliver(again, script, { execution });
    await fixture.acknowledged(again, 1);

    t.deepEqual(again.of('hello')[0]?.holding, [execution]);
    t.like(again.resultsOf(execution)[0], { outcome: 'completed', exit_code: 7 });
    t.deepEqual(fixture.lines(), ['ran']);
  },
);

test.serial(
  'with a damaged journal, a started execution without exec shim and directory is interrupted, never run again',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const script = `echo ran >>${fixture.ledger}; ${fixture.notingShim()}; sleep 100`;
    const execution = admin.deliver(session, script);
    await fixture.wrote(1);
    await fixture.kill();
    await fixture.killShim();
    rmSync(join(fixture.dataDirectory, 'keepers'), { recursive: true });
    fixture.damage(JOURNAL_FILES);

    fixture.start();
    const again = await admin.session(1);
    admin.deliver(again, script, { execution });

    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 137 });
    t.deepEqual(fixture.lines(), ['ran']);
  },
);

test.serial(
  'with a damaged ledger, the journal says what ran; with both damaged, what still runs is found by its processes',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t, { confirms: false });
    const done = admin.deliver(session, `echo done >>${fixture.ledger}; echo out`);
    await admin.result(done);
    const running = admin.deliver(session, `echo running >>${fixture.ledger}; ${fixture.waiting()}; exit 5`);
    await fixture.wrote(2);
    await fixture.kill();

    fixture.damage(['executions.ledger']);
    fixture.start();
    const again = await admin.session(1);
    t.deepEqual(again.of('hello')[0]?.holding, [done, running]);
    t.like(await admin.until('the result again', () => again.resultsOf(done)[0]), { output: 'out\n' });
    await fixture.kill();
    fixture.damage([...JOURNAL_FILES, 'executions.ledger']);
    fixture.start();
    const last = await admin.session(2);
    fixture.letGo();

    t.deepEqual(last.of('hello')[0]?.holding, [running]);
    t.like(await admin.result(running), { outcome: 'completed', exit_code: 5 });
    t.deepEqual(fixture.lines(), ['done', 'running']);
  },
);

test.serial(
  'a journal that is damaged while the agent runs ends it, and its next start goes on with all',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(
      t,
      { confirms: false },
      { COMMAND_OUTPUT_MAX_BYTES: '4000000' }, // more than SQLite keeps in memory
    );
    const done = admin.deliver(session, `echo done >>${fixture.ledger}; head -c 3000000 /dev/zero; exit 7`);
    await admin.result(done);
    const running = admin.deliver(session, `echo running >>${fixture.ledger}; ${fixture.waiting()}; exit 5`);
    await fixture.wrote(2);

    fixture.damage(JOURNAL_FILES);
    session.terminate(); // what is not confirmed is read again
    t.deepEqual(await fixture.agent.ended(), { code: 1, signal: null });
    t.regex(fixture.agent.log, /The journal cannot be read: .*\. The agent ends, so that its next start/);
    fixture.start();
    const again = await admin.session(2);
    fixture.letGo();

    t.deepEqual(again.of('hello')[0]?.holding.toSorted(), [done, running].toSorted());
    t.like(await admin.until('the result again', () => again.resultsOf(done)[0]), {
      outcome: 'completed',
      exit_code: 7,
    });
    t.like(await admin.result(running), { outcome: 'completed', exit_code: 5 });
    t.deepEqual(fixture.lines(), ['done', 'running']);
  },
);
