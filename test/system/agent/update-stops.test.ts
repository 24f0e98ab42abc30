/**
 * A SIGTERM of an update ends no execution: their processes outlive the agent, the next one takes them up, and each ran
 * once, with its whole output.
 *
 * Promises: C3, C5.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import manifest from '../../../package.json' with { type: 'json' };
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { agentBundle } from '../../support/agent/agent-bundle.ts';
import { AgentFixture, logged, processesOf } from '../../support/agent/agent-fixture.ts';
import { UpdaterDouble } from '../../support/agent/updater-double.ts';
import { hangAfter } from '../../support/busy.ts';
import { until } from '../../support/until.ts';

/** Commands that run while the agent is updated. */
const COMMANDS = 50;

/** Lines that each writes before and after the update. */
const LINES = 2_000;

/** What each says in all. */
const WHOLE = Array.from({ length: 2 * LINES }, (_, line) => `${line + 1}\n`).join('');

/** An agent with so many running commands, each of which has written the first half. */
async function busyAgent(t: ExecutionContext, commands = COMMANDS, settings: Readonly<Record<string, string>> = {}) {
  const opened = await AgentFixture.open(t, {}, { COMMAND_EXECUTION_CONCURRENCY: String(commands), ...settings });
  const { fixture, admin, session } = opened;
  const executions: ExecutionId[] = [];
  for (let command = 0; command < commands; command += 1)
    executions.push(
      admin.deliver(
        session,
        `seq ${LINES}; echo ${command} >>${fixture.ledger}; while [ ! -e ${fixture.directory}/go ]; do sleep 0.3; done; seq ${LINES + 1} ${2 * LINES}; exit 7`,
      ),
    );
  await fixture.wrote(commands);
  return { ...opened, executions };
}

/** As the updater does before it restarts the agent. */
function announce(fixture: AgentFixture, untilMs = Date.now() + 60_000): void {
  const content = JSON.stringify({ from: manifest.version, to: '9.9.9', until: untilMs });
  writeFileSync(join(fixture.dataDirectory, 'updating.json'), content);
}

for (const [name, version, isGoneMeanwhile] of [
  ['the same version, and what ended while no agent was there', null, true],
  ['another version, under which they end', '9.9.9', false],
] as const) {
  test.serial(
    `${COMMANDS} running commands and an update to ${name}: each ran once, and its output is whole`,
    async (t) => {
      t.timeout(hangAfter(180_000));
      const file = version === null ? undefined : await agentBundle(t, version);
      const { fixture, admin, executions } = await busyAgent(t);

      announce(fixture);
      const exit = await fixture.terminate();
      t.deepEqual(exit, { code: 0, signal: null });
      t.regex(fixture.agent.log, /Stopping for an update: running commands go on/u);
      t.true(
        executions.every((execution) => processesOf(execution).length > 0),
        'their processes live',
      );
      if (isGoneMeanwhile) {
        fixture.letGo();
        await until('their ends', () => executions.every((execution) => processesOf(execution).length === 0));
      }
      fixture.start({}, undefined, file);
      const again = await admin.session(1);
      fixture.letGo();

      t.deepEqual(again.of('hello')[0]?.holding.toSorted(), executions.toSorted());
      t.is(again.of('hello')[0]?.registration.version, version ?? manifest.version);
      for (const execution of executions) {
        const { outcome, exit_code: code, output, output_truncated: isCut } = await admin.result(execution, 120_000);
        t.deepEqual([outcome, code, isCut, output === WHOLE], ['completed', 7, false, true]);
      }
      t.deepEqual(
        fixture.lines().toSorted(),
        Array.from({ length: COMMANDS }, (_, command) => String(command)).toSorted(),
      );
    },
  );
}

for (const [why, prepare] of [
  ['without an update', () => {}],
  ['when the time of the update is over', (fixture: AgentFixture) => announce(fixture, Date.now() - 1)],
  [
    'when what announces the update is half a file',
    (fixture: AgentFixture) => writeFileSync(join(fixture.dataDirectory, 'updating.json'), '{"from":"0.1.0","unt'),
  ],
] as const) {
  test.serial(`a SIGTERM ${why} ends what runs as cancelled`, async (t) => {
    const { fixture, admin, executions } = await busyAgent(t, 3);

    prepare(fixture);
    await fixture.terminate();

    for (const execution of executions) {
      t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143 });
      t.deepEqual(processesOf(execution), []);
    }
  });
}

test.serial('a SIGTERM soon after the updater took the signal, as of Watchtower, ends no command', async (t) => {
  const updater = await UpdaterDouble.start(t);
  const { fixture, admin, session, executions } = await busyAgent(t, 3, updater.settings());
  session.send({ type: 'update', request: '0190f5c2-7a11-7c3e-8f00-000000000001' });
  await admin.until('the answer', () => session.of('update-answer').length === 1);

  await fixture.terminate();
  fixture.letGo();
  fixture.start();

  for (const execution of executions)
    t.like(await admin.result(execution), { outcome: 'completed', exit_code: 7, output: WHOLE });
  t.is(fixture.lines().length, 3);
});

test.serial('what waits for its turn waits on, and is started by the next agent once an admin was asked', async (t) => {
  const { fixture, admin, session, executions } = await busyAgent(t, 2);
  const waiting = await fixture.taken(session, `echo waited >>${fixture.ledger}; echo done`);

  announce(fixture);
  await fixture.terminate();
  fixture.letGo();
  fixture.start();

  for (const execution of executions) t.like(await admin.result(execution), { outcome: 'completed', exit_code: 7 });
  t.like(await admin.result(waiting), { outcome: 'completed', exit_code: 0, output: 'done\n' });
  t.is(fixture.lines().filter((line) => line === 'waited').length, 1);
});

test.serial('how the agent is stands in health.json while it runs, and not after it was stopped', async (t) => {
  const { fixture, session } = await AgentFixture.open(t);
  const path = join(fixture.dataDirectory, 'health.json');
  const health = () => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;

  const live = await until('a session in it', () => {
    const content = health();
    return content['connected_since'] === null ? null : content;
  });
  t.deepEqual(Object.keys(live), [
    'pid',
    'version',
    'started_at',
    'connected_since',
    'services_ok',
    'problems',
    'last_answer_at',
  ]);
  t.like(live, { pid: fixture.agent.child.pid, version: manifest.version, services_ok: true, problems: [] });
  session.terminate();
  await logged(fixture.agent, /The session ended/u);
  await until('another session', () => Number(health()['connected_since']) > Number(live['connected_since']));
  await fixture.terminate();
  t.false(existsSync(path));
});
