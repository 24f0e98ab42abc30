import test from 'ava';
import type { ExecutionContext } from 'ava';
import { AdminDouble } from './admin-double.ts';
import type { DoubleHabits } from './admin-double.ts';
import { AgentProcess, temporaryDirectory } from './agent-process.ts';

async function fleetOfOne(t: ExecutionContext, habits: DoubleHabits = {}, environment: Record<string, string> = {}) {
  const admin = await AdminDouble.start(habits);
  const directory = temporaryDirectory(t);
  const settings = { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: `${directory}/data`, ...environment };
  const agent = AgentProcess.start(t, settings);
  t.teardown(() => admin.close());
  return { admin, agent, directory, settings, session: await admin.session() };
}

test('a new agent enrols, says hello, runs a script and is rid of it once the result is confirmed', async (t) => {
  const { admin, agent, session } = await fleetOfOne(t);

  const execution = admin.deliver(session, 'echo out; echo err >&2; exit 3');

  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 3, output: 'out\nerr\n', parts: 0, output_truncated: false });
  t.deepEqual(session.of('acknowledge').map((frame) => frame.executions), [[execution]]);
  t.is(session.authorization, 'Bearer token-of-the-node');
  agent.terminate();
  t.deepEqual(await agent.exited, { code: 0, signal: null });
});
