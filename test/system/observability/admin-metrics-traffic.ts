/** Metrics of what goes through an admin, and of what is asked of it. */
import { once } from 'node:events';
import test from 'ava';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { httpClient } from '../../support/api/trpc-clients.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { connectThrough, exchange } from '../../support/net/reach-fixture.ts';
import { answers, openReceiver } from '../../support/webhooks/receiver.ts';
import { NOBODY, requests, type AdminMetricsFixture } from './admin-metrics-fixture.ts';

/** Declares the tests. */
export function declareTraffic(fixture: AdminMetricsFixture): void {
  test.serial('a connection through a proxy is counted there, on its way, in its bytes and at its end', async (t) => {
    const { httpProxyPort, socks5ProxyPort } = fixture.fleet().admin();
    const { vpn_hostname: name } = await fixture.fleet().node();
    const port = new URL((await openReceiver(t)).endpoint().url).port;

    await fixture.raises(
      t,
      {
        'edge_admin_proxy_connections_total{proxy="http"}': 1,
        'edge_admin_proxy_connections_total{proxy="socks5"}': 0,
        'edge_admin_reach_total{mode="forward",outcome="connected"}': 1,
        'edge_admin_tunnels_opened_total{path="url"}': 1,
        'edge_admin_tunnels_opened_total{path="mesh"}': 0,
        edge_admin_tunnels: 1,
        'edge_admin_proxy_tunnels_closed_total{reason="normal"}': 1,
        edge_admin_proxy_tunnels: 0,
        'edge_admin_proxy_bytes_total{direction="up"}': 60,
        'edge_admin_frames_total{direction="out",type="open-tunnel"}': 1,
      },
      async () => {
        const { stream } = await connectThrough(httpProxyPort, `${name}:${port}`);
        stream?.end(
          `GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: ${'y'.repeat(3)}\r\n\r\n`
            .padEnd(60, '\n')
            .slice(0, 60),
        );
        stream?.resume();
        if (stream !== null && !stream.closed) await once(stream, 'close');
      },
    );
    await fixture.raises(
      t,
      {
        'edge_admin_proxy_blocked_total{proxy="http",reason="credentials"}': 1,
        'edge_admin_reach_total{mode="forward",outcome="connected"}': 0,
      },
      () => connectThrough(httpProxyPort, `${name}:${port}`, '_:wrong-password-1234'),
    );
    await fixture.raises(
      t,
      {
        'edge_admin_reach_total{mode="forward",outcome="unknown_node"}': 1,
        'edge_admin_tunnels_opened_total{path="url"}': 0,
      },
      () => connectThrough(httpProxyPort, `nobody.${CLUSTER}.edge.internal:80`),
    );
    await fixture.raises(
      t,
      {
        'edge_admin_proxy_connections_total{proxy="socks5"}': 1,
        'edge_admin_proxy_blocked_total{proxy="socks5",reason="malformed"}': 1,
      },
      () => exchange(socks5ProxyPort, Buffer.from('no socks')),
    );
  });

  test.serial('tries of webhooks are counted by what they came to', async (t) => {
    const receiver = await openReceiver(t);
    const endpoint = receiver.endpoint();
    const { id } = await fixture.fleet().rest.post<{ id: string }>('/webhooks', {
      url: endpoint.url,
      secret: 'a-secret-of-at-least-32-characters',
      subscribed_events: ['edge.core.test'],
    });
    t.teardown(async () => {
      await fixture.fleet().rest.call('DELETE', `/webhooks/${id}`);
    });
    const tried = (outcome: string): string => `edge_admin_webhook_deliveries_total{outcome="${outcome}"}`;

    await fixture.raises(t, { [tried('2xx')]: 1, [tried('4xx')]: 0, edge_admin_webhook_deliveries_pending: 0 }, () =>
      fixture.fleet().rest.post('/events/test'),
    );
    endpoint.manner = answers(410);
    await fixture.raises(t, { [tried('2xx')]: 0, [tried('4xx')]: 1 }, () => fixture.fleet().rest.post('/events/test'));
    const held = endpoint.hold();
    await fixture.raises(t, { edge_admin_webhook_deliveries_pending: 1 }, async () => {
      await fixture.fleet().rest.post('/events/test');
      await held.caught;
    });
    held.release();
  });

  test.serial('reads of the metrics of nodes are counted by source and by what they came to', async (t) => {
    const { node } = fixture.fleet().agent();

    await fixture.raises(
      t,
      {
        'edge_admin_scrapes_total{source="host",outcome="ok"}': 1,
        'edge_admin_scrape_duration_seconds_count{source="host"}': 1,
        'edge_admin_scrapes_total{source="agent",outcome="ok"}': 0,
      },
      () => fixture.ask(`/api/v1/nodes/${node}/metrics/host/raw`),
    );
    await fixture.raises(
      t,
      {
        'edge_admin_scrapes_total{source="agent",outcome="unknown_node"}': 1,
        'edge_admin_scrapes_total{source="host",outcome="ok"}': 0,
      },
      () => fixture.ask(`/api/v1/nodes/${NOBODY}/metrics/agent/raw`),
    );
  });

  test.serial('a message to nobody is a dead letter', async (t) => {
    await fixture.raises(
      t,
      { edge_admin_dead_letters_total: 1, [requests('rest', 'create_node_recovery_key', '4xx')]: 1 },
      () => fixture.fleet().rest.call('POST', `/nodes/${NOBODY}/recovery_key`),
    );
  });

  test.serial('calls are timed under the name of their operation, on every surface', async (t) => {
    const { url } = fixture.fleet().admin();
    const trpc = httpClient(url, FLEET_KEYS.API_KEY);

    await fixture.raises(
      t,
      { [requests('trpc', 'list_nodes', '2xx')]: 1, [requests('trpc', 'get_node', '4xx')]: 1 },
      async () => {
        await trpc.list_nodes.query({});
        await t.throwsAsync(trpc.get_node.query({ id: NOBODY }));
      },
    );
    await fixture.raises(
      t,
      { [requests('mcp', 'list_nodes', '2xx')]: 1, [requests('mcp', 'get_admin_metrics', '2xx')]: 1 },
      async () => {
        const client = await currentClient(t, url, FLEET_KEYS.MCP_KEY);
        await client.call('list_nodes');
        await client.call('get_admin_metrics');
      },
    );
    await fixture.raises(
      t,
      { [requests('rest', 'get_node', '4xx')]: 2, [requests('rest', 'get_admin_metrics', '2xx')]: 1 },
      async () => {
        await fixture.ask(`/api/v1/nodes/${NOBODY}`, FLEET_KEYS.API_KEY);
        await fixture.ask(`/api/v1/nodes/${NOBODY}`, null);
        await fixture.ask('/api/v1/admins/me/metrics');
      },
    );
  });

  test.serial('whatever strangers ask for, no name comes from them', async (t) => {
    const names = async () =>
      new Set(
        Object.keys(await fixture.scraped()).filter((name) =>
          name.startsWith('edge_admin_request_duration_seconds_count'),
        ),
      );
    await Promise.all(
      ['/nowhere', '/api/v1/nodes/x'].flatMap((path) =>
        ['GET', 'POST', 'DELETE'].map((method) => fixture.ask(path, null, method)),
      ),
    );
    const before = await names();

    for (let round = 0; round < 20; round += 1) {
      await Promise.all(
        ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'].map((method) =>
          fixture.ask(`/x${Math.random()}/${'y'.repeat(round)}?z=${round}`, null, method),
        ),
      );
      await fixture.ask(`/api/v1/nodes/${Math.random()}`, `key-${round}-1234567890`);
    }

    const added = [...(await names())].filter((name) => !before.has(name));
    t.deepEqual(added, []);
    t.true(before.has(requests('other', 'unknown', '4xx')));
  });
}
