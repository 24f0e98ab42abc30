/** An admin whose database stands still can still be seen: just then somebody looks. */
import test from 'ava';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { seriesOf } from '../../support/observability/series.ts';
import { processesOf, signal } from '../../support/database/server-processes.ts';
import { startTestServer, urlOf } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';

/** Series that are there once the admin holds its tasks, which it does a moment after it serves. */
const LATE = ['edge_admin_task_holder', 'edge_admin_heartbeat_age_seconds'];

/** A scrape must be over by then, in ms. */
const SCRAPE_MS_MAX = 2_000;

test('with a frozen database a scrape is a 200 within 2 s without row metrics, which return with the database', async (t) => {
  const server = await startTestServer();
  t.teardown(() => server.stop());
  const admin = await startTestAdmin(t, {
    DATABASE_URL: urlOf(server.connection),
  });
  const scrape = async () => {
    const beganMs = performance.now();
    const answer = await fetch(`${admin.url}/api/v1/admins/me/metrics/raw`, {
      headers: { authorization: `Bearer ${ADMIN_KEYS.METRICS_KEY}` },
    });
    const series = seriesOf(await answer.text());
    return { status: answer.status, series, tookMs: performance.now() - beganMs };
  };
  const before = await until('all series', async () => {
    const scraped = await scrape();
    return LATE.every((late) => Object.keys(scraped.series).some((name) => name.startsWith(late))) && scraped;
  });
  const pids = await processesOf((await server.pid())!);
  t.teardown(() => signal(pids, 'SIGCONT'));

  signal(pids, 'SIGSTOP');
  const frozen = await Promise.all([scrape(), scrape(), scrape()]);
  const again = await scrape();
  const object = (await (
    await fetch(`${admin.url}/api/v1/admins/me/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_KEYS.METRICS_KEY}` },
    })
  ).json()) as { readonly data: { readonly database: { readonly available: boolean }; readonly nodes: object } };
  signal(pids, 'SIGCONT');

  for (const { status, series, tookMs } of [...frozen, again]) {
    t.is(status, 200);
    t.true(tookMs < scaled(SCRAPE_MS_MAX), `${tookMs} ms`);
    t.deepEqual(
      [
        ...new Set(
          Object.keys(before.series)
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
        'edge_admin_release_stored_bytes',
        'edge_admin_webhook_deliveries_pending',
        'edge_admin_admins',
        'edge_admin_heartbeat_age_seconds',
        'edge_admin_task_holder',
      ],
    );
    t.true((series['edge_admin_database_connections{state="busy"}'] ?? 0) >= 1);
  }
  t.deepEqual(
    [object.data.database.available, object.data.nodes],
    [false, { healthy: null, unhealthy: null, unreachable: null }],
  );
  t.is(
    (
      await until('the rows to be counted again', async () => {
        const { series } = await scrape();
        return 'edge_admin_nodes{status="healthy"}' in series ? series : null;
      })
    )['edge_admin_nodes{status="healthy"}'],
    0,
  );
});
