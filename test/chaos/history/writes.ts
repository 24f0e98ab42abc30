/**
 * What the rows took, as triggers of the test note it: each change that is for the owner of a node or a cluster alone
 * and that another admin made (O1), and who became the owner of what when.
 */
import type { Fleet } from '../../support/fleet.ts';
import type { OwnerObservation } from './history.ts';

/**
 * Has each connection of an admin say whose it is. What an admin sets of its own accord is set here, since this is
 * instead.
 */
export function namedConnections(
  name: string,
  { DATABASE_URL = '' }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const url = new URL(DATABASE_URL);
  url.searchParams.set('options', `-c plan_cache_mode=force_custom_plan -c edge_history.admin=${name}`);
  return { DATABASE_URL: url.href.replaceAll('+', '%20') };
}

/**
 * What the owner of a node or a cluster alone may write; of what is created it counts who owns it at the commit. A
 * sweep of any admin expires executions; what goes with a node that is moved or deleted is no write of its own.
 */
const NOTES = `
create table edge_history_write (what text not null, id uuid not null, change text not null, writer text not null, owner text not null);
create function edge_history_stale(what text, id uuid, change text, cluster uuid) returns void language plpgsql as $$
declare
  writer text := coalesce(current_setting('edge_history.admin', true), 'nobody that is known');
  owner text;
begin
  select a.name into owner from cluster_ownership w join admin a on a.id = w.admin_id where w.cluster_id = cluster;
  if owner <> writer then
    insert into edge_history_write values (what, id, change, writer, owner);
  end if;
end $$;
create function edge_history_note() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'enrollment_key' then
    perform edge_history_stale(tg_table_name, new.id, 'there', new.cluster_id);
  elsif tg_table_name = 'command_execution' then
    perform edge_history_stale(tg_table_name, new.id, new.status::text, (select n.cluster_id from node n where n.id = new.node_id));
  else
    perform edge_history_stale(tg_table_name, new.id, 'there', (select n.cluster_id from node n where n.id = new.node_id));
  end if;
  return null;
end $$;
create trigger edge_history_note after update of status on command_execution for each row
  when (old.status is distinct from new.status and new.status in ('sent', 'completed', 'cancelled')) execute function edge_history_note();
create constraint trigger edge_history_note after insert on alias deferrable initially deferred for each row execute function edge_history_note();
create constraint trigger edge_history_note after insert on ssh_username deferrable initially deferred for each row execute function edge_history_note();
create constraint trigger edge_history_note after insert on enrollment_key deferrable initially deferred for each row execute function edge_history_note();`;

/** Each owner under each epoch. */
const OWNERS = `
create table edge_history_owner (place bigint generated always as identity, id uuid not null, cluster text not null, admin text not null, epoch bigint not null, at timestamptz not null);
create function edge_history_own() returns trigger language plpgsql as $$
begin
  insert into edge_history_owner (id, cluster, admin, epoch, at)
    select c.id, c.name, a.name, new.epoch, clock_timestamp() from cluster c, admin a where c.id = new.cluster_id and a.id = new.admin_id;
  return null;
end $$;
create trigger edge_history_own after insert on cluster_ownership for each row execute function edge_history_own();
create trigger edge_history_owns after update on cluster_ownership for each row
  when ((old.admin_id, old.epoch) is distinct from (new.admin_id, new.epoch)) execute function edge_history_own();`;

/** Notes from now on. */
export async function watchWrites(fleet: Fleet): Promise<void> {
  await fleet.sql(NOTES);
  await fleet.sql(OWNERS);
}

/** Who owned what from when on, in order. `beganAtMs`: Unix ms from which the history counts. */
export async function ownersOf(fleet: Fleet, beganAtMs: number): Promise<readonly OwnerObservation[]> {
  const rows = await fleet.sql<{ id: string; cluster: string; admin: string; epoch: string; atMs: number }>(
    'select id, cluster, admin, epoch, extract(epoch from at)::float8 * 1000 as "atMs" from edge_history_owner order by place',
  );
  return rows.map(({ epoch, atMs, ...more }) => ({ ...more, epoch: Number(epoch), atMs: atMs - beganAtMs }));
}

/** What was broken, one line each. */
export async function staleWrites(fleet: Fleet): Promise<readonly string[]> {
  const writes = await fleet.sql<{ what: string; id: string; change: string; writer: string; owner: string }>(
    'select what, id, change, writer, owner from edge_history_write',
  );
  return writes.map(
    ({ what, id, change, writer, owner }) =>
      `O1: ${writer} stored that ${what} ${id} is ${change}, while ${owner} owned its node or cluster`,
  );
}
