/** Whose writes the rows took: a trigger of the test notes each change of an execution by an admin that did not own its node (O1). */
import type { Fleet } from '../../support/fleet.ts';

/** Has each connection of an admin say whose it is. What an admin sets of its own accord is set here, since this is instead. */
export function namedConnections(
  name: string,
  { DATABASE_URL = '' }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const url = new URL(DATABASE_URL);
  url.searchParams.set('options', `-c plan_cache_mode=force_custom_plan -c edge_history.admin=${name}`);
  return { DATABASE_URL: url.href.replaceAll('+', '%20') };
}

/** What the owner of a node alone may write. A sweep of any admin expires executions. */
const NOTES = `
create table edge_history_write (execution uuid not null, status text not null, writer text not null, owner text not null);
create function edge_history_note() returns trigger language plpgsql as $$
declare
  writer text := coalesce(current_setting('edge_history.admin', true), 'nobody that is known');
  owner text;
begin
  select a.name into owner from node n join cluster_ownership w on w.cluster_id = n.cluster_id join admin a on a.id = w.admin_id where n.id = new.node_id;
  if owner <> writer then
    insert into edge_history_write values (new.id, new.status, writer, owner);
  end if;
  return null;
end $$;
create trigger edge_history_note after update of status on command_execution for each row
  when (old.status is distinct from new.status and new.status in ('sent', 'completed', 'cancelled')) execute function edge_history_note();`;

/** Notes from now on. */
export async function watchWrites(fleet: Fleet): Promise<void> {
  await fleet.sql(NOTES);
}

/** What was broken, one line each. */
export async function staleWrites(fleet: Fleet): Promise<readonly string[]> {
  const writes = await fleet.sql<{ execution: string; status: string; writer: string; owner: string }>(
    'select execution, status, writer, owner from edge_history_write',
  );
  return writes.map(
    ({ execution, status, writer, owner }) =>
      `O1: ${writer} stored that execution ${execution} is ${status}, while ${owner} owned its node`,
  );
}
