/**
 * Ports that nobody chose: decided before anything else, so that enrolment tells admins the ones that are listened on
 * later.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { listenAt } from '../transport/net/streams/listen.ts';
import type { Log } from '../transport/net/log.ts';
import { withLoopback, type AgentConfig, type GivenConfig } from './config.ts';
import { DEFAULT_PORTS, PORT_SETTINGS, type PortSetting } from './served-ports.ts';

/** Settings whose port nobody chose: where another program takes it meanwhile, another one will do. */
export type PickedPorts = ReadonlySet<PortSetting>;

/**
 * The settings with a port in place of each that is 0 or unset, and which these are. Unset is the usual port, or a free
 * one where another program has that: one line says so, since whoever looks for the usual one finds the other program.
 */
export async function withFreePorts(
  config: GivenConfig,
  log: Log,
): Promise<{ readonly config: AgentConfig; readonly picked: PickedPorts }> {
  const picked = PORT_SETTINGS.filter((setting) => config[setting] === undefined || config[setting] === 0);
  const held: Server[] = [];
  try {
    // All are held until each has one, so that no two are the same: the usual ones first, since a free one may be one.
    const taken = new Set<PortSetting>();
    for (const setting of picked)
      if (config[setting] === undefined && !(await holdDefault(setting, hostsOf(config, setting), held)))
        taken.add(setting);
    const ports: Record<PortSetting, number> = { ...DEFAULT_PORTS };
    for (const setting of PORT_SETTINGS) {
      const given = config[setting];
      if (given === 0 || taken.has(setting)) ports[setting] = await holdFree(held);
      else if (given !== undefined) ports[setting] = given;
    }
    if (taken.size > 0) log.info({}, takenLine([...taken], ports));
    return { config: { ...config, ...ports }, picked: new Set(picked) };
  } finally {
    await Promise.all(held.map((server) => once(server.close(), 'close')));
  }
}

/** Where the server of a setting is to listen; nowhere when it is switched off. */
function hostsOf(config: GivenConfig, setting: PortSetting): readonly string[] {
  if (setting === 'AGENT_SSH_PORT') return config.AGENT_SSH_ENABLED ? withLoopback(config.AGENT_SSH_HOST) : [];
  if (setting === 'AGENT_HTTP_PROXY_PORT' || setting === 'AGENT_SOCKS5_PROXY_PORT')
    return config.AGENT_PROXY_ENABLED ? config.AGENT_PROXY_HOST : [];
  return withLoopback(config.AGENT_METRICS_HOST);
}

/**
 * False: another program has it at one of these addresses. What else is wrong with one is said by who listens there.
 */
async function holdDefault(setting: PortSetting, hosts: readonly string[], held: Server[]): Promise<boolean> {
  for (const host of hosts) {
    const server = createServer();
    const listened = await listenAt(server, { host, port: DEFAULT_PORTS[setting] });
    if (listened.ok) held.push(server);
    else if (listened.code === 'EADDRINUSE') return false;
  }
  return true;
}

async function holdFree(held: Server[]): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  held.push(server);
  return (server.address() as AddressInfo).port;
}

function takenLine(taken: readonly PortSetting[], ports: Readonly<Record<PortSetting, number>>): string {
  const list = taken.map((setting) => `${setting} ${ports[setting]} instead of ${DEFAULT_PORTS[setting]}`).join(', ');
  return `Other programs have usual ports of the agent, which takes free ones and tells admins which: ${list}`;
}
