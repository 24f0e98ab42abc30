/** The product as cases about reaching machines need it: an admin with proxies, and agents behind it. */
import { mkdir } from 'node:fs/promises';
import { freePort } from '../fleet/ports.ts';
import type { BenchServer } from '../fleet/database.ts';
import type { Route } from '../load/program.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from './admin.ts';
import { startAgent, type AgentProcess } from './agent-program.ts';
import { profiledTogether } from './inspector.ts';

/** Everything that runs of it. */
export interface ReachProduct {
  readonly admin: AdminProcess;
  /** As it is shipped. */
  readonly agent: AgentProcess;
  /** The same with V8's optimizing compiler; to see what that would give. */
  readonly optimizing: AgentProcess;
  /** Through the admin's SOCKS5 proxy to a port of the agent's machine (forward mode). */
  through(agent: AgentProcess, target: number): Route;
  /** Through the agent's own SOCKS5 proxy. */
  direct(agent: AgentProcess, target: number): Route;
  end(): Promise<void>;
}

/** Loopback is closed to clients of an agent's own proxies, and the target is there. */
const AGENT_ENV = { PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.1' };

/** Starts it on a database of its own. Resolves when the agents are healthy. */
export async function startReachProduct(postgres: BenchServer): Promise<ReachProduct> {
  const port = await freePort();
  const place = await newAdminPlace(await postgres.create('reach'), { ADMIN_SOCKS5_PROXY_PORT: String(port) });
  const admin = await startAdmin(place);
  const agents: AgentProcess[] = [];
  const end = async (): Promise<void> => {
    for (const agent of agents) await agent.stop();
    await admin.stop();
  };
  try {
    const agent = await startAgent(admin, { env: AGENT_ENV });
    agents.push(agent);
    const optimizing = await startAgent(admin, { env: AGENT_ENV, isOptimizing: true });
    agents.push(optimizing);
    return {
      admin,
      agent,
      optimizing,
      end,
      through: ({ hostName }, target) => ['socks5', port, '_', place.masterKey, hostName, target],
      direct: ({ socks5Port, proxyPassword }, target) => [
        'socks5',
        socks5Port,
        '_',
        proxyPassword,
        '127.0.0.1',
        target,
      ],
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Profiles those processes of the product that take part in `work`, when a directory is given. */
export async function profileReach(
  { admin, agent }: ReachProduct,
  pids: readonly number[],
  name: string,
  profileDir: string | undefined,
  work: () => Promise<unknown>,
): Promise<void> {
  if (profileDir === undefined) return;
  await mkdir(profileDir, { recursive: true });
  const processes = (
    [
      ['admin', admin],
      ['agent', agent],
    ] as const
  ).filter(([, { pid }]) => pids.includes(pid));
  await profiledTogether(
    processes.map(([role, program]) => ({ program, file: `${profileDir}/${name}-${role}.cpuprofile` })),
    work,
  );
}
