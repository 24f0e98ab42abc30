/** Two machines with one identity: two real agents, of which one has a copy of the other's data directory. */
import { execFile } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { prepareAgent } from '../../support/fleet/agent-program.ts';
import { startFleet } from '../../support/fleet.ts';
import { programFile } from '../../support/programs.ts';
import { until } from '../../support/until.ts';

/** Each of two agents is back 30 s after the other took its session; a busy machine takes longer. */
const TURNS_MS_MAX = 120_000;

test('the node and the doctors of both machines say that two share its identity; once one is stopped it is well again', async (t) => {
  t.timeout(hangAfter(300_000));
  const fleet = await startFleet(t, { agents: 1 });
  const [original] = fleet.agents;
  if (original === undefined) throw new Error('there is no agent');
  const env = { ADMIN_URLS: fleet.admins[0]?.url ?? '' };
  const copy = prepareAgent(t, join(fleet.directory, 'copy'), env);
  cpSync(original.dataDirectory, copy.dataDirectory, {
    recursive: true,
    filter: (path) => !/lock|agent\.pid$/u.test(path),
  });
  for (const name of ['lock', 'agent.pid', 'api-port']) rmSync(join(copy.dataDirectory, name), { force: true });
  const doctor = async (directory: string) => {
    const ran = promisify(execFile)(process.execPath, [programFile('edge-agent'), 'doctor', '--json'], {
      env: { PATH: process.env['PATH'] ?? '', AGENT_DATA_DIR: directory, ...env },
    });
    const { stdout } = await ran.catch((error: unknown) => error as { readonly stdout: string });
    const report = JSON.parse(stdout) as {
      readonly checks: readonly { readonly name: string; readonly summary: string }[];
    };
    return report.checks.find(({ name }) => name === 'session')?.summary ?? '';
  };

  copy.start();
  await copy.live();
  await original.program.logged(
    'A newer session of this node took over: does another agent run with a copy of this data directory?',
  );

  const shared = /^Another agent runs with the identity of this machine/u;
  t.regex(await doctor(original.dataDirectory), shared);
  const reason = await until(
    'the node says so',
    async () => {
      const { status, status_reason: why } = await fleet.node(original);
      return status === 'unhealthy' && why;
    },
    TURNS_MS_MAX,
  );
  t.regex(reason, /^identity: Another agent runs with the identity of this machine, .*copy of the data directory/u);
  await copy.program.logged(
    'A newer session of this node took over: does another agent run with a copy of this data directory?',
    0,
    TURNS_MS_MAX,
  );
  t.regex(await doctor(copy.dataDirectory), shared);
});
