/** Three admins, of which one does all that one admin does at a time: a drain moves that too, and keeps it away. */
import test from 'ava';
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import { isCrowded } from '../../support/busy.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { openReceiver } from '../../support/webhooks/receiver.ts';
import { until } from '../../support/until.ts';

const TASKS = ['reconciler', 'self-updates', 'sweeps', 'webhooks'];

/** Time for a lease of a killed admin to run out and a claim to follow on a machine that does other things, in ms. */
const FOLLOWED_MS_MAX = 30_000;

/** Notes from now on which admin takes which task. */
async function noteClaims(fleet: Fleet): Promise<() => Promise<readonly string[]>> {
  await fleet.sql('create table claims (seq bigserial, task text, admin uuid)');
  await fleet.sql(`create function note_claim() returns trigger language plpgsql as
    $$ begin insert into claims (task, admin) values (new.name, new.admin_id); return null; end $$`);
  for (const table of ['vpn_lease', 'event_channel'])
    await fleet.sql(`create trigger noted after insert or update of admin_id on ${table} for each row
      when (new.admin_id is not null) execute function note_claim()`);
  return async () =>
    (
      await fleet.sql<{ name: string }>(
        'select distinct a.name from claims c join admin a on a.id = c.admin order by 1',
      )
    ).map(({ name }) => name);
}

/** Which admin does each task now, by its name. */
async function holders(fleet: Fleet): Promise<Readonly<Record<string, string>>> {
  const rows = await fleet.sql<{ task: string; name: string }>(
    `select l.name as task, a.name from (select name, admin_id, lease_until from vpn_lease union all select name, admin_id, lease_until from event_channel) l
      join admin a on a.id = l.admin_id where l.lease_until > clock_timestamp() order by l.name`,
  );
  return Object.fromEntries(rows.map(({ task, name }) => [task, name]));
}

const heldBy = (fleet: Fleet, ...admins: readonly AdminProgram[]): Promise<Readonly<Record<string, string>>> =>
  until(
    `all tasks to be done by ${admins.map(({ name }) => name).join(' or ')}`,
    async () => {
      const now = await holders(fleet);
      const isAll = TASKS.every((task) => admins.some(({ name }) => name === now[task]));
      return isAll ? now : null;
    },
    FOLLOWED_MS_MAX,
  );

test('edge admin drain --wait leaves shared tasks to the others, even as one dies; alone the drained one does them', async (t) => {
  const receiver = await openReceiver(t);
  const env = { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', WEBHOOK_RETRY_BASE_MS: '50' };
  const fleet = await startFleet(t, { admins: 3, env });
  const [drained, killed, left] = [fleet.admin(0), fleet.admin(1), fleet.admin(2)];
  await Promise.all([killed.kill(), left.kill()]);
  await heldBy(fleet, drained);
  await Promise.all([killed.start(), left.start()]);
  const at = (admin: AdminProgram) => restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  const tasksOf = async (admin: AdminProgram): Promise<readonly string[]> =>
    (await at(left).get<PeerAdminResource>(`/admins/${admin.name}`)).tasks;
  const endpoint = receiver.endpoint();
  const subscription = { url: endpoint.url, secret: 'secret-of-the-webhook', subscribed_events: ['edge.core.test'] };
  await at(left).post('/webhooks', subscription);
  const events: string[] = [];
  const happens = async (admin: AdminProgram): Promise<void> => {
    events.push((await at(admin).post<{ id: string }>('/events/test')).id);
    await until('all events', () => new Set(endpoint.arrivals.map(({ id }) => id)).size === events.length);
  };
  await happens(left);
  const before = await tasksOf(drained);
  const edge = { EDGE_URL: left.url, EDGE_API_KEY: FLEET_KEYS.API_KEY };

  const drain = await startEdge(['admin', 'drain', drained.name, '--wait'], edge).ended;
  const claimants = await noteClaims(fleet); // none of it was taken back by then
  const after = await tasksOf(drained);
  const shown = await startEdge(['admin', 'show', drained.name], edge).ended;
  await heldBy(fleet, killed, left);
  await happens(drained);
  await killed.kill();
  await heldBy(fleet, left);
  await happens(drained);
  const [took, shared] = [await claimants(), await tasksOf(left)];
  await left.kill();
  await heldBy(fleet, drained);
  await happens(drained);

  t.deepEqual(before, TASKS);
  t.deepEqual([drain.status, drain.stderr.includes('owns nothing and takes no clusters')], [0, true], drain.stderr);
  t.deepEqual(after, []);
  t.is(shown.status, 0, shown.stderr);
  // on a crowded machine another one may be taken for dead for a moment
  if (!isCrowded()) t.false(took.includes(drained.name), `taken by ${took.join(', ')}`);
  t.deepEqual(shared, TASKS);
  t.deepEqual(new Set(endpoint.arrivals.map(({ id }) => id)), new Set(events));
});
