/** From a client of the admin's proxies to a machine behind its agent, with everything in between as it is shipped. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import test from 'ava';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { restClient, settledAnswer } from '../../support/fleet/rest.ts';
import { echo, listening } from '../../support/net/listening.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { FORWARD, streamThrough, closedAfterMs } from '../../support/net/reach-fixture.ts';
import { until } from '../../support/until.ts';

const run = promisify(execFile);
const withCurl = await peerTest('curl');

async function curl(...words: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--max-time', '20', ...words]);
  return stdout;
}

withCurl('a service on the loopback of a machine is reached by its name, through either proxy', async (t) => {
  const fleet = await startFleet(t, { agents: 1, agentEnv: { AGENT_ALIASES: 'web-1' } });
  const admin = fleet.admin();
  const port = await listening(
    t,
    createServer((request, response) => response.end(`hello from the machine ${request.method} ${request.url}`)),
  );
  const { vpn_hostname: name } = await fleet.node();
  const alias = name.replace(/^[^.]+/u, 'web-1');

  const hello = 'hello from the machine GET /x';
  const http = ['-x', `http://127.0.0.1:${admin.httpProxyPort}`, '-U', FORWARD];
  const socks = ['--socks5-hostname', `127.0.0.1:${admin.socks5ProxyPort}`, '-U', FORWARD];
  t.is(await curl(...http, `http://${name}:${port}/x`), hello);
  t.is(await curl(...http, '-p', `http://${alias}:${port}/x`), hello);
  t.is(await curl(...socks, `http://${name.replace('.fleet.', '.cluster-fleet.')}:${port}/x`), hello);
});

test('an admin reaches a machine that it does not own, until at most a second after its deletion at another admin', async (t) => {
  const fleet = await startFleet(t, { agents: 1, admins: 2 });
  const { vpn_hostname: name } = await fleet.node();
  const { admin: owner } = await until('an owner', () => fleet.owner());
  const stranger = fleet.admin(owner === fleet.admin() ? 1 : 0);
  const port = await echo(t);

  // an admin that is just started may not know yet who owns the cluster
  const stream = await until('a stream', () => streamThrough(stranger.httpProxyPort, `${name}:${port}`));
  stream.write('over there');
  t.is(String((await once(stream, 'data'))[0]), 'over there');

  const closed = closedAfterMs(stream);
  const rest = restClient(() => owner.url, FLEET_KEYS.MASTER_KEY);
  await settledAnswer(() => rest.call('DELETE', `/nodes/${fleet.agent().node}`));
  const deletedMs = performance.now();
  await closed;
  t.true(performance.now() - deletedMs < scaled(1_000 + BUSY_MS));
});
