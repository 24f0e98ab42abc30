/**
 * MeshCentral as a contestant: it holds thousands of agents on one Node process, as the product does. Nothing of a
 * command is durable there, there are no exit codes, and output reaches only the session that asked. Its TLS and its
 * agents' hash check are off, which flatters it.
 */
import { execFile, spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Side } from '../method/interleave.ts';
import { treeOf } from '../method/usage.ts';
import { startWorker } from '../method/worker.ts';
import { PEERS_DIR } from './programs.ts';

const run = promisify(execFile);

const PACKAGE = 'meshcentral@1.1.55';
const HOME = join(PEERS_DIR, 'meshcentral');
const PROGRAM = join(HOME, 'node_modules/meshcentral');

/** An account of the throw-away server of one run. */
const USER = 'admin';
const PASSWORD = 'bench-only-Passw0rd';

/** Timeout of its start, in ms: it makes certificates first. */
const START_MS_MAX = 90_000;

/** A server with its agents, as a side of the comparison. */
export interface MeshCentralFleet {
  readonly side: Side;
  end(): Promise<void>;
}

/** Whether it is there, after an installation below the bench's directory when that is allowed. */
export async function hasMeshCentral(install: boolean): Promise<boolean> {
  const isThere = (): Promise<boolean> =>
    access(join(PROGRAM, 'package.json')).then(
      () => true,
      () => false,
    );
  if ((await isThere()) || !install) return isThere();
  await mkdir(HOME, { recursive: true });
  await writeFile(join(HOME, 'package.json'), '{"private":true}\n');
  await run('npm', ['install', '--no-audit', '--no-fund', PACKAGE], { cwd: HOME, maxBuffer: 16_777_216 });
  return isThere();
}

/** Starts it on loopback with `nodes` agents in a process of their own and one operator's session. */
export async function startMeshCentralFleet(port: number, nodes: number): Promise<MeshCentralFleet> {
  const directory = await mkdtemp(join(HOME, 'run-'));
  const data = join(directory, 'data');
  await mkdir(data);
  await writeFile(
    join(data, 'config.json'),
    JSON.stringify({
      settings: {
        cert: 'mesh.test',
        port,
        portBind: '127.0.0.1',
        redirPort: 0,
        mpsPort: 0,
        wanOnly: true,
        tlsOffload: true,
        exactPorts: true,
        ignoreAgentHashCheck: true,
        selfUpdate: false,
        autoBackup: false,
        compression: false,
        wsCompression: false,
        agentWsCompression: false,
      },
      domains: { '': { newAccounts: false } },
    }),
  );
  const common = [PROGRAM, '--datapath', data, '--filespath', join(directory, 'files')];
  await run(process.execPath, [...common, '--createaccount', USER, '--pass', PASSWORD, '--email', 'bench@mesh.test'], {
    cwd: directory,
    maxBuffer: 16_777_216,
  });
  await run(process.execPath, [...common, '--adminaccount', USER], { cwd: directory, maxBuffer: 16_777_216 });
  const server = spawn(process.execPath, common, { cwd: directory, stdio: 'ignore' });
  const workers = [
    await startWorker(new URL('mesh-worker.ts', import.meta.url)),
    await startWorker(new URL('mesh-worker.ts', import.meta.url)),
  ] as const;
  const [agents, operator] = workers;
  const end = async (): Promise<void> => {
    for (const worker of workers) await worker.end();
    for (const pid of treeOf(server.pid ?? 0)) endProcess(pid); // it runs as a child of its own launcher
    await delay(500); // its files are no longer written
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await listening(port);
    const mesh = await operator.ask<string>('operate', { port, user: USER, password: PASSWORD });
    const certificate = await readFile(join(data, 'agentserver-cert-public.crt'), 'utf8');
    await agents.ask('serve', { port, nodes, mesh, certificate });
    await operator.ask('find', nodes);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    side: {
      name: 'meshcentral',
      run: async () => ({ seconds: (await operator.ask<number>('run', nodes)) / 1_000, readings: {} }),
    },
    end,
  };
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it ended by itself in between
  }
}

async function listening(port: number): Promise<void> {
  for (const until = Date.now() + START_MS_MAX; Date.now() < until; await delay(200)) {
    if (
      await fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      )
    )
      return;
  }
  throw new Error(`MeshCentral did not listen within ${START_MS_MAX / 1_000} s`);
}
