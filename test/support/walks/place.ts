/** Where a walk begins: an admin, and machines with agents, of one installation. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scaled } from '../busy.ts';
import { createDatabase } from '../database/database.ts';
import { FLEET_KEYS } from '../fleet.ts';
import { endScriptsOf, FREE_PORTS, processesWith } from '../fleet/agent-program.ts';
import { Program } from '../fleet/program.ts';
import { restClient, type Rest } from '../fleet/rest.ts';
import { freePort } from '../net/free-ports.ts';
import type { Scope } from '../scope.ts';
import { signalAll } from '../processes.ts';
import { urlOf } from '../database/server.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';
import type { Installation } from '../releases/installation.ts';

/** A machine that joins before the walk begins. */
export interface Machine {
  readonly name: string;
  readonly labels: string;
  /** What `app` prints there, and how it ends: a program that is a little different on each machine. */
  readonly app?: { readonly says: string; readonly status: number };
}

/** What is there. */
export interface Place {
  readonly url: string;
  readonly rest: Rest;
  /** The home directory of whoever walks. */
  readonly home: string;
  /** Environment of whoever walks. */
  readonly env: Readonly<Record<string, string>>;
  /** The agent of a machine, by its name. */
  agent(name: string): Program;
}

/**
 * So soon is a machine that says nothing called unreachable, in ms: one that only has to wait for a processor is not.
 */
const UNREACHABLE_AFTER_MS = scaled(4_000);

/** Starts the admin and the machines of a cluster. All of it ends with the scope. */
export async function openPlace(
  scope: Scope,
  { bin, path }: Installation,
  { cluster, machines }: { readonly cluster: string; readonly machines: readonly Machine[] },
): Promise<Place> {
  const home = join(temporaryDirectory(scope), 'ada');
  mkdirSync(home);
  scope.teardown(() => signalAll(processesWith(`HOME=${home}`), 'SIGKILL')); // what was started in the background
  const [port, httpProxyPort, socks5ProxyPort] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const admin = Program.run(scope, join(bin, 'edge-admin'), ['serve'], {
    MASTER_KEY: FLEET_KEYS.MASTER_KEY,
    PATH: path,
    DATABASE_URL: urlOf(await createDatabase(scope, { schema: 'empty' })),
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    ADMIN_NAME: 'admin-1',
    ADMIN_URLS: url,
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: String(port),
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: String(httpProxyPort),
    ADMIN_SOCKS5_PROXY_PORT: String(socks5ProxyPort),
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
    NODE_UNREACHABLE_AFTER_MS: `${UNREACHABLE_AFTER_MS}ms`,
    WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
  });
  await admin.logged('edge-admin is ready');
  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  const agents = new Map<string, Program>();
  if (machines.length > 0) {
    await rest.post('/clusters', { name: cluster });
    const { key } = await rest.post<{ key: string }>(`/clusters/${cluster}/enrollment_keys`, {
      uses_remaining: machines.length,
    });
    for (const machine of machines) agents.set(machine.name, startMachine(scope, { bin, path }, { url, key, machine }));
    await until('healthy machines', async () => {
      const { length } = await rest.get<readonly unknown[]>('/nodes?status__in=healthy');
      return length === machines.length;
    });
  }
  return {
    url,
    rest,
    home,
    env: { ...FREE_PORTS, PATH: path, HOME: home },
    agent(name) {
      const found = agents.get(name);
      if (found === undefined) throw new Error(`there is no machine ${name}`);
      return found;
    },
  };
}

function startMachine(
  scope: Scope,
  { bin, path }: Installation,
  { url, key, machine }: { readonly url: string; readonly key: string; readonly machine: Machine },
): Program {
  const directory = temporaryDirectory(scope);
  const data = join(directory, 'data');
  const { says, status } = machine.app ?? { says: 'app 1.4.2', status: 0 };
  writeFileSync(join(directory, 'app'), `#!/bin/sh\necho '${says}'\nexit ${status}\n`, { mode: 0o755 });
  scope.teardown(() => endScriptsOf(data));
  return Program.run(scope, join(bin, 'edge-agent'), ['up'], {
    ...FREE_PORTS,
    PATH: `${directory}:${path}`,
    AGENT_DATA_DIR: data,
    AGENT_ALIASES: machine.name,
    AGENT_LABELS: machine.labels,
    ADMIN_URLS: url,
    ENROLLMENT_KEY: key,
  });
}
