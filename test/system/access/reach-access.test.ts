/** Who gets where: keys of the proxies, users of one machine at another, and machines that move. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import ava, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { AgentPorts } from '../../../transport/protocol/agent-description.ts';
import { PROTOCOL_VERSION, TUNNEL_PATH, TUNNEL_SUBPROTOCOL } from '../../../transport/protocol/version.ts';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { allow, closedAfterMs, connectThrough, streamThrough, wordsTo } from '../../support/net/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { echo, target } from '../../support/net/listening.ts';
import { publicKey, runClient } from '../../support/ssh/openssh.ts';

const test = await peerTest('curl', 'ssh', 'ssh-keygen', 'ncat');
const fleet = sharedFleet(ava, {
  agents: 2,
  agentEnv: { AGENT_PROXY_HOST: '127.0.0.1' },
  env: { AUTH_FAILURES_PER_MINUTE_MAX: '100000' },
});
const scope = createScope();
ava.after.always('the files go', () => scope.end());

/** What is deleted or moved is out of reach within this, in ms. Source: docs/promises.md, E5. */
const REVOKED_MS_MAX = 1_000 + BUSY_MS;

/** Exit status of curl by SOCKS5: 0, or 97 when the proxy said no. */
async function socksStatus(port: number, user: string | null, url: string): Promise<number> {
  const way = ['--socks5-hostname', `127.0.0.1:${port}`, ...(user === null ? [] : ['-U', user])];
  const words = ['-sS', '--max-time', '20', '-o', '/dev/null', ...way, url];
  return promisify(execFile)('curl', words).then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
}

/** A service on the loopback of the machines, which says HTTP to whoever connects. */
const service = (t: ExecutionContext): Promise<number> =>
  target(t, (socket) => {
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi');
  });

test.serial(
  'the proxies of an admin open for PROXY_KEY and MASTER_KEY and for nothing else, over HTTP and over SOCKS5',
  async (t) => {
    const { vpn_hostname: name } = await fleet().node();
    const port = await service(t);
    const { httpProxyPort, socks5ProxyPort } = fleet().admin();
    const { api_token: token, proxy_password: password } = fleet().agent(0).enrollment;
    const shown: readonly (readonly [string, string | null, boolean])[] = [
      ['PROXY_KEY', `_:${FLEET_KEYS.PROXY_KEY}`, true],
      ['MASTER_KEY', `_:${FLEET_KEYS.MASTER_KEY}`, true],
      ['API_KEY', `_:${FLEET_KEYS.API_KEY}`, false],
      ['METRICS_KEY', `_:${FLEET_KEYS.METRICS_KEY}`, false],
      ['MCP_KEY', `_:${FLEET_KEYS.MCP_KEY}`, false],
      ['the password of an agent', `_:${password}`, false],
      ['the token of an agent', `_:${token}`, false],
      ['the key as the name', `${FLEET_KEYS.PROXY_KEY}:_`, false],
      ['half of the key', `_:${FLEET_KEYS.PROXY_KEY.slice(0, -1)}`, false],
      ['the key and more', `_:${FLEET_KEYS.PROXY_KEY} `, false],
      ['nothing', '_:', false],
      ['no credentials', null, false],
    ];

    for (const [what, user, isLetIn] of shown) {
      const { status, stream } = await connectThrough(httpProxyPort, `${name}:${port}`, user);
      stream?.destroy();
      t.deepEqual(
        [status, await socksStatus(socks5ProxyPort, user, `http://${name}:${port}/`)],
        isLetIn ? [200, 0] : [407, 97],
        what,
      );
    }
  },
);

