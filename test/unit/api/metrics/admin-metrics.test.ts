import { readFileSync } from 'node:fs';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { createAdminMetrics } from '../../../../api/metrics/admin-metrics.ts';
import { FAMILIES } from '../../../../api/metrics/families.ts';
import type { TotalReadings } from '../../../../api/metrics/sources.ts';
import { AdminMetricsView } from '../../../../api/views/admin-metrics.ts';
import { fakeSources, NO_ROWS, restingReadings } from '../../../support/observability/metric-sources.ts';
import { seriesOf } from '../../../support/observability/series.ts';
import { scaled } from '../../../support/busy.ts';

/** A scrape without the database must be over by then, in ms. */
const SCRAPE_MS_MAX = 2_000;

test.serial('a database that is away or silent takes away what only it knows, and nothing else', async (t) => {
  const rows = seriesOf(await createAdminMetrics(fakeSources()).text());
  const silent = Promise.withResolvers<TotalReadings>();

  for (const totals of [() => Promise.reject(new DatabaseUnavailable('away')), () => silent.promise]) {
    const metrics = createAdminMetrics(fakeSources({ totals }));
    const beganMs = performance.now();
    const series = seriesOf(await metrics.text());
    const tookMs = performance.now() - beganMs;
    const object = await metrics.resource();

    t.true(tookMs < scaled(SCRAPE_MS_MAX), `${tookMs} ms`);
    t.deepEqual(
      [
        ...new Set(
          Object.keys(rows)
            .filter((name) => name.startsWith('edge_') && !(name in series))
            .map((name) => name.split('{')[0]),
        ),
      ],
      [
        'edge_admin_nodes',
        'edge_admin_events_backlog',
        'edge_admin_executions',
        'edge_admin_console_sessions',
        'edge_admin_self_update_requests',
        'edge_admin_self_update_nodes',
        'edge_admin_self_update_overdue_seconds',
        'edge_admin_release_metadata_expiry_timestamp_seconds',
        'edge_admin_release_stored_bytes',
        'edge_admin_webhook_deliveries_pending',
        'edge_admin_admins',
        'edge_admin_heartbeat_age_seconds',
        'edge_admin_cluster_epoch',
        'edge_admin_cluster_owned_since_timestamp_seconds',
      ],
    );
    t.deepEqual(
      [object.database.available, object.nodes, object.events],
      [false, { healthy: null, unhealthy: null, unreachable: null }, { webhooks_backlog: null, broker_backlog: null }],
    );
  }
});

test('a database that does not answer is asked once, however many scrape', async (t) => {
  const silent = Promise.withResolvers<TotalReadings>();
  let asked = 0;
  const metrics = createAdminMetrics(
    fakeSources({
      totals: () => {
        asked += 1;
        return silent.promise;
      },
    }),
  );

  await Promise.all([metrics.text(), metrics.text(), metrics.resource()]);
  await metrics.text();
  t.is(asked, 1);
  silent.resolve({ ...NO_ROWS, webhooksBacklog: 5 });
  await silent.promise;

  t.is(seriesOf(await metrics.text())['edge_admin_events_backlog{channel="webhooks"}'], 0 + 5);
  t.is(asked, 2);
});

test('scrapes that come together share one reading, and the next one reads again', async (t) => {
  let reads = 0;
  const metrics = createAdminMetrics(
    fakeSources({
      live: () => {
        reads += 1;
        return restingReadings();
      },
    }),
  );

  const [one, other] = await Promise.all([metrics.text(), metrics.text()]);
  t.is(one, other);
  t.is(reads, 1);

  await metrics.text();
  t.is(reads, 2);
});

test('a family of many histograms is written whole, with one head', async (t) => {
  const metrics = createAdminMetrics(fakeSources());
  const names = Array.from({ length: 100 }, (_, index) => `operation_${index}`);
  for (const name of names) metrics.requests.observe('rest', name, '2xx', 30);

  const text = await metrics.text();
  const series = seriesOf(text);

  t.deepEqual(
    names.filter(
      (name) =>
        series[`edge_admin_request_duration_seconds_count{surface="rest",operation="${name}",code="2xx"}`] !== 1,
    ),
    [],
  );
  t.is(
    series['edge_admin_request_duration_seconds_bucket{le="0.025",surface="rest",operation="operation_99",code="2xx"}'],
    0,
  );
  t.is(
    series['edge_admin_request_duration_seconds_bucket{le="0.05",surface="rest",operation="operation_99",code="2xx"}'],
    1,
  );
  t.is(
    series['edge_admin_request_duration_seconds_bucket{le="+Inf",surface="rest",operation="operation_99",code="2xx"}'],
    1,
  );
  t.is(text.split('# TYPE edge_admin_request_duration_seconds ').length, 2);
  t.notRegex(text, /\n\n/u);
});

test('the object is what its description promises, also of an admin that knows nothing yet', async (t) => {
  const metrics = createAdminMetrics(
    fakeSources({
      live: () => ({ ...restingReadings(), broker: null, proxies: null }),
      totals: () => Promise.reject(new DatabaseUnavailable('away')),
    }),
  );

  const object = await metrics.resource();

  t.deepEqual(AdminMetricsView.parse(object), object);
  t.deepEqual([object.broker, object.proxies, object.commits.duration_mean_seconds], [null, null, null]);
});

test('process metrics that are costly with many sockets are left out, and the number of open files is not', async (t) => {
  const series = seriesOf(await createAdminMetrics(fakeSources()).text());

  t.deepEqual(
    Object.keys(series).filter((name) => name.startsWith('nodejs_active')),
    [],
  );
  t.true((series['process_open_fds'] ?? 0) > 3);
});

test('every metric is in the documentation, with its labels', (t) => {
  const documentation = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8');
  const line = ({ name, labels }: { readonly name: string; readonly labels: readonly string[] }) =>
    `| \`${name.slice('edge_admin_'.length)}\` | ${labels.length === 0 ? '–' : labels.map((label) => `\`${label}\``).join(', ')} |`;

  t.deepEqual(
    FAMILIES.map(line).filter((words) => !documentation.includes(words)),
    [],
  );
});
