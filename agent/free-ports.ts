/** Ports that the system may pick: picked before anything else, so that enrolment tells admins the ones that are listened on later. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { AgentConfig } from './config.ts';

const PICKED = ['AGENT_SSH_PORT', 'AGENT_HTTP_PROXY_PORT', 'AGENT_SOCKS5_PROXY_PORT'] as const;

/** The settings with a free port in place of each 0. They are all different; another program could take one before it is listened on, which its service says then. */
export async function withFreePorts(config: AgentConfig): Promise<AgentConfig> {
  const wanted = PICKED.filter((setting) => config[setting] === 0);
  const servers = await Promise.all(wanted.map(async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return { ...config, ...Object.fromEntries(wanted.map((setting, index) => [setting, ports[index]])) };
}
