/** A machine as it is installed: a real agent and a real updater, both started by the launcher and kept running. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from '../../../agent/updater/state.ts';
import { FREE_PORTS, endScriptsOf, enrollmentIn } from '../fleet/agent-program.ts';
import { Program } from '../fleet/program.ts';
import { freePort } from '../net/free-ports.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { Supervisor } from './supervisor.ts';

/** What it is installed with. */
export interface RealMachineOptions {
  /** Where everything of it is. */
  readonly directory: string;
  /** The updater's bundle, to install with. */
  readonly installer: string;
  /** The root.json that it trusts. */
  readonly root: string;
  readonly agentEnv: Readonly<Record<string, string>>;
  readonly updaterEnv: Readonly<Record<string, string>>;
}

/** A machine. */
export interface RealMachine {
  readonly agent: Supervisor;
  readonly updater: Supervisor;
  readonly dataDirectory: string;
  /** The node's id, once it enrolled. */
  readonly node: () => string;
  /** One call of the updater's API. */
  call(method: 'GET' | 'POST', path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Asks for an update and waits for its end. */
  update(): Promise<Outcome>;
  /** What the agent says of itself; null: nothing. */
  health(): { readonly version: string; readonly pid: number; readonly connected_since: number | null } | null;
  /** Resolves when the agent of this version is connected. */
  connected(version: string): Promise<void>;
}

/** Installs by `bootstrap` and starts both services. */
export async function realMachine(scope: Scope, options: RealMachineOptions): Promise<RealMachine> {
  const { directory, installer, root, agentEnv, updaterEnv } = options;
  const dataDirectory = join(directory, 'agent');
  const updaterDirectory = join(directory, 'updater');
  mkdirSync(dataDirectory, { recursive: true });
  writeFileSync(join(directory, 'root.json'), root);
  const [agentPid, port] = [join(directory, 'agent.pid'), await freePort()];
  const token = join(updaterDirectory, 'token');
  const env = {
    UPDATER_DIR: updaterDirectory,
    UPDATER_LISTEN: `127.0.0.1:${port}`,
    UPDATER_AGENT_DATA_DIR: dataDirectory,
    UPDATER_RESTART_COMMAND: `pid=$(cat ${agentPid}); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.02; done`,
    UPDATER_WELL_FOR: '1s',
    UPDATER_DEADLINE: '20s',
    ...updaterEnv,
  };
  const install = Program.run(
    scope,
    process.execPath,
    [installer, 'bootstrap', '--root', join(directory, 'root.json')],
    env,
  );
  const { code } = await install.ended();
  if (code !== 0) throw new Error(`not installed: ${install.output}`);
  const agent = new Supervisor(
    scope,
    'agent',
    {
      UPDATER_DIR: updaterDirectory,
      AGENT_DATA_DIR: dataDirectory,
      AGENT_SELF_UPDATE_ENABLED: 'true',
      AGENT_UPDATER_URL: `http://127.0.0.1:${port}`,
      AGENT_UPDATER_TOKEN_FILE: token,
      ...FREE_PORTS,
      ...agentEnv,
    },
    agentPid,
  );
  scope.teardown(() => endScriptsOf(dataDirectory));
  const updater = new Supervisor(scope, 'updater', env, join(directory, 'updater.pid'));
  agent.start();
  updater.start();
  const health: RealMachine['health'] = () => {
    try {
      return JSON.parse(readFileSync(join(dataDirectory, 'health.json'), 'utf8')) as ReturnType<RealMachine['health']>;
    } catch {
      return null;
    }
  };
  const call: RealMachine['call'] = (method, path, headers = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${readFileSync(token, 'utf8').trim()}`, ...headers },
    });
  return {
    agent,
    updater,
    dataDirectory,
    node: () => enrollmentIn(dataDirectory)?.node_id ?? '',
    call,
    async update() {
      const answer = await until('the updater', async () => {
        const tried = await call('POST', '/v1/update');
        return tried.status === 429 ? null : tried;
      });
      const { outcome } = (await answer.json()) as { readonly outcome: Outcome };
      return outcome;
    },
    health,
    connected: async (version) => {
      await until(`an agent ${version} that is connected`, () => {
        const said = health();
        if (said?.version !== version || said.connected_since === null)
          throw new Error(
            `it says ${JSON.stringify(said)}; ${agent.output.slice(-1_500)}; ${updater.output.slice(-1_500)}`,
          );
        return true;
      });
    },
  };
}
