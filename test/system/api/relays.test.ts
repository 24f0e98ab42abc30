/**
 * The relay inside a whole admin, and what the admin tells others' relays: for the members of its rows, and for nobody
 * else.
 */
import { Client } from 'pg';
import test, { type ExecutionContext } from 'ava';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { connectedClient, mapOf, startClient, type RelayClient } from '../../support/vpn/relay.ts';
import { until } from '../../support/until.ts';
import { boxKeys, newBoxKeys } from '../../../transport/vpn/derp/protocol.ts';
import { fetchMap } from '../../../transport/vpn/relay-map/map-source.ts';
import { createVet } from '../../../transport/net/outbound-guard/vetting.ts';
import { RELAY_ADMISSION_PATH, RELAY_MAP_PATH } from '../../../transport/protocol/version.ts';
import { startFleet } from './fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const RELAY = { EMBEDDED_RELAY: 'true', EMBEDDED_RELAY_HOST: '127.0.0.1', EMBEDDED_RELAY_PORT: '0' };

/** An admin with a relay, and members of its clusters by their keys. */
async function startRelayedFleet(t: ExecutionContext, env: Readonly<Record<string, string>> = {}) {
  const dataDir = temporaryDirectory(t);
  const fleet = await startFleet(t, { ...RELAY, DATA_DIR: dataDir, ...env });
  const rows = new Client(fleet.admin.database);
  await rows.connect();
  t.teardown(() => rows.end());
  return {
    ...fleet,
    /** Makes nodes of a cluster members of its VPN; answers their private keys. */
    async members(nodes: readonly string[]): Promise<string[]> {
      const privateKeys: string[] = [];
      for (const node of nodes) {
        const pair = newBoxKeys();
        await rows.query(
          `insert into mesh_member (node_id, cluster_id, host_index, public_key, endpoints, inserted_at, updated_at)
          select id, cluster_id, $2, $3, '[]', now(), now() from node where id = $1`,
          [node, 2 + privateKeys.length, pair.publicKey.toString('base64')],
        );
        privateKeys.push(pair.privateKey.toString('base64'));
      }
      return privateKeys;
    },
    async region() {
      const read = await fetchMap(`${fleet.admin.url}${RELAY_MAP_PATH}`, {
        vet: createVet({ allowPrivate: false }),
        trusted: () => [fleet.admin.url],
      });
      const [region] = read.ok ? read.map.regions.values() : [];
      if (region === undefined) throw new Error('no map');
      return region;
    },
    async admission(publicKey: string): Promise<{ readonly status: number; readonly body: unknown }> {
      const answer = await fetch(`${fleet.admin.url}${RELAY_ADMISSION_PATH}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          NodePublic: `nodekey:${Buffer.from(publicKey, 'base64').toString('hex')}`,
          Source: '198.51.100.7',
        }),
      });
      return { status: answer.status, body: await answer.json() };
    },
  };
}

test('members reach each other through the relay of their admin, those of another cluster and strangers do not', async (t) => {
  const fleet = await startRelayedFleet(t);
  const [press, mill] = [await fleet.cluster('press', 2), await fleet.cluster('mill', 1)];
  const [one, other] = await fleet.members(press);
  const [foreign] = await fleet.members(mill);
  const region = await fleet.region();
  const connected = (privateKey: string | undefined): Promise<RelayClient> =>
    connectedClient(t, region, { privateKey: privateKey ?? '' });
  const [a, b, c] = [await connected(one), await connected(other), await connected(foreign)];
  const stranger = startClient(t, region);

  c.connection.send(b.publicKey, Buffer.from('from another cluster'));
  a.connection.send(b.publicKey, Buffer.from('from its own'));
  await until('the packet', () => b.packets.length > 0);
  await until('a refusal', () => stranger.problems.length > 0);

  t.deepEqual(
    b.packets.map(({ packet }) => packet.toString()),
    ['from its own'],
  );
  t.is(stranger.opened, 0);
  const metrics = await until('what was dropped to be counted', async () => {
    const answer = await fetch(`${fleet.admin.url}/api/v1/admins/me/metrics/raw`, {
      headers: { authorization: 'Bearer metrics-key-of-the-tests-1234' },
    });
    const text = await answer.text();
    return /edge_admin_relay_dropped_total\{reason="foreign"\} 1\n/u.test(text) ? text : null;
  });
  t.regex(metrics, /edge_admin_relay_clients 3\n/u);
  t.regex(metrics, /edge_admin_relay_packets_total 1\n/u);
  t.is(b.packets.length, 1);
});

test('a node that is deleted is out of the relay within a second, and not let in again', async (t) => {
  const fleet = await startRelayedFleet(t);
  const nodes = await fleet.cluster('press', 2);
  const [one, other] = await fleet.members(nodes);
  const region = await fleet.region();
  const [gone, stays] = [
    await connectedClient(t, region, { privateKey: one ?? '' }),
    await connectedClient(t, region, { privateKey: other ?? '' }),
  ];

  const { status } = await fleet.request('DELETE', `/nodes/${nodes[0] ?? ''}`);
  const startedMs = performance.now();
  await until('it is out', () => !gone.connection.isOpen);
  const tookMs = performance.now() - startedMs;
  await until('it was refused', () => gone.problems.length > 1);

  t.is(status, 204);
  t.true(tookMs < scaled(1_000 + BUSY_MS), `${tookMs} ms`); // E5
  t.deepEqual([gone.opened, stays.opened, stays.connection.isOpen], [1, 1, true]);
});

test("others' relays are told whether a key is a member's, in the words of derper, and in which cluster", async (t) => {
  const fleet = await startRelayedFleet(t, { EMBEDDED_RELAY: 'false' });
  const nodes = await fleet.cluster('press', 1);
  const [privateKey] = await fleet.members(nodes);
  const known = await fleet.admission(boxKeys(privateKey ?? '').publicKey.toString('base64'));
  const unknown = await fleet.admission(newBoxKeys().publicKey.toString('base64'));
  const broken = await fleet.admission('c2hvcnQ=');

  t.deepEqual([known.status, unknown, broken.status], [200, { status: 200, body: { Allow: false } }, 422]);
  const { Allow, Clusters } = known.body as { readonly Allow: boolean; readonly Clusters: readonly string[] };
  t.deepEqual([Allow, Clusters.length], [true, 1]);
  t.is((await fetch(`${fleet.admin.url}${RELAY_MAP_PATH}`)).status, 404);
});

test('an address that asks for too many unknown members gets 429, and members still get their answer', async (t) => {
  const fleet = await startRelayedFleet(t, { EMBEDDED_RELAY: 'false' });
  const [privateKey] = await fleet.members(await fleet.cluster('press', 1));

  const statuses = new Set<number>();
  for (let asked = 0; asked < 7_000 && !statuses.has(429); asked += 50) {
    for (const { status } of await Promise.all(
      Array.from({ length: 50 }, () => fleet.admission(newBoxKeys().publicKey.toString('base64'))),
    ))
      statuses.add(status);
  }

  t.deepEqual(
    [...statuses].toSorted((a, b) => a - b),
    [200, 429],
  );
  t.is((await fleet.admission(boxKeys(privateKey ?? '').publicKey.toString('base64'))).status, 200);
});

test("agents get the embedded relay's map at all URLs of the admin, its own first, unless others are configured", async (t) => {
  const fleet = await startRelayedFleet(t, {
    ADMIN_URLS: 'http://localhost:1,http://edge.example.com,http://10.0.0.5:44000',
    ADMIN_OWN_URL: 'http://10.0.0.5:44000',
    EMBEDDED_RELAY_HOSTNAME: 'relay.example.com',
  });
  const published: unknown = await (await fetch(`${fleet.admin.url}${RELAY_MAP_PATH}`)).json();

  const [node] = [...mapOf(published).regions.values()][0]?.nodes ?? [];

  t.deepEqual([node?.hostName, node?.identity.kind], ['relay.example.com', 'pin']);
  await fleet.request('POST', '/clusters', { name: 'press' });
  const {
    data: { key },
  } = await fleet.request('POST', '/clusters/press/enrollment_keys', {});
  const { data } = await fleet.enroll(String(key), { node_id: crypto.randomUUID() });
  const urls = (data['settings'] as { readonly derp_map_urls: readonly string[] }).derp_map_urls;
  const version = new URL(urls[0] ?? '').search;
  t.regex(version, /^\?version=[0-9a-f]{16}$/u);
  t.deepEqual(
    urls,
    ['http://10.0.0.5:44000', 'http://localhost:1', 'http://edge.example.com'].map(
      (url) => `${url}${RELAY_MAP_PATH}${version}`,
    ),
  );
});
