/**
 * A machine by a terminal, a command, files and both proxies, where the admin that is asked does not own it, and where
 * a balancer leads each connection to another admin.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import ava, { type ExecutionContext } from 'ava';
import { openBalancer } from '../../../support/net/balancer.ts';
import { hangAfter } from '../../../support/busy.ts';
import type { Fleet } from '../../../support/fleet.ts';
import { startFleet } from '../../../support/fleet.ts';
import type { AdminProgram } from '../../../support/fleet/admin-program.ts';
import { ownership } from '../../../support/fleet/ownership.ts';
import { listening } from '../../../support/net/listening.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { FORWARD } from '../../../support/net/reach-fixture.ts';
import { createScope } from '../../../support/scope.ts';
import { inTerminal } from '../fixture.ts';
import { allowLogin, ALIAS, createReachFixture, USERNAME, type ReachFixture } from './fixture.ts';

const test = await peerTest('ssh', 'scp', 'ssh-keygen', 'curl');

/** Connections through the balancer, one after the other: each admin gets some. */
const TURNS = 4;

const scope = createScope();
let fleet: Fleet;
let other: AdminProgram;
let page: number;

ava.serial.before('two admins, an agent, and a page on its machine start', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 1, agentEnv: { AGENT_ALIASES: ALIAS } });
  ({ other } = await ownership(fleet));
  page = await listening(
    scope,
    createServer((_request, response) => response.end('a page of the machine')),
  );
});
ava.after.always('they end', () => scope.end());

test.serial('a machine is reached by an admin that does not own it', async (t) => {
  t.timeout(hangAfter(60_000));
  await isReached(t, await createReachFixture(t, fleet, other), 1);
});

test.serial('machines are reached through a balancer before both admins', async (t) => {
  t.timeout(hangAfter(60_000));
  const ways = await Promise.all(
    (['url', 'httpProxyPort', 'socks5ProxyPort'] as const).map(async (where) => {
      const balancer = await openBalancer(t);
      for (const admin of fleet.admins) balancer.add(where === 'url' ? admin.url : `http://127.0.0.1:${admin[where]}`);
      return balancer;
    }),
  );
  const [api, http, socks5] = ways.map(({ url }) => url);
  const fixture = await createReachFixture(t, fleet, {
    url: api ?? '',
    httpProxyPort: Number(new URL(http ?? '').port),
    socks5ProxyPort: Number(new URL(socks5 ?? '').port),
  });

  await isReached(t, fixture, TURNS);

  for (const { connections } of ways) t.is(connections.size, fleet.admins.length, 'each admin was asked');
});

/** Everything that reaches it, so many times. */
async function isReached(t: ExecutionContext, fixture: ReachFixture, times: number): Promise<void> {
  const login = ['-F', 'none', ...(await allowLogin(fleet, fixture))];
  const person = `${USERNAME}@${ALIAS}`;
  const content = randomBytes(300_000);
  const [file, back] = [join(fixture.directory, 'file'), join(fixture.directory, 'back')];
  writeFileSync(file, content);
  for (let turn = 0; turn < times; turn += 1) {
    const command = await fixture.edge('ssh', ...login, person, '--', 'echo out; exit 7');
    t.deepEqual([command.status, command.stdout], [7, 'out\n'], command.stderr);

    const terminal = inTerminal(t, ['ssh', ...login, '-t', person, '--', 'tty; exit 5'], fixture.env);
    t.is(await terminal.ended, 5, terminal.shown());
    t.regex(terminal.shown(), /\/dev\/pts\/\d+/u);

    for (const way of [
      ['-x', fixture.env.EDGE_PROXY_URL],
      ['-p', '-x', fixture.env.EDGE_PROXY_URL],
      ['--socks5-hostname', fixture.env.EDGE_SOCKS5_URL.replace('socks5://', '')],
    ]) {
      const words = ['-sS', '--max-time', '20', ...way, '-U', FORWARD, `http://${fixture.host}:${page}/`];
      t.deepEqual(await fixture.run('curl', words), { status: 0, stdout: 'a page of the machine', stderr: '' });
    }
  }
  const copied = await fixture.edge('cp', '-q', ...login, file, `${person}:${file}-there`);
  const again = await fixture.edge('cp', '-q', ...login, `${person}:${file}-there`, back);
  t.deepEqual([copied.status, again.status], [0, 0], copied.stderr + again.stderr);
  t.true(readFileSync(back).equals(content));
  await fleet.rest.call('DELETE', `/ssh_usernames/${await usernameId()}`);
}

async function usernameId(): Promise<string> {
  const [found] = await fleet.rest.get<readonly { readonly id: string }[]>(`/ssh_usernames?username=${USERNAME}`);
  return found?.id ?? '';
}
