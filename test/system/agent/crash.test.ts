/**
 * `kill -9` of a real agent at each state of its journal. The ledger that the script itself writes says how often it
 * ran.
 *
 * Promises: C3, C4, C5.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { until } from '../../support/until.ts';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import type { DoubleHabits, DoubleSession } from '../../support/agent/admin-double.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function fleetOfOne(t: ExecutionContext, habits: DoubleHabits = {}, environment: Record<string, string> = {}) {
  const admin = await AdminDouble.start(habits);
  t.teardown(() => admin.close());
  const directory = temporaryDirectory(t);
  const settings = { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: join(directory, 'data'), ...environment };
  const start = () => AgentProcess.start(t, settings);
  const agent = start();
  const session = await admin.session();
  const ledger = join(directory, 'ledger');
  return {
    admin,
    agent,
    start,
    directory,
    session,
    ledger,
    runs: () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').filter(Boolean) : []),
  };
}

test.serial('received and not started: the next agent runs it, once', async (t) => {
  const { admin, agent, start, session, ledger, runs } = await fleetOfOne(
    t,
    {},
    { COMMAND_EXECUTION_CONCURRENCY: '1' },
  );
  const first = admin.deliver(session, `echo first >>${ledger}; sleep 1`);
  const second = admin.deliver(session, `echo second >>${ledger}`);
  await admin.until('two acknowledgements', () => session.of('acknowledge').length === 2);
  await until('it to run', () => runs().length === 1);

  agent.kill();
  start();

  const again = await admin.session(1);
  t.deepEqual(again.of('hello')[0]?.holding, [first, second]);
  t.like(await admin.result(first), { outcome: 'completed', exit_code: 0 });
  t.like(await admin.result(second), { outcome: 'completed', exit_code: 0 });
  t.deepEqual(runs(), ['first', 'second']);
});

test.serial(
  'running: the process goes on without the agent, and its output and status are those of one run',
  async (t) => {
    const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t);
    const execution = admin.deliver(
      session,
      `echo ran >>${ledger}; i=0; while [ ! -e ${directory}/go ]; do echo $i; i=$((i+1)); sleep 0.01; done; echo $i >${directory}/count; exit 9`,
    );
    await until('it to run', () => runs().length === 1);

    agent.kill();
    await agent.exited;
    await sleep(100);
    start();
    await admin.session(1);
    writeFileSync(join(directory, 'go'), '');

    const result = await admin.result(execution);
    const count = Number(readFileSync(join(directory, 'count'), 'utf8'));
    t.like(result, { outcome: 'completed', exit_code: 9, output_truncated: false });
    t.is(
      result.output,
      Array.from({ length: count }, (_, index) => `${index}\n`).join(''),
      'no line is missing and none is there twice',
    );
    t.deepEqual(runs(), ['ran']);
  },
);

test.serial('ended while no agent was there: the status and the output are found', async (t) => {
  const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t);
  const execution = admin.deliver(
    session,
    `echo ran >>${ledger}; sleep 0.3; echo alone; touch ${directory}/ended; exit 5`,
  );
  await until('it to run', () => runs().length === 1);

  agent.kill();
  await until('its end', () => existsSync(join(directory, 'ended')));
  start();

  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 5, output: 'alone\n' });
  t.deepEqual(runs(), ['ran']);
});

test.serial('finished and not confirmed: the result comes again until it is confirmed, and then no more', async (t) => {
  const { admin, agent, start, session, ledger, runs } = await fleetOfOne(t, { confirms: false });
  const execution = admin.deliver(session, `echo ran >>${ledger}; echo result`);
  await admin.result(execution);

  agent.kill();
  const second = start();
  const again = await admin.session(1);
  await admin.until('the result again', () => again.of('result').length === 1);
  again.send({ type: 'confirm', executions: [execution] });
  admin.deliver(again, 'true'); // acknowledged after the confirm was handled
  await admin.until('the acknowledgement', () => again.of('acknowledge').length === 1);
  second.kill();
  start();

  const last = await admin.session(2);
  t.false(last.of('hello')[0]?.holding.includes(execution));
  t.deepEqual(runs(), ['ran']);
});

test.serial('a delivery that is repeated is acknowledged again and run once', async (t) => {
  const { admin, session, ledger, runs } = await fleetOfOne(t);
  const execution = admin.deliver(session, `echo ran >>${ledger}; sleep 0.2`);

  admin.deliver(session, `echo ran >>${ledger}; sleep 0.2`, { execution });

  await admin.result(execution);
  t.deepEqual(
    session.of('acknowledge').map((frame) => frame.executions),
    [[execution], [execution]],
  );
  t.deepEqual(runs(), ['ran']);
});

test.serial('a timeout that passes while no agent is there is kept by the next one', async (t) => {
  const { admin, agent, start, session, runs, ledger } = await fleetOfOne(t);
  const execution = admin.deliver(session, `echo ran >>${ledger}; sleep 100`, { timeout_ms: 1_000 });
  await until('it to run', () => runs().length === 1);

  agent.kill();
  await sleep(1_000);
  start();

  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 124 });
});

for (const [why, delivered, end, wanted] of [
  ['a timeout', { timeout_ms: 300 }, () => {}, { outcome: 'completed', exit_code: 124 }],
  [
    'a cancel',
    {},
    (session: DoubleSession, execution: ExecutionId) => session.send({ type: 'cancel', executions: [execution] }),
    { outcome: 'cancelled', exit_code: 143 },
  ],
] as const) {
  test.serial(
    `killed while it ends a script for ${why}: the next agent ends what ignored TERM, and says why it ended`,
    async (t) => {
      const { admin, agent, start, session, ledger, runs } = await fleetOfOne(t);
      const execution = admin.deliver(
        session,
        `trap 'echo term >>${ledger}; exit 143' TERM; (trap '' TERM; exec sleep 1000) & echo $! >>${ledger}; echo ran >>${ledger}; wait`,
        delivered,
      );
      await until('both to run', () => runs().length === 2);
      end(session, execution);
      await until('the signal', () => runs().includes('term'));

      agent.kill();
      await agent.exited;
      start();

      t.like(await admin.result(execution), wanted);
      t.regex(stateOf(Number(runs()[0])), /^(?:Z|gone)$/u, 'the child that ignored TERM');
    },
  );
}

test.serial('an exec shim that vanished with its process is reported as interrupted, never run again', async (t) => {
  const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t);
  const execution = admin.deliver(
    session,
    `echo so far; echo $PPID >${directory}/keeper; echo ran >>${ledger}; sleep 100`,
  );
  await until('it to run', () => runs().length === 1);

  agent.kill();
  await agent.exited;
  killSession(Number(readFileSync(join(directory, 'keeper'), 'utf8')));
  start();

  t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 137, output: 'so far\n' });
  t.deepEqual(runs(), ['ran']);
});

/** Its letter in /proc: `Z` for one that ended and that its new parent has not reaped yet. */
function stateOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
  } catch {
    return 'gone';
  }
}

