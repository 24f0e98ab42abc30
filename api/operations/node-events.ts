/** What happened to one node, and who logged in to it. */
import { envelope, EventResource, NODE_EVENT_TYPES, type EventType } from '../../actors/events.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { inputOf } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import type { Reads } from '../ports.ts';
import { NOT_FOUND } from '../reading.ts';

export const list_node_events = operation({
  name: 'list_node_events',
  kind: 'query',
  summary:
    'List the events of a node, the latest first: status, registrations, versions, moves, updates, logins by SSH. Also of a deleted one, as long as events are kept.',
  rest: { method: 'GET', path: '/nodes/:node_id/events', status: 200 },
  list: true,
  input: inputOf({
    fields: {
      node_id: { kind: 'uuid', ops: ['eq'] },
      type: { kind: NODE_EVENT_TYPES, ops: ['in'] },
      counted_max: { kind: 'integer', ops: ['eq'] },
    },
    descriptions: { counted_max: 'Count no more than this, and than one beyond the page, in total_count.' },
    required: ['node_id'],
    sortable: ['time'],
  }),
  output: EventResource,
  handle: async ({ filters, sort: [sort], page, pageSize }, { ports }) => {
    const valueOf = (name: string) => filters.find(({ field }) => field === name)?.value;
    const node = String(valueOf('node_id')) as NodeId;
    const types = (valueOf('type') as readonly EventType[] | undefined) ?? null;
    const countedMax = (valueOf('counted_max') as number | undefined) ?? null;
    const isOldestFirst = sort?.descending === false;
    const read = await ports.reads.nodeEvents({ node, types, page, pageSize, isOldestFirst, countedMax });
    if (!read.ok) return read;
    const { rows, totalCount } = read.value;
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
  const one = { page: 1, pageSize: 1, isOldestFirst: false, countedMax: 1 };
  const read = await reads.nodeEvents({ node, types: null, ...one });
  return read.ok && read.value.totalCount > 0;
}
