/**
 * Ports that the system may pick: picked before anything else, so that enrolment tells admins the ones that are
 * listened on later.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { AgentConfig } from './config.ts';

const SERVED = [
  'AGENT_API_PORT',
  'AGENT_SSH_PORT',
  'AGENT_HOST_METRICS_PORT',
  'AGENT_WIREGUARD_METRICS_PORT',
  'AGENT_HTTP_PROXY_PORT',
  'AGENT_SOCKS5_PROXY_PORT',
] as const;

/** Settings whose port was picked. */
export type PickedPorts = ReadonlySet<(typeof SERVED)[number]>;

/**
 * The settings with a free port in place of each 0, all of them different, and which these are: another program can
 * take one before it is listened on, and then another one does as well.
 */
export async function withFreePorts(
  config: AgentConfig,
): Promise<{ readonly config: AgentConfig; readonly picked: PickedPorts }> {
  const picked = SERVED.filter((setting) => config[setting] === 0);
  const servers = await Promise.all(
    picked.map(async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return {
    config: { ...config, ...Object.fromEntries(picked.map((setting, index) => [setting, ports[index]])) },
    picked: new Set(picked),
  };
}
