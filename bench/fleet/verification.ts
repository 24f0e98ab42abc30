/** What the rows must say after a fan-out; a figure whose rows are wrong is no figure. */
import { withClient, type DatabasePlace } from './database.ts';

/**
 * Checks the newest command: one completed execution a node with its output, and its three events each. Throws
 * otherwise.
 */
export async function verifyFanout(place: DatabasePlace, nodes: number, outputBytes: number): Promise<void> {
  await withClient(place, async (client) => {
    const {
      rows: [found],
    } = await client.query<{ executions: string; events: string }>(
      `
      with newest as (select id from command order by inserted_at desc, id desc limit 1),
        mine as (select e.* from command_execution e join newest on e.command_id = newest.id)
      select (select count(*) from mine where status = 'completed' and exit_code = 0 and coalesce(length(output), 0) = $1 and sent_at is not null) as executions,
        (select count(*) from (select type, subject from event where subject in (select id from mine) group by type, subject) as told
          where type in ('edge.command_execution.created', 'edge.command_execution.sent', 'edge.command_execution.completed')) as events`,
      [outputBytes],
    );
    if (Number(found?.executions) !== nodes || Number(found?.events) !== 3 * nodes) {
      throw new Error(
        `${place.database}: ${found?.executions} of ${nodes} executions completed, ${found?.events} of ${3 * nodes} events`,
      );
    }
  });
}
