/** Three admins, of which the owner is killed: what health, metrics and the debug page of the others tell of it. */
import test from 'ava';
import type { SubsystemCheck } from '../../../api/views/health.ts';
import { CLUSTER, FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { taskHolder } from '../../support/fleet/task-holder.ts';
import { seriesOf } from '../../support/observability/series.ts';
import { until } from '../../support/until.ts';

const DEBUG_PAGE = { ADMIN_DEBUG_DASHBOARD_ENABLED: 'true', ADMIN_DEBUG_AUTH_ENABLED: 'false' };

async function metrics({ url }: AdminProgram): Promise<Readonly<Record<string, number>>> {
  const answer = await fetch(`${url}/api/v1/admins/me/metrics/raw`, {
    headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` },
  });
  const series = seriesOf(await answer.text());
  return Object.fromEntries(Object.entries(series).map(([name, value]) => [name.replace(/^edge_admin_/u, ''), value]));
}

const checks = async ({ url }: AdminProgram, path: string): Promise<Readonly<Record<string, string | null>>> => {
  const all = (await (await fetch(`${url}${path}`)).json()) as readonly SubsystemCheck[];
  return Object.fromEntries(all.map(({ name, healthy, error }) => [name, healthy ? error : `red: ${error ?? ''}`]));
};

test('what is told of an owner that was killed: it is silent, its clusters are elsewhere, then it is forgotten', async (t) => {
  const fleet = await startFleet(t, { admins: 3, env: DEBUG_PAGE });
  const { owner, epoch } = await ownership(fleet);
  const others = fleet.admins.filter((admin) => admin !== owner);
  const [one = owner, two = owner] = others;
  const at = (admin: AdminProgram) => restClient(() => admin.url, FLEET_KEYS.API_KEY);
  const aged = (by: string) =>
    fleet.sql(`update admin set last_checked_in = last_checked_in - interval '${by}' where name = $1`, [owner.name]);

  const linked = await until('all links', async () => {
    const [seen, atTwo] = [await metrics(one), await metrics(two)];
    const isLinked = (told: typeof seen, admins: readonly AdminProgram[]) =>
      admins.every(({ name }) => told[`link_up{admin="${name}"}`] === 1);
    const isAllLive = seen['admins{status="live"}'] === 3;
    return others.length === 2 && isAllLive && isLinked(seen, [owner, two]) && isLinked(atTwo, [owner, one])
      ? seen
      : null;
  });
  await at(one).post(`/clusters/${CLUSTER}/enrollment_keys`, {});
  await at(one).post(`/admins/${two.name}/drain`);
  const [asked, done, drains, all] = await Promise.all([
    metrics(one),
    metrics(owner),
    checks(two, '/healthz'),
    checks(one, '/health/cluster'),
  ]);
  await at(one).post(`/admins/${two.name}/resume`);
  const sweeper = await taskHolder(fleet, 'sweeps');
  const debug = await until('the debug page to say who sweeps', async () => {
    const page = await (await fetch(`${one.url}/admin/debug`)).text();
    return /<td>sweeps<\/td><td>admin/u.test(page) ? page : null;
  });

  await owner.kill();
  const after = await until('somebody to own it, and to say so', async () => {
    const now = await fleet.owner();
    if (now === null || now.admin === owner) return null;
    const seen = await metrics(now.admin);
    return seen[`cluster_epoch{cluster="${CLUSTER}"}`] === epoch + 1 && seen['admins{status="silent"}'] === 1
      ? seen
      : null;
  });
  const red = await until('the silence to be red', async () => {
    const seen = await checks(one, '/health/cluster');
    return seen['admins'] === 'red: 1 of 3 admins have not checked in for over 5 s' ? seen : null;
  });
  await aged('6 minutes');
  const gone = await until('it to count as gone', async () => {
    const seen = [await checks(one, '/health/cluster'), await metrics(one)] as const;
    return seen[0]['admins'] === null && seen[1]['admins{status="gone"}'] === 1 ? seen : null;
  });
  await aged('2 hours');
  const forgotten = await until('it to be forgotten', async () => {
    const seen = await metrics(one);
    return `heartbeat_age_seconds{admin="${owner.name}"}` in seen ? null : seen;
  });
  const before = (await metrics(one))['listener_losses_total'] ?? 0;
  await fleet.sql(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'",
  );
  const lost = await until('the lost listener to be told', async () => {
    const seen = await metrics(one);
    return (seen['listener_losses_total'] ?? 0) > before ? seen : null;
  });

  t.like(linked, { 'admins{status="live"}': 3, 'admins{status="silent"}': 0, owned_clusters: 0 });
  for (const { name } of [owner, two]) {
    t.true((linked[`heartbeat_age_seconds{admin="${name}"}`] ?? 99) < 99, name);
    t.true((linked[`link_latency_seconds{admin="${name}"}`] ?? 0) > 0, name);
    t.true((linked[`link_changed_timestamp_seconds{admin="${name}"}`] ?? 0) > 1_600_000_000, name);
  }
  t.is(asked['forward_duration_seconds_count{operation="create_enrollment_key",outcome="ok"}'], 1);
  t.is(done['peer_call_duration_seconds_count{operation="create_enrollment_key",outcome="ok"}'], 1);
  t.like(done, { [`cluster_epoch{cluster="${CLUSTER}"}`]: epoch, owned_clusters: 1, clusters_gained_total: 1 });
  t.is(asked['admins{status="draining"}'], 1);
  t.is(drains['peer_membership'], 'this admin drains: it gives its clusters away and takes none');
  t.like(all, { admins: '1 of 3 admins drains', admin_links: null });
  t.true(debug.includes(`<td>sweeps</td><td>${sweeper.name}</td>`), sweeper.name);
  for (const text of [owner.name, two.name, 'Owned for', 'Links to other admins', 'reached'])
    t.true(debug.includes(text), text);

  t.true(
    (after[`cluster_owned_since_timestamp_seconds{cluster="${CLUSTER}"}`] ?? 0) >
      (done[`cluster_owned_since_timestamp_seconds{cluster="${CLUSTER}"}`] ?? 0),
  );
  t.like(after, { 'admins{status="live"}': 2, clusters_gained_total: 1, owned_clusters: 1 });
  t.false(`link_up{admin="${owner.name}"}` in after, 'nobody asks one that is silent');
  t.is(red['admins'], 'red: 1 of 3 admins have not checked in for over 5 s');
  t.is(gone[0]['admins'], null);
  t.like(gone[1], { 'admins{status="live"}': 2, 'admins{status="silent"}': 0, 'admins{status="gone"}': 1 });
  t.like(forgotten, { 'admins{status="live"}': 2, 'admins{status="gone"}': 0 });
  t.true((lost['listener_silence_seconds'] ?? 99) < 60);
});
