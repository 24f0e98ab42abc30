/** The real agent program as a child process, enrolled at an admin of the bench. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BENCH_DIR } from '../fleet/database.ts';
import { freePort } from '../fleet/ports.ts';
import type { AdminProcess } from './admin.ts';
import { openInspector, type Inspector } from './inspector.ts';

/** Cluster of the agents. */
const CLUSTER = 'bench';

/** Timeout of the enrolment, in ms. */
const HEALTHY_MS_MAX = 20_000;

/** Timeout of an orderly stop, in ms. */
const STOP_MS_MAX = 20_000;

/** A running agent. */
export interface AgentProcess {
  readonly pid: number;
  readonly node: string;
  /** As clients of the admin's proxies say it. */
  readonly hostName: string;
  /** For the user `_` of its own proxies. */
  readonly proxyPassword: string;
  readonly socks5Port: number;
  readonly sshPort: number;
  inspect(): Promise<Inspector>;
  stop(): Promise<void>;
}

/** How an agent starts. */
export interface AgentOptions {
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** With V8's optimizing compiler, which the program does without. */
  readonly isOptimizing?: boolean;
}

/**
 * Starts `edge-agent up` on a directory of its own and waits until it is healthy. The first of an admin makes the
 * cluster.
 */
export async function startAgent(
  admin: AdminProcess,
  { env = {}, isOptimizing = false }: AgentOptions = {},
): Promise<AgentProcess> {
  const dataDir = await mkdtemp(join(BENCH_DIR, 'agent-'));
  const inspectPort = await freePort();
  const [socks5Port, httpPort, sshPort] = [await freePort(), await freePort(), await freePort()];
  const preload = isOptimizing ? ['--import', join(import.meta.dirname, 'keep-optimizing.ts')] : [];
  const child = spawn(
    process.execPath,
    [`--inspect-port=127.0.0.1:${inspectPort}`, ...preload, join(import.meta.dirname, '../../cli/edge-agent.ts'), 'up'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        ENROLLMENT_KEY: await enrollmentKey(admin),
        AGENT_DATA_DIR: dataDir,
        LOG_LEVEL: 'warn',
        AGENT_SOCKS5_PROXY_PORT: String(socks5Port),
        AGENT_HTTP_PROXY_PORT: String(httpPort),
        AGENT_SSH_PORT: String(sshPort),
        AGENT_API_PORT: '0',
        AGENT_HOST_METRICS_PORT: '0',
        AGENT_WIREGUARD_METRICS_PORT: '0',
        VPN_ENABLED: 'false',
        AGENT_SSH_UNKNOWN_USERS: 'agent',
        ...env,
      },
    },
  );
  const abandon = (): void => void child.kill('SIGKILL'); // the bench was interrupted
  process.once('exit', abandon);
  const stop = async (): Promise<void> => {
    process.off('exit', abandon);
    child.kill('SIGTERM');
    const hard = setTimeout(abandon, STOP_MS_MAX);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    clearTimeout(hard);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const { node, proxyPassword } = await identity(dataDir);
    return {
      pid: child.pid ?? 0,
      node,
      proxyPassword,
      socks5Port,
      sshPort,
      hostName: await healthy(admin, node),
      inspect: () => openInspector(child.pid ?? 0, inspectPort),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function enrollmentKey({ http }: AdminProcess): Promise<string> {
  const clusters = await http.call<{ name: string }[]>('GET', '/clusters');
  if (clusters.every(({ name }) => name !== CLUSTER)) await http.call('POST', '/clusters', { name: CLUSTER });
  return (await http.call<{ key: string }>('POST', `/clusters/${CLUSTER}/enrollment_keys`, {})).key;
}

/** What the agent wrote down when it was let in. */
async function identity(dataDir: string): Promise<{ node: string; proxyPassword: string }> {
  for (const until = Date.now() + HEALTHY_MS_MAX; Date.now() < until; await delay(50)) {
    const text = await readFile(join(dataDir, 'identity.json'), 'utf8').catch(() => '{}');
    const { node_id: node, enrollment } = JSON.parse(text) as {
      node_id?: string;
      enrollment?: { proxy_password: string } | null;
    };
    if (node !== undefined && enrollment) return { node, proxyPassword: enrollment.proxy_password };
  }
  throw new Error(`the agent did not enrol within ${HEALTHY_MS_MAX / 1_000} s`);
}

/** Waits for it; returns its host name. */
async function healthy({ http }: AdminProcess, node: string): Promise<string> {
  for (const until = Date.now() + HEALTHY_MS_MAX; Date.now() < until; await delay(100)) {
    const { status, vpn_hostname: hostName } = await http.call<{ status: string; vpn_hostname: string }>(
      'GET',
      `/nodes/${node}`,
    );
    if (status === 'healthy') return hostName;
  }
  throw new Error(`the agent was not healthy within ${HEALTHY_MS_MAX / 1_000} s`);
}