test.serial('the proxies of an agent open for its own password alone', async (t) => {
  const node = await fleet().node();
  const port = await service(t);
  const ports: AgentPorts = node;
  for (const user of [
    `_:${FLEET_KEYS.PROXY_KEY}`,
    `_:${FLEET_KEYS.MASTER_KEY}`,
    `_:${fleet().agent(1).enrollment.proxy_password}`,
    null,
  ]) {
    t.is((await connectThrough(ports.http_proxy_port, `127.0.0.1:${port}`, user)).status, 407);
    t.is(await socksStatus(ports.socks5_proxy_port, user, `http://127.0.0.1:${port}/`), 97);
  }
  t.is(
    (
      await connectThrough(
        ports.http_proxy_port,
        `127.0.0.1:${port}`,
        `_:${fleet().agent(0).enrollment.proxy_password}`,
      )
    ).status,
    403,
    'in, and refused the loopback of the machine',
  );
});

test.serial('a user of one machine is nobody at another, also by the same name', async (t) => {
  const directory = temporaryDirectory(scope);
  const [one, other] = [await fleet().node(), await fleet().node(fleet().agent(1))];
  const [ada, bob, evesAtOther] = [
    await allow(fleet(), one.id, 'ada', directory),
    await allow(fleet(), one.id, 'same', directory),
    await allow(fleet(), other.id, 'same', directory),
  ];
  const isIn = async (node: typeof one, username: string, path: string) => {
    const words = wordsTo(node, { username, path }, fleet().admin());
    return (await runClient(t, 'ssh', [...words, 'echo in'])).stdout === 'in\n';
  };

  t.deepEqual([await isIn(one, 'ada', ada.path), await isIn(other, 'ada', ada.path)], [true, false]);
  t.deepEqual([await isIn(one, 'same', bob.path), await isIn(other, 'same', evesAtOther.path)], [true, true]);
  t.deepEqual([await isIn(one, 'same', evesAtOther.path), await isIn(other, 'same', bob.path)], [false, false]);

  await settledAnswer(() => fleet().rest.call('DELETE', `/ssh_usernames/${bob.resource.id}`));
  const again = await fleet().rest.post<{ readonly id: string }>(`/nodes/${one.id}/ssh_usernames`, {
    username: 'same',
    public_keys: [],
  });
  t.deepEqual(
    [await isIn(one, 'same', bob.path), await isIn(other, 'same', evesAtOther.path)],
    [false, true],
    'a key of a deleted user opens nothing for the next of that name',
  );
  await fleet().rest.post(`/ssh_usernames/${again.id}/ssh_public_keys`, {
    key_name: 'back',
    public_key: publicKey(bob.path),
  });
  t.true(await isIn(one, 'same', bob.path));
});

test.serial(
  'a machine that moves to another cluster keeps its users; its old name leads nowhere at once',
  async (t) => {
    const directory = temporaryDirectory(scope);
    const agent = fleet().agent(1);
    const before = await fleet().node(agent);
    const mover = await allow(fleet(), before.id, 'mover', directory);
    const port = await service(t);
    await fleet().rest.post('/clusters', { name: 'elsewhere' });
    t.is((await connectThrough(fleet().admin().httpProxyPort, `${before.vpn_hostname}:${port}`)).status, 200);

    await fleet().rest.post(`/nodes/${before.id}/change_cluster`, { cluster_name: 'elsewhere' });
    const old = await connectThrough(fleet().admin().httpProxyPort, `${before.vpn_hostname}:${port}`);
    const chained = await connectThrough(
      fleet().admin().httpProxyPort,
      `10.0.0.1:${port}`,
      `${before.vpn_hostname}:${FLEET_KEYS.PROXY_KEY}`,
    );
    const after = await fleet().node(agent);

    t.deepEqual([old.status, chained.status], [502, 502]);
    t.regex(old.body, /No node or alias/u);
    t.not(after.vpn_hostname, before.vpn_hostname);
    await until('its new name', async () => {
      const { status } = await connectThrough(fleet().admin().httpProxyPort, `${after.vpn_hostname}:${port}`);
      return status === 200;
    });
    // its session goes to whoever owns the other cluster, and nobody logs in meanwhile
    const words = [...wordsTo(after, mover, fleet().admin()), 'echo in'];
    t.true(await until('a login', async () => (await runClient(t, 'ssh', words)).stdout === 'in\n'));
  },
);

