/** What an admin's metrics say of its broker: that it is reached, what it took, and what waits while it is away. */
import { startNats } from '../../support/brokers/nats.ts';
import { startPublishingAdmin } from '../../support/brokers/publishing-admin.ts';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { seriesOf } from '../../support/observability/series.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('nats-server');

test('events that the broker took are counted; while it is away it is down and they wait', async (t) => {
  const server = await startNats(t);
  const admin = await startPublishingAdmin(t, 'nats', server.env);
  const broker = async () => {
    const series = seriesOf(
      await (
        await fetch(`${admin.url}/api/v1/admins/me/metrics/raw`, {
          headers: { authorization: `Bearer ${ADMIN_KEYS.METRICS_KEY}` },
        })
      ).text(),
    );
    return {
      up: series['edge_admin_broker_up'],
      published: series['edge_admin_broker_events_total{outcome="published"}'],
      waiting: series['edge_admin_events_backlog{channel="broker"}'],
    };
  };
  const becomes = (wanted: Partial<Awaited<ReturnType<typeof broker>>>) =>
    until(JSON.stringify(wanted), async () => {
      const now = await broker();
      if (Object.entries(wanted).every(([name, value]) => now[name as keyof typeof now] === value)) return true;
      throw new Error(JSON.stringify(now));
    });
  await admin.testEvents(1);
  await becomes({ up: 1, published: 1, waiting: 0 });

  await admin.testEvents(3);
  await becomes({ up: 1, published: 4, waiting: 0 });
  await server.kill();
  await admin.testEvents(2);
  await becomes({ up: 0, published: 4, waiting: 2 });
  await server.start();

  await becomes({ up: 1, published: 6, waiting: 0 });
  t.pass();
});
