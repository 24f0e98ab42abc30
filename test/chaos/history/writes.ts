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
 * What the owner of a node or a cluster alone may write; of what is created or changed it counts who owns it at the
 * commit, of what is deleted who owns it then. Of a node that moves, the owner of where it was. Who stores that a node
 * is unreachable may be any admin while nobody owns its cluster, as a sweep of any admin expires executions and prunes
 * public keys. What goes with a node or a cluster that is moved or deleted is no write of its own.
 */
const NOTES = `
create table edge_history_write (what text not null, id uuid not null, change text not null, writer text not null, owner text not null);
create function edge_history_stale(what text, id uuid, change text, cluster uuid, while_owned boolean default false) returns void language plpgsql as $$
declare
  writer text := coalesce(current_setting('edge_history.admin', true), 'nobody that is known');
  owner text;
begin
  select a.name into owner from cluster_ownership w join admin a on a.id = w.admin_id
    where w.cluster_id = cluster and (w.lease_until > clock_timestamp() or not while_owned);
  if owner <> writer then
    insert into edge_history_write values (what, id, change, writer, owner);
  end if;
end $$;
create function edge_history_cluster_of(uuid) returns uuid language sql as 'select cluster_id from node where id = $1';
create function edge_history_node_of(uuid) returns uuid language sql as 'select node_id from ssh_username where id = $1';
create function edge_history_note() returns trigger language plpgsql as $$
declare
  it record := case tg_op when 'DELETE' then old else new end;
  change text := case tg_op when 'DELETE' then 'gone' when 'INSERT' then 'there' else 'changed' end;
begin
  if tg_op = 'DELETE' and pg_trigger_depth() > 1 then
    return old;
  end if;
  case tg_table_name
    when 'command_execution' then
      perform edge_history_stale(tg_table_name, it.id, it.status::text, edge_history_cluster_of(it.node_id));
    when 'cluster' then
      perform edge_history_stale(tg_table_name, it.id, change, it.id);
    when 'enrollment_key' then
      perform edge_history_stale(tg_table_name, it.id, change, it.cluster_id);
    when 'recovery_key' then
      perform edge_history_stale(tg_table_name, it.node_id, change, it.cluster_id);
    when 'node' then
      if tg_op <> 'UPDATE' then
        perform edge_history_stale(tg_table_name, it.id, change, it.cluster_id);
      elsif old.cluster_id <> new.cluster_id then
        perform edge_history_stale(tg_table_name, it.id, 'moved', old.cluster_id);
      else
        perform edge_history_stale(tg_table_name, it.id, it.status, it.cluster_id, it.status = 'unreachable');
      end if;
    when 'ssh_public_key' then
      perform edge_history_stale(tg_table_name, it.id, change, edge_history_cluster_of(edge_history_node_of(it.ssh_username_id)));
    when 'node_labels' then
      perform edge_history_stale(tg_table_name, it.node_id, change, edge_history_cluster_of(it.node_id));
    else
      perform edge_history_stale(tg_table_name, it.id, change, edge_history_cluster_of(it.node_id));
  end case;
  return it;
end $$;
create trigger edge_history_note after update of status on command_execution for each row
  when (old.status is distinct from new.status and new.status in ('sent', 'completed', 'cancelled')) execute function edge_history_note();
${['alias', 'ssh_username', 'ssh_public_key', 'enrollment_key', 'recovery_key', 'node'].map(atCommit('insert')).join('\n')}
${[
  ['cluster', 'old.node_limit is distinct from new.node_limit'],
  [
    'enrollment_key',
    '(old.name, old.uses_remaining, old.expired_at) is distinct from (new.name, new.uses_remaining, new.expired_at)',
  ],
  ['recovery_key', 'old.key_hash is distinct from new.key_hash'],
  [
    'node',
    '(old.cluster_id, old.status, old.token_hash) is distinct from (new.cluster_id, new.status, new.token_hash)',
  ],
  ['node_labels', 'old.labels is distinct from new.labels'],
]
  .map(([table = '', changed = '']) => atCommit('update', ` when (${changed})`)(table))
  .join('\n')}
${['cluster', 'alias', 'ssh_username', 'ssh_public_key', 'recovery_key', 'node'].map((table) => atOnce(table)).join('\n')}
${atOnce('enrollment_key', ' when (not old.is_public)')}`;

/** Looks at who owns it at the commit: what is done in the same transaction counts. */
function atCommit(event: 'insert' | 'update', when = ''): (table: string) => string {
  return (table) =>
    `create constraint trigger edge_history_${event} after ${event} on ${table} deferrable initially deferred for each row${when} execute function edge_history_note();`;
}

/** Looks at who owns it before it is deleted: who owns what goes with it. */
function atOnce(table: string, when = ''): string {
  return `create trigger edge_history_delete before delete on ${table} for each row${when} execute function edge_history_note();`;
}

/** Each owner under each epoch. */
const OWNERS = `
create table edge_history_owner (place bigint generated always as identity, id uuid not null, cluster text not null, admin text not null, epoch bigint not null, at timestamptz not null, is_given boolean not null);
create function edge_history_own() returns trigger language plpgsql as $$
begin
  insert into edge_history_owner (id, cluster, admin, epoch, at, is_given)
    select c.id, c.name, a.name, new.epoch, clock_timestamp(),
      tg_op = 'UPDATE' and coalesce(current_setting('edge_history.admin', true) = f.name and f.id <> a.id and old.lease_until > clock_timestamp(), false)
    from cluster c join admin a on a.id = new.admin_id left join admin f on f.id = case tg_op when 'UPDATE' then old.admin_id end
    where c.id = new.cluster_id;
  return null;
end $$;
create trigger edge_history_own after insert on cluster_ownership for each row execute function edge_history_own();
create trigger edge_history_owns after update on cluster_ownership for each row
  when ((old.admin_id, old.epoch) is distinct from (new.admin_id, new.epoch)) execute function edge_history_own();`;

/** Notes from now on. */
export async function watchWrites(fleet: Pick<Fleet, 'sql'>): Promise<void> {
  await fleet.sql(NOTES);
  await fleet.sql(OWNERS);
}

/** Who owned what from when on, in order. `beganAtMs`: Unix ms from which the history counts. */
export async function ownersOf(fleet: Fleet, beganAtMs: number): Promise<readonly OwnerObservation[]> {
  const rows = await fleet.sql<{
    id: string;
    cluster: string;
    admin: string;
    epoch: string;
    atMs: number;
  }>(
    'select id, cluster, admin, epoch, extract(epoch from at)::float8 * 1000 as "atMs" from edge_history_owner order by place',
  );
  return rows.map(({ epoch, atMs, ...more }) => ({ ...more, epoch: Number(epoch), atMs: atMs - beganAtMs }));
}

/** How many changed their owner since the admin that owned them gave them away: no takeovers. */
export async function givenCount(fleet: Fleet): Promise<number> {
  const [row] = await fleet.sql<{ count: number }>(
    'select count(*)::int as count from edge_history_owner where is_given',
  );
  return row?.count ?? 0;
}

/** What was broken, one line each. */
export async function staleWrites(fleet: Pick<Fleet, 'sql'>): Promise<readonly string[]> {
  const writes = await fleet.sql<{ what: string; id: string; change: string; writer: string; owner: string }>(
    'select what, id, change, writer, owner from edge_history_write',
  );
  return writes.map(
    ({ what, id, change, writer, owner }) =>
      `O1: ${writer} stored that ${what} ${id} is ${change}, while ${owner} owned its node or cluster`,
  );
}
