/** A fleet whose agents are asked to update, and what became of a request. */
import type { SelfUpdateRequestResource, SelfUpdateResultResource } from '../../../actors/resources/self-update.ts';
import type { Fleet } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { UpdatingAgent, type Updater } from '../../support/fleet/updating-agent.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/** So many agents, connected and healthy. */
export async function agentsOf(
  scope: Scope,
  fleet: Fleet,
  updaters: readonly Updater[],
): Promise<readonly UpdatingAgent[]> {
  const agents: UpdatingAgent[] = [];
  for (const updater of updaters) {
    const agent = new UpdatingAgent(scope, await enrollRaw(scope, fleet), updater);
    await agent.connect();
    agents.push(agent);
  }
  for (const { node } of agents) await until('it is healthy', async () => (await statusOf(fleet, node)) === 'healthy');
  return agents;
}

async function statusOf(fleet: Fleet, node: string): Promise<string | undefined> {
  return (
    await fleet.sql<{ status: string }>('select status from node where id = $1 and self_update_enabled', [node])
  )[0]?.status;
}

/** A request for these agents alone. */
export function requestFor(
  fleet: Fleet,
  agents: readonly UpdatingAgent[],
  more: object = {},
): Promise<SelfUpdateRequestResource> {
  const targeting = { type: 'nodes', node_ids: agents.map(({ node }) => node) };
  return fleet.rest.post<SelfUpdateRequestResource>('/self_update_requests', { targeting, ...more });
}

/** The request, once it is completed. */
export function completed(fleet: Fleet, { id }: { readonly id: string }): Promise<SelfUpdateRequestResource> {
  return until('the request is completed', async () => {
    const request = await fleet.rest.get<SelfUpdateRequestResource>(`/self_update_requests/${id}`);
    return request.status === 'completed' && request;
  });
}

/** What became of its nodes, by their ids. */
export async function resultsOf(
  fleet: Fleet,
  { id }: { readonly id: string },
): Promise<ReadonlyMap<string, SelfUpdateResultResource>> {
  const rows = await fleet.rest.get<readonly SelfUpdateResultResource[]>(
    `/self_update_requests/${id}/nodes?page_size=100`,
  );
  return new Map(rows.map((row) => [row.node_id, row]));
}

/** How many nodes have each status. */
export async function statusesOf(fleet: Fleet, request: { readonly id: string }): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of (await resultsOf(fleet, request)).values()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Types of events of these subjects, in the order of their commits. */
export async function eventsOf(fleet: Fleet, subjects: readonly string[]): Promise<readonly string[]> {
  const rows = await fleet.sql<{ type: string }>(
    `select type from event where subject = any($1::uuid[]) and (type like '%update%') order by txid, seq`,
    [subjects],
  );
  return rows.map(({ type }) => type);
}
