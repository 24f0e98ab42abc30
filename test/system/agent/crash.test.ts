/**
 * `kill -9` of a real agent at each state of its journal. The ledger that the script itself writes says how often it
 * ran.
 *
 * Promises: C3, C4, C5.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { scaled } from '../../support/busy.ts';
import type { DoubleSession } from '../../support/agent/admin-double.ts';
import { AgentFixture, stateOf } from '../../support/agent/agent-fixture.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

test.serial('an execution that was received and not started is run by the next agent, once', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t, {}, { COMMAND_EXECUTION_CONCURRENCY: '1' });
  const first = admin.deliver(session, `echo first >>${fixture.ledger}; ${fixture.waiting()}`);
  const second = admin.deliver(session, `echo second >>${fixture.ledger}`);
  await fixture.acknowledged(session, 2);
  await fixture.wrote(1);

  await fixture.kill();
  fixture.start();

  const again = await admin.session(1);
  fixture.letGo();
  t.deepEqual(again.of('hello')[0]?.holding, [first, second]);
  t.like(await admin.result(first), { outcome: 'completed', exit_code: 0 });
  t.like(await admin.result(second), { outcome: 'completed', exit_code: 0 });
  t.deepEqual(fixture.lines(), ['first', 'second']);
});

test.serial(
  'a process that runs goes on without the agent, and its output and status are those of one run',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const execution = admin.deliver(
      session,
      `echo ran >>${fixture.ledger}; i=0; ${fixture.waiting('echo $i; i=$((i+1))')}; echo $i >${fixture.directory}/count; exit 9`,
    );
    await fixture.wrote(1);

    await fixture.kill();
    await sleep(100);
    fixture.start();
    await admin.session(1);
    fixture.letGo();

    const result = await admin.result(execution);
    const count = Number(readFileSync(join(fixture.directory, 'count'), 'utf8'));
    t.like(result, { outcome: 'completed', exit_code: 9, output_truncated: false });
    t.is(
      result.output,
      Array.from({ length: count }, (_, index) => `${index}\n`).join(''),
      'no line is missing and none is there twice',
    );
    t.deepEqual(fixture.lines(), ['ran']);
  },
);

test.serial('the status and the output of a process that ended while no agent was there are found', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = admin.deliver(
    session,
    `echo ran >>${fixture.ledger}; sleep 0.3; echo alone; touch ${fixture.directory}/ended; exit 5`,
  );
  await fixture.wrote(1);

  await fixture.kill();
  await until('its end', () => existsSync(join(fixture.directory, 'ended')));
  fixture.start();

  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 5, output: 'alone\n' });
  t.deepEqual(fixture.lines(), ['ran']);
});

test.serial('a result that was not confirmed comes again until it is, and then no more', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t, { confirms: false });
  const execution = admin.deliver(session, `echo ran >>${fixture.ledger}; echo result`);
  await admin.result(execution);

  await fixture.kill();
  fixture.start();
  const again = await admin.session(1);
  await admin.until('the result again', () => again.of('result').length === 1);
  again.send({ type: 'confirm', executions: [execution] });
  admin.deliver(again, 'true'); // acknowledged after the confirm was handled
  await fixture.acknowledged(again, 1);
  await fixture.kill();
  fixture.start();

  const last = await admin.session(2);
  t.false(last.of('hello')[0]?.holding.includes(execution));
  t.deepEqual(fixture.lines(), ['ran']);
});

test.serial('a delivery that is repeated is acknowledged again and run once', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = admin.deliver(session, `echo ran >>${fixture.ledger}; sleep 0.2`);

  admin.deliver(session, `echo ran >>${fixture.ledger}; sleep 0.2`, { execution });

  await admin.result(execution);
  t.deepEqual(column(session.of('acknowledge'), 'executions'), [[execution], [execution]]);
  t.deepEqual(fixture.lines(), ['ran']);
});

test.serial('a timeout that passes while no agent is there is kept by the next one', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const timeoutMs = scaled(1_000); // the script has begun by then
  const execution = admin.deliver(session, `echo ran >>${fixture.ledger}; sleep 100`, { timeout_ms: timeoutMs });
  await fixture.wrote(1);

  await fixture.kill();
  await sleep(timeoutMs);
  fixture.start();

  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 124 });
});

for (const [why, delivered, end, wanted] of [
  ['a timeout', () => ({ timeout_ms: scaled(1_000) }), () => {}, { outcome: 'completed', exit_code: 124 }],
  [
    'a cancel',
    () => ({}),
    (session: DoubleSession, execution: ExecutionId) => session.send({ type: 'cancel', executions: [execution] }),
    { outcome: 'cancelled', exit_code: 143 },
  ],
] as const) {
  test.serial(
    `after a kill of an agent amid ${why}, the next agent ends what ignored TERM and reports the reason`,
    async (t) => {
      const { fixture, admin, session } = await AgentFixture.open(t);
      const execution = admin.deliver(
        session,
        `trap 'echo term >>${fixture.ledger}; exit 143' TERM; (trap '' TERM; exec sleep 1000) & echo $! >>${fixture.ledger}; echo ran >>${fixture.ledger}; wait`,
        delivered(),
      );
      await fixture.wrote(2);
      end(session, execution);
      await until('the signal', () => fixture.lines().includes('term'));

      await fixture.kill();
      fixture.start();

      t.like(await admin.result(execution), wanted);
      t.regex(stateOf(Number(fixture.lines()[0])), /^(?:Z|gone)$/u, 'the child that ignored TERM');
    },
  );
}

test.serial('an exec shim that vanished with its process is reported as interrupted, never run again', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t);
  const execution = admin.deliver(
    session,
    `echo so far; ${fixture.notingShim()}; echo ran >>${fixture.ledger}; sleep 100`,
  );
  await fixture.wrote(1);

  await fixture.kill();
  await fixture.killShim();
  fixture.start();

  t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 137, output: 'so far\n' });
  t.deepEqual(fixture.lines(), ['ran']);
});

test.serial(
  "after agent and exec shim vanish, the next agent ends the script's session, even processes without environment",
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const execution = admin.deliver(
      session,
      `(trap '' TERM; env -i sleep 1000 >/dev/null 2>&1 & echo $! >>${fixture.ledger}); exec sleep 1000`,
    );
    await fixture.wrote(1);

    await fixture.kill();
    fixture.killShimsAlone();
    fixture.start();

    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 137 });
    t.regex(stateOf(Number(fixture.lines()[0])), /^(?:Z|gone)$/u);
  },
);

test.serial(
  'after a kill amid a cancel the next agent ends the last process, which ignores TERM and has no environment',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const execution = admin.deliver(
      session,
      `trap 'echo term >>${fixture.ledger}; exit 143' TERM; (trap '' TERM; exec env -i sleep 1000 >/dev/null 2>&1) & echo $! >>${fixture.ledger}; wait`,
    );
    await fixture.wrote(1);
    session.send({ type: 'cancel', executions: [execution] });
    await until('the signal', () => fixture.lines().includes('term'));

    await fixture.kill();
    await fixture.shimsEnded();
    fixture.start();

    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143 });
    t.regex(stateOf(Number(fixture.lines()[0])), /^(?:Z|gone)$/u);
  },
);

test.serial(
  'an execution delivered again after its confirmation, as by a restored database, is answered and not run',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const script = `echo ran >>${fixture.ledger}; printf 12345; exit 7`;
    const execution = admin.deliver(session, script);
    await admin.result(execution);
    admin.deliver(session, 'true'); // acknowledged after the confirm was handled
    await fixture.acknowledged(session, 2);

    admin.deliver(session, script, { execution });
    const answered = await admin.until('the result again', () => session.resultsOf(execution)[1]);
    await fixture.kill();
    fixture.start();
    const again = await admin.session(1);
    admin.deliver(again, script, { execution });
    const later = await admin.until('the result of the next agent', () => again.resultsOf(execution)[0]);

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
    t.deepEqual(fixture.lines(), ['ran']);
  },
);

test.serial(
  'an agent that is killed twenty times at any moment runs every script once and reports every result',
  async (t) => {
    const { fixture, admin } = await AgentFixture.open(t, {}, { COMMAND_EXECUTION_CONCURRENCY: '3' });
    const executions: ReturnType<typeof admin.deliver>[] = [];
    const script = (index: number) => `echo ${index} >>${fixture.ledger}; sleep 0.0${index % 10}; echo ${index}`;
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
      await fixture.kill();
      fixture.start();
    }

    const results = await Promise.all(executions.map((execution) => admin.result(execution, 60_000)));

    const counts = new Map<string, number>();
    for (const line of fixture.lines()) counts.set(line, (counts.get(line) ?? 0) + 1);
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
  },
);