/** Everything at once, as when the machine goes down: the exec shim leads the group of its child's parent. */
function killSession(shimChild: number): void {
  const stat = readFileSync(`/proc/${shimChild}/stat`, 'latin1');
  process.kill(-Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]), 'SIGKILL');
}

test.serial('a damaged journal is set aside, what runs is taken up, and the agent goes on', async (t) => {
  const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t);
  const execution = admin.deliver(session, `echo ran >>${ledger}; sleep 0.5; echo end`);
  await until('it to run', () => runs().length === 1);
  agent.kill();
  await agent.exited;
  // The log as well: what was written last is still in it, and SQLite would mend the file from there.
  for (const file of ['journal.db', 'journal.db-wal'])
    writeFileSync(
      join(directory, 'data', file),
      'this is no database, and long enough to be taken for one'.repeat(100),
    );

  const second = start();
  const again = await admin.session(1);

  t.deepEqual(again.of('hello')[0]?.holding, [execution]);
  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 0, output: 'end\n' });
  t.deepEqual(runs(), ['ran']);
  t.regex(second.log, /The journal is damaged; it was kept as .*journal\.db\.damaged-/);
});

test.serial(
  'an execution that comes again after its result was confirmed, as from a database that was set back, is answered and not run',
  async (t) => {
    const { admin, agent, start, session, ledger, runs } = await fleetOfOne(t);
    const script = `echo ran >>${ledger}; printf 12345; exit 7`;
    const execution = admin.deliver(session, script);
    await admin.result(execution);
    admin.deliver(session, 'true'); // acknowledged after the confirm was handled
    await admin.until('the acknowledgement', () => session.of('acknowledge').length === 2);

    admin.deliver(session, script, { execution });
    const answered = await admin.until(
      'the result again',
      () =>
        session
          .of('result')
          .flatMap((frame) => frame.results)
          .filter((result) => result.execution === execution)[1],
    );
    agent.kill();
    await agent.exited;
    start();
    const again = await admin.session(1);
    admin.deliver(again, script, { execution });
    const later = await admin.until('the result of the next agent', () =>
      again
        .of('result')
        .flatMap((frame) => frame.results)
        .find((result) => result.execution === execution),
    );

    t.deepEqual(answered, {
      execution,
      outcome: 'completed',
      exit_code: 7,
      parts: 0,
      output_truncated: true,
      output:
        '[This execution ended on this machine before and was not run again. Its output is not kept any more: it had 5 bytes, SHA-256 5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5.]\n',
    });
    t.deepEqual(later, answered);
    t.deepEqual(runs(), ['ran']);
  },
);

