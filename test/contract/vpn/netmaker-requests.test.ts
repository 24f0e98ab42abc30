/** Requests to Netmaker are bounded, and tell nobody its key or an address. */
import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { hostNameOf, VpnRefused, VpnUnavailable } from '../../../actors/vpn/vpn.ts';
import { ID_CHARACTERS_MAX } from '../../../transport/vpn/netmaker/answers.ts';
import { NetmakerClient } from '../../../transport/vpn/netmaker/client.ts';
import { NetmakerVpn } from '../../../transport/vpn/netmaker/netmaker.ts';
import {
  NetmakerRequests,
  REQUEST_TRIES_MAX,
  REQUESTS_MAX,
  REQUESTS_WAITING_MAX,
  tellable,
} from '../../../transport/vpn/netmaker/requests.ts';
import { leaksIn } from '../../support/canary.ts';
import { startFakeNetmaker } from '../../support/netmaker/netmaker.ts';
import { MODERN } from '../../support/netmaker/quirks.ts';
import { netmakerFixture } from '../../support/vpn/database-fixture.ts';
import { listening } from '../../support/net/listening.ts';

async function open(t: ExecutionContext) {
  const netmaker = await startFakeNetmaker(t);
  const requests = new NetmakerRequests(netmaker, () => 0);
  t.teardown(() => requests.close());
  return { netmaker, requests, client: new NetmakerClient(requests) };
}

test('a server that is busy or cuts connections is asked again, and given up after some tries', async (t) => {
  const { netmaker, client } = await open(t);
  let faults = 2;
  netmaker.fault = () => ((faults -= 1) >= 0 ? 'busy' : null);

  t.deepEqual(await client.networks(), []);
  t.is(netmaker.requests.length, 3);

  netmaker.requests.length = 0;
  netmaker.fault = () => 'cut';
  await t.throwsAsync(client.networks(), {
    instanceOf: VpnUnavailable,
    message: /^Netmaker did not answer to listing networks \([\w ]+\)\.$/u,
  });
  t.is(netmaker.requests.length, REQUEST_TRIES_MAX);
});

test('a refusal is told at once, and is no absence', async (t) => {
  const { netmaker, client } = await open(t);

  await t.throwsAsync(
    client.createNetwork({ name: `cluster-${'x'.repeat(30)}`, ipv4Range: '10.0.0.0/24', ipv6Range: 'fd00::/64' }),
    { instanceOf: VpnRefused },
  );
  t.is(netmaker.requests.length, 1);
});

test('whoever else answers under the URL is not taken for Netmaker', async (t) => {
  const { netmaker, client } = await open(t);
  netmaker.fault = () => 'garbage';

  await t.throwsAsync(client.networks(), {
    instanceOf: VpnUnavailable,
    message: 'What answers under EDGE_VPN_API_URL to listing networks is not Netmaker.',
  });
});

test('an answer without an end is cut at the limit of bytes, and one that does not come when it is closed', async (t) => {
  const { netmaker, requests, client } = await open(t);
  netmaker.fault = () => 'endless';
  await t.throwsAsync(client.hosts(), { instanceOf: VpnUnavailable, message: /too large/u });

  netmaker.fault = () => 'hang';
  const asked = t.throwsAsync(client.hosts(), { instanceOf: VpnUnavailable });
  await requests.close();
  await asked;
});

test('few requests are under way at once, and few wait', async (t) => {
  const { netmaker, client } = await open(t);

  const answers = await Promise.allSettled(
    Array.from({ length: REQUESTS_MAX + REQUESTS_WAITING_MAX + 3 }, () => client.networks()),
  );

  t.is(answers.filter((answer) => answer.status === 'rejected').length, 3);
  t.true(netmaker.openMax() <= REQUESTS_MAX, `${netmaker.openMax()}`);
});

