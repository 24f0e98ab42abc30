/** Two machines with one identity: two real agents, of which one has a copy of the other's data directory. */
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { REPLACED, TAKEN_BACK } from '../../../agent/session/endings.ts';
import { hangAfter } from '../../support/busy.ts';
import { prepareAgent, type AgentProgram } from '../../support/fleet/agent-program.ts';
import { startFleet } from '../../support/fleet.ts';
import { programFile } from '../../support/run/programs.ts';
import { until } from '../../support/until.ts';

/** Each of two agents is back 30 s after the other took its session or its token; a busy machine takes longer. */
const TURNS_MS_MAX = 120_000;

const SHARED = /^Another agent runs with the identity of this machine/u;

/** An agent on a copy of that one's data directory, which is not started. */
function copyOf(
  t: ExecutionContext,
  { dataDirectory }: AgentProgram,
  directory: string,
  env: Readonly<Record<string, string>>,
): AgentProgram {
  const copy = prepareAgent(t, directory, env);
  cpSync(dataDirectory, copy.dataDirectory, { recursive: true, filter: (path) => !/lock|agent\.pid$/u.test(path) });
  for (const name of ['lock', 'agent.pid', 'api-port']) rmSync(join(copy.dataDirectory, name), { force: true });
  return copy;
}

/** What the doctor of this agent says of its session. */
async function doctor({ dataDirectory }: AgentProgram, env: Readonly<Record<string, string>>): Promise<string> {
  const ran = promisify(execFile)(process.execPath, [programFile('edge-agent'), 'doctor', '--json'], {
    env: { PATH: process.env['PATH'] ?? '', AGENT_DATA_DIR: dataDirectory, ...env },
  });
  const { stdout } = await ran.catch((error: unknown) => error as { readonly stdout: string });
  const report = JSON.parse(stdout) as {
    readonly checks: readonly { readonly name: string; readonly summary: string }[];
  };
  return report.checks.find(({ name }) => name === 'session')?.summary ?? '';
}

test('the node and the doctors of both machines say that two share its identity; once one is stopped it is well again', async (t) => {
  t.timeout(hangAfter(300_000));
  const fleet = await startFleet(t, { agents: 1 });
  const [original] = fleet.agents;
  if (original === undefined) throw new Error('there is no agent');
  const env = { ADMIN_URLS: fleet.admins[0]?.url ?? '' };
  const copy = copyOf(t, original, join(fleet.directory, 'copy'), env);

  copy.start();
  await copy.live();
  await original.program.logged(REPLACED);

  t.regex(await doctor(original, env), SHARED);
  const reason = await until(
    'the node says so',
    async () => {
      const { status, status_reason: why } = await fleet.node(original);
      return status === 'unhealthy' && why;
    },
    TURNS_MS_MAX,
  );
  t.regex(reason, /^identity: Another agent runs with the identity of this machine, .*copy of the data directory/u);
  await copy.program.logged(REPLACED, 0, TURNS_MS_MAX);
  t.regex(await doctor(copy, env), SHARED);
});

test('two agents that take a node from each other by joining again report a shared identity from the second time on', async (t) => {
  t.timeout(hangAfter(300_000));
  const fleet = await startFleet(t, { agents: 0 });
  const { key } = await fleet.key();
  const original = await fleet.addAgent({ ENROLLMENT_KEY: key });
  await original.live();
  const env = { ADMIN_URLS: fleet.admins[0]?.url ?? '', ENROLLMENT_KEY: key };
  const copy = copyOf(t, original, join(fleet.directory, 'copy'), env);
  const identity = join(copy.dataDirectory, 'identity.json');
  const { api_token: token } = original.enrollment;
  writeFileSync(identity, readFileSync(identity, 'utf8').replace(token, token.toUpperCase())); // one that no admin knows

  copy.start();
  await original.program.logged(TAKEN_BACK);
  const seen = original.program.output.length;
  t.notRegex(await doctor(original, env), SHARED);
  await copy.program.logged(TAKEN_BACK, 0, TURNS_MS_MAX);
  await original.program.logged(TAKEN_BACK, seen, TURNS_MS_MAX);

  t.regex(await doctor(original, env), SHARED);
});