test.serial(
  'with a damaged journal, what finished and was not confirmed is told with its status and not run again',
  async (t) => {
    const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t, { confirms: false });
    const script = `echo ran >>${ledger}; exit 7`;
    const execution = admin.deliver(session, script);
    await admin.result(execution);
    agent.kill();
    await agent.exited;
    damage(join(directory, 'data'), ['journal.db', 'journal.db-wal']);

    start();
    const again = await admin.session(1);
    admin.deliver(again, script, { execution });
    await admin.until('the acknowledgement', () => again.of('acknowledge').length === 1);

    t.deepEqual(again.of('hello')[0]?.holding, [execution]);
    t.like(again.of('result').flatMap((frame) => frame.results)[0], { execution, outcome: 'completed', exit_code: 7 });
    t.deepEqual(runs(), ['ran']);
  },
);

test.serial(
  'with a damaged journal, one that was started and whose exec shim and directory are gone is interrupted, never run again',
  async (t) => {
    const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t);
    const script = `echo ran >>${ledger}; echo $PPID >${directory}/keeper; sleep 100`;
    const execution = admin.deliver(session, script);
    await until(
      'the exec shim',
      () => existsSync(join(directory, 'keeper')) && readFileSync(join(directory, 'keeper'), 'utf8').endsWith('\n'),
    );
    agent.kill();
    await agent.exited;
    killSession(Number(readFileSync(join(directory, 'keeper'), 'utf8')));
    rmSync(join(directory, 'data', 'keepers'), { recursive: true });
    damage(join(directory, 'data'), ['journal.db', 'journal.db-wal']);

    start();
    const again = await admin.session(1);
    admin.deliver(again, script, { execution });

    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 137 });
    t.deepEqual(runs(), ['ran']);
  },
);

test.serial(
  'with a damaged ledger, the journal says what ran; with both damaged, what still runs is found by its processes',
  async (t) => {
    const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t, { confirms: false });
    const done = admin.deliver(session, `echo done >>${ledger}; echo out`);
    await admin.result(done);
    const running = admin.deliver(
      session,
      `echo running >>${ledger}; while [ ! -e ${directory}/go ]; do sleep 0.02; done; exit 5`,
    );
    await until('both to run', () => runs().length === 2);
    agent.kill();
    await agent.exited;

    damage(join(directory, 'data'), ['executions.ledger']);
    const second = start();
    const again = await admin.session(1);
    t.deepEqual(again.of('hello')[0]?.holding, [done, running]);
    t.like(await admin.until('the result again', () => again.of('result').flatMap((frame) => frame.results)[0]), {
      execution: done,
      output: 'out\n',
    });
    second.kill();
    await second.exited;
    damage(join(directory, 'data'), ['journal.db', 'journal.db-wal', 'executions.ledger']);
    start();
    const last = await admin.session(2);
    writeFileSync(join(directory, 'go'), '');

    t.deepEqual(last.of('hello')[0]?.holding, [running]);
    t.like(await admin.result(running), { outcome: 'completed', exit_code: 5 });
    t.deepEqual(runs(), ['done', 'running']);
  },
);

/**
 * Overwrites files. The log of SQLite as well: what was written last is still in it, and SQLite would mend the file
 * from there.
 */
function damage(directory: string, files: readonly string[]): void {
  for (const file of files)
    writeFileSync(join(directory, file), 'this is no database, and long enough to be taken for one'.repeat(100));
}

test.serial('killed twenty times at any moment, it runs every script once and reports every result', async (t) => {
  const { admin, agent, start, ledger, runs } = await fleetOfOne(t, {}, { COMMAND_EXECUTION_CONCURRENCY: '3' });
  const executions: ReturnType<typeof admin.deliver>[] = [];
  const script = (index: number) => `echo ${index} >>${ledger}; sleep 0.0${index % 10}; echo ${index}`;
  let current = agent;
  for (let round = 0; round <= 20; round += 1) {
    const session = await admin.session(round);
    // What no agent is known to have goes out again, as an admin does it.
    const known = new Set(
      admin.sessions.flatMap((past) => [
        ...past.of('hello').flatMap((frame) => frame.holding),
        ...past.of('acknowledge').flatMap((frame) => frame.executions),
      ]),
    );
    for (const [index, execution] of executions.entries())
      if (!known.has(execution)) admin.deliver(session, script(index), { execution });
    if (round === 20) break;
    for (let more = 0; more < 3; more += 1) executions.push(admin.deliver(session, script(executions.length)));
    await sleep(Math.random() * 120);
    current.kill();
    await current.exited;
    current = start();
  }

  const results = await Promise.all(executions.map((execution) => admin.result(execution, 60_000)));

  const counts = new Map<string, number>();
  for (const line of runs()) counts.set(line, (counts.get(line) ?? 0) + 1);
  t.deepEqual(
    [...counts].filter(([, count]) => count !== 1),
    [],
    'none ran twice',
  );
  for (const [index, result] of results.entries()) {
    // Killed between the record of the start and the start itself: reported as interrupted, and it did not run.
    if (result.outcome === 'cancelled') t.deepEqual([result.exit_code, counts.has(String(index))], [137, false]);
    else t.like(result, { outcome: 'completed', exit_code: 0, output: `${index}\n` });
  }
});