test('a list may be null, hold what nobody understands, or be wrapped', async (t) => {
  const bodies = [
    'null',
    '[null, 7, {"netid": ""}, {"netid": "cluster-a", "addressrange": null}]',
    '{"Code": 200, "Message": "ok", "Response": [{"netid": "cluster-a"}]}',
    '{"code": 200, "message": "ok", "response": null}',
  ];
  const server = createServer((_request, response) => response.end(bodies.shift()));
  const port = await listening(t, server);
  const requests = new NetmakerRequests({
    url: `http://127.0.0.1:${port}/behind/a/proxy`,
    masterKey: 'k',
  });
  t.teardown(() => requests.close());
  const client = new NetmakerClient(requests);
  const network = { name: 'cluster-a', ipv4Range: '', ipv6Range: '' };

  t.deepEqual(
    [await client.networks(), await client.networks(), await client.networks(), await client.networks()],
    [[], [network], [network], []],
  );
});

test('the master key and addresses are in no error, whatever Netmaker says', async (t) => {
  const { netmaker, requests } = await open(t);
  const wrong = new NetmakerVpn({
    url: netmaker.url,
    masterKey: `${netmaker.masterKey}-wrong`,
    domain: 'edge.test',
    rows: {
      hosts: () => Promise.resolve([]),
      networksOf: () => Promise.resolve(new Map()),
      knowHosts: () => Promise.resolve(),
      forgetHosts: () => Promise.resolve(),
    },
    nowMs: () => 0,
  });
  t.teardown(() => wrong.close());
  const errors: string[] = [String(await wrong.status(AbortSignal.timeout(30_000)))];
  const keep = async (call: () => Promise<unknown>): Promise<void> => {
    const error: unknown = await call().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    t.true(error instanceof Error);
    errors.push(String((error as Error).stack), JSON.stringify(error), String((error as Error).cause));
  };
  await keep(() => wrong.networks());
  await keep(() => requests.ask({ method: 'GET', path: '/api/nowhere', what: 'a test' }));
  for (const fault of ['cut', 'busy', 'lost'] as const) {
    netmaker.fault = () => fault;
    await keep(() => requests.ask({ method: 'GET', path: '/api/networks', what: 'a test' }));
  }

  t.deepEqual(leaksIn('errors', errors.join('\n'), [{ name: 'master key', value: netmaker.masterKey }]), []);
  t.is(errors[0], 'Netmaker does not take EDGE_VPN_MASTER_KEY for listing enrolment keys (401).');
  t.is(
    tellable('no route for 100.64.0.7/24 and FD00:1:2::7 with\nsecret-secret', 'secret-secret'),
    'no route for … and … with …',
  );
});

test('a host whose id PostgreSQL does not hold is left out, and keeps nobody else out', async (t) => {
  const netmaker = await startFakeNetmaker(t);
  const fixture = await netmakerFixture(t, netmaker, (token, name) => netmaker.register(token, name));
  const network = await fixture.cluster();
  await fixture.manager.ensureNetwork(network);
  const longest = 'x'.repeat(ID_CHARACTERS_MAX);
  const [known, named] = [await fixture.node(network), await fixture.node(network)];
  for (const id of ['a\0b', 'half a character: \ud800', `${longest}y`, randomBytes(8_192).toString('hex')])
    netmaker.byHand.put(netmaker.byHand.host(hostNameOf(await fixture.node(network)), false, id), network.name);
  netmaker.byHand.put(netmaker.byHand.host(hostNameOf(named), false, longest), network.name);

  await fixture.enter(network, known);

  for (let round = 0; round < 2; round += 1) {
    const { hosts, members } = await fixture.manager.survey();
    t.deepEqual(hosts.map(({ node }) => node).toSorted(), [known, named].toSorted());
    t.deepEqual(members.map(({ node }) => node ?? '').toSorted(), [known, named].toSorted());
    t.deepEqual((await fixture.manager.members(network.name)).toSorted(), [known, named].toSorted());
  }
});

