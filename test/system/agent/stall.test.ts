/**
 * An agent that stood still, was away or is not known any more starts nothing that may have ended at the admin
 * meanwhile (C8).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { STALL_MS_MIN } from '../../../agent/execution/starts/start-gate.ts';
import type { DoubleSession } from '../../support/agent/admin-double.ts';
import { AgentFixture, logged, refusal, stateOf } from '../../support/agent/agent-fixture.ts';
import type { AgentProcess } from '../../support/agent/agent-process.ts';
import { until } from '../../support/until.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';

/** Longer than an agent takes for being busy, in ms. */
const STALL_MS = STALL_MS_MIN + 1_500;

/** An agent that runs one script at a time, at an admin that answers no question by itself. */
async function open(t: ExecutionContext) {
  const opened = await AgentFixture.open(t, { opens: false }, { COMMAND_EXECUTION_CONCURRENCY: '1' });
  await logged(opened.fixture.agent, /"Connected"/);
  return opened;
}

/** The last question about this one. */
function questionAbout(session: DoubleSession, execution: ExecutionId) {
  return session.of('ask-open').findLast((frame) => frame.executions.includes(execution));
}

/** The admin answers a question: this one is open still. */
function stillOpen(session: DoubleSession, ask: number, execution: ExecutionId, expiresInMs: number | null = null) {
  session.send({ type: 'still-open', ask, executions: [{ execution, expires_in_ms: expiresInMs }] });
}

/** The time is what is tested here: nothing else tells a stall from a pause between two deliveries. */
async function stall(agent: AgentProcess, meanwhile: () => void = () => {}): Promise<void> {
  agent.child.kill('SIGSTOP');
  await until('it stands still', () => stateOf(agent.child.pid) === 'T');
  meanwhile();
  await sleep(STALL_MS);
  agent.child.kill('SIGCONT');
}

test.serial(
  'an agent first asks about deliveries of a stall: what is over never starts, the rest has its remaining time',
  async (t) => {
    const { fixture, admin, session } = await open(t);
    const sent: ReturnType<typeof admin.deliver>[] = [];
    await stall(fixture.agent, () =>
      sent.push(
        admin.deliver(session, `echo expired >>${fixture.ledger}`, { expires_in_ms: 500 }),
        admin.deliver(session, `echo cancelled >>${fixture.ledger}`),
        admin.deliver(session, `echo open >>${fixture.ledger}`, { expires_in_ms: 60_000 }),
      ),
    );
    const [expired = '' as never, cancelled = '' as never, remaining = '' as never] = sent;
    await admin.until('questions about all three', () =>
      sent.every((one) => questionAbout(session, one) !== undefined),
    );
    const ask = await admin.until('a question about the last', () => questionAbout(session, remaining));

    session.send({ type: 'settle', executions: [expired] });
    session.send({ type: 'cancel', executions: [cancelled] });
    stillOpen(session, ask.ask, remaining, 56_000);

    t.like(await admin.result(remaining), { outcome: 'completed', exit_code: 0 });
    t.like(await admin.result(cancelled), { outcome: 'cancelled', exit_code: 143 });
    t.deepEqual(
      session.of('acknowledge').flatMap((frame) => frame.executions),
      sent,
    );
    t.deepEqual(fixture.lines(), ['open']);
  },
);

test.serial(
  'what waited behind others while it stood still is asked about, and an answer from before the stall does not count',
  async (t) => {
    const { fixture, admin, session } = await open(t);
    const first = admin.deliver(session, `${fixture.waiting()}; echo first >>${fixture.ledger}`);
    const second = admin.deliver(session, `echo second >>${fixture.ledger}`);
    await fixture.acknowledged(session, 2);
    await stall(fixture.agent);
    const ask = await admin.until('a question', () => session.of('ask-open').at(-1));
    await stall(fixture.agent, () => stillOpen(session, ask.ask, second));
    const later = await admin.until('another question', () =>
      session.of('ask-open').find((frame) => frame.ask > ask.ask),
    );
    fixture.letGo();
    await admin.result(first);

    t.deepEqual(fixture.lines(), ['first']);
    session.send({ type: 'settle', executions: [second] });
    const third = admin.deliver(session, `echo third >>${fixture.ledger}`);
    // a pong since the stall tells how old the third is, so that it needs no question
    const hasEnded = () =>
      session.of('result').some(({ results }) => results.some(({ execution }) => execution === third));
    const last = await admin.until('a question about the third, or its end', () =>
      hasEnded() ? 'none' : session.of('ask-open').find((frame) => frame.executions.includes(third)),
    );
    if (last !== 'none') {
      t.true(last.ask > later.ask);
      stillOpen(session, last.ask, third);
    }
    await admin.result(third);
    t.deepEqual(fixture.lines(), ['first', 'third']);
  },
);

test.serial(
  'what waited in the journal when it was killed does not start before an admin says that it may',
  async (t) => {
    const { fixture, admin, session } = await open(t);
    admin.deliver(session, `${fixture.waiting()}; echo first >>${fixture.ledger}`);
    const second = admin.deliver(session, `echo second >>${fixture.ledger}`);
    const third = admin.deliver(session, `echo third >>${fixture.ledger}`);
    await fixture.acknowledged(session, 3);
    await fixture.kill();
    fixture.letGo();

    fixture.start();
    const again = await admin.session(1);
    const ask = await admin.until('a question', () => again.of('ask-open')[0]);
    again.send({ type: 'settle', executions: [second] });
    stillOpen(again, ask.ask, third, 30_000);

    t.deepEqual(ask.executions, [second, third]);
    await admin.result(third);
    t.deepEqual(fixture.lines(), ['first', 'third']);
  },
);

test.serial('unknown to the admin, it holds what waits while what runs goes on; known again, it asks', async (t) => {
  const { fixture, admin, session } = await open(t);
  admin.deliver(session, `${fixture.waiting()}; echo first >>${fixture.ledger}`);
  const second = admin.deliver(session, `echo second >>${fixture.ledger}`);
  await fixture.acknowledged(session, 2);
  admin.habits = {
    ...admin.habits,
    refuses: 401,
    enrolls: () => refusal(403, 'key_spent'),
  };
  session.terminate();
  await logged(fixture.agent, /it is asked once more/);
  fixture.letGo();
  await fixture.wrote(1);
  const { refuses: _refuses, ...known } = admin.habits;
  admin.habits = known;

  const again = await admin.session(1);
  const ask = await admin.until('a question', () => again.of('ask-open')[0]);

  t.deepEqual([ask.executions, fixture.lines()], [[second], ['first']]);
  stillOpen(again, ask.ask, second);
  await admin.result(second);
  t.deepEqual(fixture.lines(), ['first', 'second']);
});

test.serial('SIGTERM ends what waits as it ends what runs, and says so', async (t) => {
  const { fixture, admin, session } = await open(t);
  const [running, waiting] = [admin.deliver(session, 'sleep 100'), admin.deliver(session, 'echo never')];
  await fixture.acknowledged(session, 2);

  const exit = fixture.terminate();

  for (const execution of [running, waiting])
    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143, output: '' });
  t.deepEqual(await exit, { code: 0, signal: null });
});