test.serial('a token of an agent, and a one-time token that was used, open no tunnel', async (t) => {
  const raw = await enrollRaw(t, fleet());
  const session = await raw.connect({ protocol: PROTOCOL_VERSION });
  const { vpn_hostname: name } = await fleet().rest.get<{ readonly vpn_hostname: string }>(`/nodes/${raw.node_id}`);
  const asked = connectThrough(fleet().admin().httpProxyPort, `${name}:1`);
  const { token } = await session.frame('open-tunnel');
  const tryToken = async (shown: string): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(fleet().admin().url.replace('http', 'ws') + TUNNEL_PATH, TUNNEL_SUBPROTOCOL, {
        headers: { authorization: `Bearer ${shown}` },
      });
      t.teardown(() => socket.terminate());
      socket
        .once('open', () => resolve(101))
        .once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode))
        .once('error', () => resolve(0));
    });

  t.is(await tryToken(raw.api_token), 401);
  t.is(await tryToken(fleet().agent(0).enrollment.api_token), 401);
  t.is(await tryToken(token), 101);
  t.is(await tryToken(token), 401, 'it was used');
  session.sendRaw('over');
  await fleet().rest.call('DELETE', `/nodes/${raw.node_id}`);
  t.is((await asked).status, 503);
});

test.serial(
  'an agent that comes back is asked again for the tunnel that it was asked for on a session that died',
  async (t) => {
    const raw = await enrollRaw(t, fleet());
    const lost = await raw.connect({ protocol: PROTOCOL_VERSION });
    const { vpn_hostname: name } = await fleet().rest.get<{ readonly vpn_hostname: string }>(`/nodes/${raw.node_id}`);
    const asked = connectThrough(fleet().admin().httpProxyPort, `${name}:1`);
    const { token } = await lost.frame('open-tunnel');

    const session = await raw.connect({ protocol: PROTOCOL_VERSION });

    t.is((await session.frame('open-tunnel')).token, token);
    await fleet().rest.call('DELETE', `/nodes/${raw.node_id}`);
    t.is((await asked).status, 503);
  },
);

test.serial('a stream to a machine ends when the machine is revoked, and no other', async (t) => {
  const port = await echo(t);
  const extra = await fleet().addAgent();
  await extra.live();
  const stream = ({ vpn_hostname: name }: NodeResource) =>
    until('a stream', () => streamThrough(fleet().admin().httpProxyPort, `${name}:${port}`));
  const [ends, stays] = [await stream(await fleet().node(extra)), await stream(await fleet().node())];
  t.teardown(() => void stays.destroy());

  const closed = closedAfterMs(ends.resume());
  await settledAnswer(() => fleet().rest.call('DELETE', `/nodes/${extra.node}`));
  const deletedMs = performance.now();
  await closed;

  t.true(performance.now() - deletedMs < scaled(REVOKED_MS_MAX));
  t.is(stays.closed, false);
});

test('where no key is wanted, any credentials will do and none, and the modes are as ever', async (t) => {
  const open = await startFleet(t, { agents: 1, env: { PROXY_AUTH_ENABLED: 'false' } });
  const { vpn_hostname: name } = await open.node();
  const port = await service(t);
  const { httpProxyPort, socks5ProxyPort } = open.admin();

  const statuses = await Promise.all(
    [null, '_:', '_:anything', 'anybody:x'].map(async (user) => {
      const { status, stream } = await connectThrough(httpProxyPort, `${name}:${port}`, user);
      stream?.destroy();
      return status;
    }),
  );
  t.deepEqual(statuses, [200, 200, 200, 502]);
  t.is((await connectThrough(httpProxyPort, '127.0.0.1:1', `${name}:`)).status, 403, 'chained');
  t.deepEqual(
    await Promise.all([null, '_:x'].map((user) => socksStatus(socks5ProxyPort, user, `http://${name}:${port}/`))),
    [0, 0],
  );
});