test('what is no text in a list of Netmaker is left out of it', async (t) => {
  const list = (...entries: readonly object[]) => JSON.stringify(entries);
  const bodies: Readonly<Record<string, string>> = {
    '/api/networks': list({ netid: 'cluster-a\0' }, { netid: 'cluster-b' }),
    '/api/nodes': list(
      { id: '\0', hostid: 'a', network: 'cluster-b' },
      { id: 'a', hostid: '\ud800', network: 'cluster-b' },
      { id: 'a', hostid: 'b', network: 'cluster-b\0' },
      { id: 'a', hostid: 'b', network: 'cluster-b' },
    ),
    '/api/dns': list({ name: 'a\0', network: 'n' }, { name: 'a', network: 'n\0' }, { name: 'a', network: 'n' }),
    '/api/v1/enrollment-keys': list({ networks: [], tags: [], token: 'a\0' }, { networks: [], tags: [], token: 'b' }),
  };
  const server = createServer(({ url = '' }, response) => response.end(bodies[url]));
  const requests = new NetmakerRequests({ url: `http://127.0.0.1:${await listening(t, server)}`, masterKey: 'k' });
  t.teardown(() => requests.close());
  const client = new NetmakerClient(requests);

  t.deepEqual(
    (await client.networks()).map(({ name }) => name),
    ['cluster-b'],
  );
  t.deepEqual(
    (await client.nodes(null)).map(({ id, hostid, network }) => [id, hostid, network]),
    [['a', 'b', 'cluster-b']],
  );
  t.deepEqual(
    (await client.dns(null)).map(({ name, network }) => [name, network]),
    [
      ['a', ''],
      ['a', 'n'],
    ],
  );
  t.deepEqual(
    (await client.enrollmentKeys()).map(({ token }) => token),
    ['', 'b'],
  );
});

test('work that was done although its answer was lost counts as done', async (t) => {
  const netmaker = await startFakeNetmaker(t, { ...MODERN, domain: '' });
  const fixture = await netmakerFixture(t, netmaker, (token, name) => netmaker.register(token, name));
  const network = await fixture.cluster();
  const once = (method: string): void => {
    let isLost = false;
    netmaker.fault = (asked) => {
      if (asked !== method || isLost) return null;
      isLost = true;
      return 'lost';
    };
  };
  once('POST');
  await fixture.manager.ensureNetwork(network);
  const node = await fixture.node(network);
  await fixture.enter(network, node);
  await fixture.manager.leave(network.name, node);
  once('POST');
  t.true(await fixture.manager.join(network.name, node));
  once('POST');
  await fixture.manager.setNames(network.name, [{ name: 'db', node }]);
  once('DELETE');
  await fixture.manager.setNames(network.name, []);
  once('DELETE');
  await fixture.manager.leave(network.name, node);
  once('DELETE');
  await fixture.manager.removeNetwork(network.name);

  t.deepEqual(netmaker.state().networks, {});
});

test('who is connected is what Netmaker says, or else who checked in lately', async (t) => {
  for (const saysStatus of [true, false]) {
    const netmaker = await startFakeNetmaker(t, { ...MODERN, saysStatus });
    const fixture = await netmakerFixture(t, netmaker, (token, name) => netmaker.register(token, name));
    const network = await fixture.cluster();
    await fixture.manager.ensureNetwork(network);
    const [here, away] = [await fixture.node(network), await fixture.node(network)];
    await fixture.enter(network, here);
    await fixture.enter(network, away);
    const host = (await fixture.manager.hosts()).find((one) => one.node === away)?.id ?? '';
    netmaker.byHand.connect(host, false);

    t.deepEqual(
      new Map((await fixture.manager.peers(network.name)).map((peer) => [peer.node, peer.isConnected])),
      new Map([
        [here, true],
        [away, false],
      ]),
    );
  }
});
