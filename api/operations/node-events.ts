/** What happened to one node, and who logged in to it. */
import { envelope, EventResource, NODE_EVENT_TYPES, type EventType } from '../../actors/events.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { inputOf } from '../list-input.ts';
import { operation } from '../operation.ts';
import type { Reads } from '../ports.ts';
import { NOT_FOUND } from '../reading.ts';

export const list_node_events = operation({
  name: 'list_node_events',
  kind: 'query',
  summary:
    'List the events of a node, the latest first: its status, registrations, versions, moves, updates, and logins by SSH. Also of a node that was deleted, as long as events are kept.',
  rest: { method: 'GET', path: '/nodes/:node_id/events', status: 200 },
  list: true,
  input: inputOf({
    fields: { node_id: { kind: 'uuid', ops: ['eq'] }, type: { kind: NODE_EVENT_TYPES, ops: ['in'] } },
    required: ['node_id'],
    sortable: ['time'],
  }),
  output: EventResource,
  handle: async ({ filters, sort: [sort], page, pageSize }, { ports }) => {
    const valueOf = (name: string) => filters.find(({ field }) => field === name)?.value;
    const node = String(valueOf('node_id')) as NodeId;
    const types = (valueOf('type') as readonly EventType[] | undefined) ?? null;
    const { rows, totalCount } = await ports.reads.nodeEvents({
      node,
      types,
      page,
      pageSize,
      isOldestFirst: sort?.descending === false,
    });
    const isKnown =
      totalCount > 0 ||
      (await ports.reads.get('nodes', node)) !== null ||
      (types !== null && (await hasEvents(node, ports.reads)));
    if (!isKnown) return refuse('not_found', NOT_FOUND);
    return ok({ rows: rows.map((event) => envelope(event, ports.settings.coreName)), totalCount });
  },
});

/** Of any type: so much is left of a node that was deleted. */
async function hasEvents(node: NodeId, reads: Pick<Reads, 'nodeEvents'>): Promise<boolean> {
  const { totalCount } = await reads.nodeEvents({ node, types: null, page: 1, pageSize: 1, isOldestFirst: false });
  return totalCount > 0;
}
