/** From a client of the admin's proxies to a machine behind its agent, with everything in between as it is shipped. */
import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { BUSY_MS, patient } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { target } from '../../support/tunnels-fixture.ts';

const run = promisify(execFile);

/** A web server on loopback, which nobody reaches but through the machine. */
async function website(t: ExecutionContext, body: string): Promise<number> {
  const server = createServer((request, response) => {
    response.end(`${body} ${request.method} ${request.url}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
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
  t.is(
    await curl('-x', `http://127.0.0.1:${admin.httpProxyPort}`, '-U', user, '-p', `http://${alias}:${port}/x`),
    hello,
  );
  t.is(
    await curl(
      '--socks5-hostname',
      `127.0.0.1:${admin.socks5ProxyPort}`,
      '-U',
      user,
      `http://${name.replace('.fleet.', '.cluster-fleet.')}:${port}/x`,
    ),
    hello,
  );
});

test('a machine is reached through an admin that does not own it, and is out of reach there within a second of its deletion at another', async (t) => {
  const fleet = await startFleet(t, { agents: 1, admins: 2 });
  const [agent] = fleet.agents;
  if (agent === undefined) throw new Error('there is no agent');
  const { vpn_hostname: name } = await fleet.rest.get<NodeResource>(`/nodes/${agent.node}`);
  const [admins, owner] = [fleet.admins, await ownerOf(fleet, agent.node)];
  const stranger = admins.find((admin) => admin.name !== owner);
  if (stranger === undefined) throw new Error('one admin owns everything');
  const port = await target(t, (socket) => socket.pipe(socket));

  const stream = await connectThrough(stranger.httpProxyPort, `${name}:${port}`);
  stream.write('over there');
  t.is(String((await once(stream, 'data'))[0]), 'over there');

  const closed = new Promise((resolve) => {
    stream.once('close', resolve);
  });
  await restClient(() => admins.find((admin) => admin.name === owner)?.url ?? '', FLEET_KEYS.MASTER_KEY).call(
    'DELETE',
    `/nodes/${agent.node}`,
  );
  const deletedMs = performance.now();
  await closed;
  t.true(performance.now() - deletedMs < patient(1_000 + BUSY_MS));
});

/** Name of the admin that owns a node's cluster. */
async function ownerOf(fleet: Fleet, node: string): Promise<string> {
  const [row] = await fleet.sql<{ name: string }>(
    'select a.name from node n join cluster_ownership w on w.cluster_id = n.cluster_id join admin a on a.id = w.admin_id where n.id = $1',
    [node],
  );
  return row?.name ?? '';
}

/** A stream through the HTTP proxy at a port, in forward mode. */
async function connectThrough(proxyPort: number, authority: string): Promise<Socket> {
  const asked = request({
    host: '127.0.0.1',
    port: proxyPort,
    method: 'CONNECT',
    path: authority,
    headers: { 'proxy-authorization': `Basic ${Buffer.from(`_:${FLEET_KEYS.PROXY_KEY}`).toString('base64')}` },
  });
  asked.end();
  const [response, socket] = (await once(asked, 'connect')) as [{ statusCode: number }, Socket];
  if (response.statusCode !== 200) throw new Error(`the proxy answered ${response.statusCode}`);
  return socket.on('error', () => {});
}
