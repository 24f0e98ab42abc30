/** An admin that owns a cluster with nodes is drained from the command line, which waits until it owns nothing. */
import test from 'ava';
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { seriesOf } from '../../support/observability/series.ts';
import { until } from '../../support/until.ts';
import { inTerminal } from '../cli/fixture.ts';

test('edge admin drain --wait shows what is still owned, ends when all is elsewhere, and nobody is without service', async (t) => {
  const fleet = await startFleet(t, { admins: 3, agents: 2 });
  const { owner, other, epoch } = await ownership(fleet);
  const env = { EDGE_URL: other.url, EDGE_API_KEY: FLEET_KEYS.API_KEY };
  const rest = restClient(() => other.url, FLEET_KEYS.API_KEY);
  const metrics = async (url: string) =>
    seriesOf(
      await (
        await fetch(`${url}/api/v1/admins/me/metrics/raw`, {
          headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` },
        })
      ).text(),
    );

  const terminal = inTerminal(t, ['admin', 'drain', owner.name, '--wait', '--timeout', '2m'], env);
  const status = await terminal.ended;
  const drained = await rest.get<PeerAdminResource>(`/admins/${owner.name}`);
  const after = await ownership(fleet);
  const [gave, got] = await until('both to count it', async () => {
    const [giver, receiver] = [await metrics(owner.url), await metrics(after.owner.url)];
    const isCounted =
      giver['edge_admin_clusters_lost_total'] === 1 && receiver['edge_admin_clusters_gained_total'] === 1;
    return isCounted ? [giver, receiver] : null;
  });
  const executions = await fleet.settled(await fleet.run('true'));
  const again = await startEdge(['admin', 'drain', owner.name, '--wait'], env).ended;
  const resumed = await startEdge(['admin', 'resume', owner.name], env).ended;

  t.is(status, 0, terminal.shown());
  t.true(terminal.shown().includes(`${owner.name} still owns 1 cluster with 2 nodes`), terminal.shown());
  t.true(
    terminal.shown().includes(`edge: ${owner.name} owns nothing and takes no clusters until edge admin resume`),
    terminal.shown(),
  );
  t.like(drained, { status: 'draining', cluster_count: 0, node_count: 0, room: 0, clusters: [] });
  t.deepEqual([after.owner === owner, after.epoch], [false, epoch + 1]);
  t.is(gave['edge_admin_clusters_handed_over_total{outcome="drain"}'], 1);
  t.is(gave['edge_admin_clusters_lost_total'], 1);
  t.like(got, {
    'edge_admin_clusters_handed_over_total{outcome="received"}': 1,
    edge_admin_clusters_gained_total: 1,
  });
  t.deepEqual(
    executions.map(({ status: one }) => one),
    ['completed', 'completed'],
  );
  t.is(again.status, 0, again.stderr);
  t.deepEqual(resumed, { status: 0, stdout: '', stderr: `edge: ${owner.name} takes clusters again\n` });
  await t.notThrowsAsync(
    until('it to be live', async () => (await rest.get<PeerAdminResource>(`/admins/${owner.name}`)).status === 'live'),
  );
});
