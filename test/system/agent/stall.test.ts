/**
 * An agent that stood still, was away or is not known any more starts nothing that may have ended at the admin
 * meanwhile (C8).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { STALL_MS_MIN } from '../../../agent/execution/starts/start-gate.ts';
import { until } from '../../support/until.ts';
import { AdminDouble } from '../../support/agent/admin-double.ts';
import type { DoubleHabits } from '../../support/agent/admin-double.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Longer than an agent takes for being busy, in ms. */
const STALL_MS = STALL_MS_MIN + 1_500;

async function fleetOfOne(t: ExecutionContext, habits: DoubleHabits = {}) {
  const admin = await AdminDouble.start({ opens: false, ...habits });
  t.teardown(() => admin.close());
  const directory = temporaryDirectory(t);
  const settings = {
    ENROLLMENT_KEY: admin.key(),
    AGENT_DATA_DIR: join(directory, 'data'),
    COMMAND_EXECUTION_CONCURRENCY: '1',
  };
  const start = () => AgentProcess.start(t, settings);
  const agent = start();
  const session = await admin.session();
  await admin.until('the welcome is taken', () => agent.log.includes('"Connected"'));
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

/** The time is what is tested here: nothing else tells a stall from a pause between two deliveries. */
async function stall(agent: AgentProcess, meanwhile: () => void = () => {}): Promise<void> {
  agent.child.kill('SIGSTOP');
  await until('it stands still', async () => stateOf(agent) === 'T');
  meanwhile();
  await sleep(STALL_MS);
  agent.child.kill('SIGCONT');
}

/** Its state as the kernel has it: `T` is stopped. Source: proc_pid_stat(5). */
function stateOf(agent: AgentProcess): string | undefined {
  return readFileSync(`/proc/${agent.child.pid}/stat`, 'latin1').split(') ')[1]?.[0];
}

test.serial(
  'what arrived while it stood still is asked about first: what is over by then never starts, and the rest does with what is left of its time',
  async (t) => {
    const { admin, agent, session, ledger, runs } = await fleetOfOne(t);
    const sent: ReturnType<typeof admin.deliver>[] = [];
    await stall(agent, () =>
      sent.push(
        admin.deliver(session, `echo expired >>${ledger}`, { expires_in_ms: 500 }),
        admin.deliver(session, `echo cancelled >>${ledger}`),
        admin.deliver(session, `echo open >>${ledger}`, { expires_in_ms: 60_000 }),
      ),
    );
    const [expired = '' as never, cancelled = '' as never, open = '' as never] = sent;
    const ask = await admin.until('a question about all three', () =>
      session.of('ask-open').find((frame) => frame.executions.length === 3),
    );

    session.send({ type: 'settle', executions: [expired] });
    session.send({ type: 'cancel', executions: [cancelled] });
    session.send({ type: 'still-open', ask: ask.ask, executions: [{ execution: open, expires_in_ms: 56_000 }] });

    t.like(await admin.result(open), { outcome: 'completed', exit_code: 0 });
    t.like(await admin.result(cancelled), { outcome: 'cancelled', exit_code: 143 });
    t.deepEqual(
      session.of('acknowledge').flatMap((frame) => frame.executions),
      sent,
    );
    t.deepEqual(runs(), ['open']);
  },
);

test.serial(
  'what waited behind others while it stood still is asked about, and an answer from before the stall does not count',
  async (t) => {
    const { admin, agent, directory, session, ledger, runs } = await fleetOfOne(t);
    const first = admin.deliver(session, `while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo first >>${ledger}`);
    const second = admin.deliver(session, `echo second >>${ledger}`);
    await admin.until('two acknowledgements', () => session.of('acknowledge').length === 2);
    await stall(agent);
    const ask = await admin.until('a question', () => session.of('ask-open').at(-1));
    await stall(agent, () =>
      session.send({ type: 'still-open', ask: ask.ask, executions: [{ execution: second, expires_in_ms: null }] }),
    );
    const later = await admin.until('another question', () =>
      session.of('ask-open').find((frame) => frame.ask > ask.ask),
    );
    writeFileSync(join(directory, 'go'), '');
    await admin.result(first);

    t.deepEqual(runs(), ['first']);
    session.send({ type: 'settle', executions: [second] });
    const third = admin.deliver(session, `echo third >>${ledger}`);
    const last = await admin.until('a question about the third', () =>
      session.of('ask-open').find((frame) => frame.executions.includes(third)),
    );
    t.true(last.ask > later.ask);
    session.send({ type: 'still-open', ask: last.ask, executions: [{ execution: third, expires_in_ms: null }] });
    await admin.result(third);
    t.deepEqual(runs(), ['first', 'third']);
  },
);

test.serial(
  'what waited in the journal when it was killed does not start before an admin says that it may',
  async (t) => {
    const { admin, agent, start, directory, session, ledger, runs } = await fleetOfOne(t);
    admin.deliver(session, `while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo first >>${ledger}`);
    const second = admin.deliver(session, `echo second >>${ledger}`);
    const third = admin.deliver(session, `echo third >>${ledger}`);
    await admin.until('three acknowledgements', () => session.of('acknowledge').length === 3);
    agent.kill();
    await agent.exited;
    writeFileSync(join(directory, 'go'), '');

    start();
    const again = await admin.session(1);
    const ask = await admin.until('a question', () => again.of('ask-open')[0]);
    again.send({ type: 'settle', executions: [second] });
    again.send({ type: 'still-open', ask: ask.ask, executions: [{ execution: third, expires_in_ms: 30_000 }] });

    t.deepEqual(ask.executions, [second, third]);
    await admin.result(third);
    t.deepEqual(runs(), ['first', 'third']);
  },
);

test.serial('unknown to the admin, it holds what waits while what runs goes on; known again, it asks', async (t) => {
  const { admin, directory, session, ledger, runs, agent } = await fleetOfOne(t);
  admin.deliver(session, `while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo first >>${ledger}`);
  const second = admin.deliver(session, `echo second >>${ledger}`);
  await admin.until('two acknowledgements', () => session.of('acknowledge').length === 2);
  admin.habits = {
    ...admin.habits,
    refuses: 401,
    enrolls: () => ({ status: 403, body: { error: { code: 'key_spent', message: 'm', details: null }, meta: {} } }),
  };
  session.terminate();
  await until('it knows that it is not known', () => agent.log.includes('it is asked once more'));
  writeFileSync(join(directory, 'go'), '');
  await until('the end of what ran', () => runs().length > 0);
  const { refuses: _refuses, ...known } = admin.habits;
  admin.habits = known;

  const again = await admin.session(1);
  const ask = await admin.until('a question', () => again.of('ask-open')[0]);

  t.deepEqual([ask.executions, runs()], [[second], ['first']]);
  again.send({ type: 'still-open', ask: ask.ask, executions: [{ execution: second, expires_in_ms: null }] });
  await admin.result(second);
  t.deepEqual(runs(), ['first', 'second']);
});

test.serial('SIGTERM ends what waits as it ends what runs, and says so', async (t) => {
  const { admin, agent, session } = await fleetOfOne(t);
  const [running, waiting] = [admin.deliver(session, 'sleep 100'), admin.deliver(session, 'echo never')];
  await admin.until('two acknowledgements', () => session.of('acknowledge').length === 2);

  agent.terminate();

  for (const execution of [running, waiting])
    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143, output: '' });
  t.deepEqual(await agent.exited, { code: 0, signal: null });
});
