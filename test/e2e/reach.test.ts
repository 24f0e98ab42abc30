/** From a client of the admin's proxies to a machine behind its agent, with everything in between as it is shipped. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { NodeResource } from '../../actors/resources.ts';
import { FLEET_KEYS, startFleet } from '../support/fleet.ts';

const run = promisify(execFile);

/** A web server on loopback, which nobody reaches but through the machine. */
async function website(t: ExecutionContext, body: string): Promise<number> {
  const server = createServer((request, response) => { response.end(`${body} ${request.method} ${request.url}`); });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => { server.close(); server.closeAllConnections(); });
  return (server.address() as AddressInfo).port;
}

async function curl(...words: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--max-time', '20', ...words]);
  return stdout;
}

test('a service on the loopback of a machine is reached by its name, through either proxy', async (t) => {
  const fleet = await startFleet(t, { agents: 1, agentEnv: { AGENT_ALIASES: 'web-1' } });
  const [admin] = fleet.admins;
  const [agent] = fleet.agents;
  if (admin === undefined || agent === undefined) throw new Error('there is no fleet');
  const port = await website(t, 'hello from the machine');
  const { vpn_hostname: name } = await fleet.rest.get<NodeResource>(`/nodes/${agent.node}`);
  const alias = name.replace(/^[^.]+/u, 'web-1');
  const user = `_:${FLEET_KEYS.PROXY_KEY}`;

  const hello = 'hello from the machine GET /x';
  t.is(await curl('-x', `http://127.0.0.1:${admin.httpProxyPort}`, '-U', user, `http://${name}:${port}/x`), hello);
  t.is(await curl('-x', `http://127.0.0.1:${admin.httpProxyPort}`, '-U', user, '-p', `http://${alias}:${port}/x`), hello);
  t.is(await curl('--socks5-hostname', `127.0.0.1:${admin.socks5ProxyPort}`, '-U', user, `http://${name.replace('.fleet.', '.cluster-fleet.')}:${port}/x`), hello);
});
