/** Nodes as a table. */
import type { Node } from '../service/client.ts';
import { labelsOf } from '../names/node-names.ts';
import type { Table, Tone } from '../table/columns.ts';
import { shortId } from '../table/short-ids.ts';

/** All statuses of a node, best first. Source: docs/api.md, Resources. */
export const NODE_STATUSES = ['healthy', 'unhealthy', 'unreachable'] as const satisfies readonly Node['status'][];

/** How a status is painted. */
export const STATUS_TONES: Readonly<Record<Node['status'], Tone>> = {
  healthy: 'good',
  unhealthy: 'warn',
  unreachable: 'bad',
};

/** Nodes: what they are called, how they are, since when and why. */
export const NODE_TABLE: Table<Node> = {
  id: ({ id }) => id,
  sortedBy: 'name',
  names: (nodes) => {
    const labels = labelsOf(nodes);
    return (id) => labels.get(id) ?? shortId(id);
  },
  columns: [
    ['NAME', 'id', { node: true, cut: 12 }],
    ['CLUSTER', 'cluster_name', { cut: 8, drop: 2, sorts: 'cluster_name' }],
    ['STATUS', 'status', { tone: ({ status }) => STATUS_TONES[status], sorts: 'status' }],
    ['SINCE', 'status_since', { age: true }],
    ['VERSION', 'version', { cut: 7, drop: 3, sorts: 'version' }],
    ['WHY', 'status_reason', { told: true, cut: 12, drop: 1 }],
    ['HOST', ({ facts }) => facts?.hostname, { wide: true }],
    ['OS', ({ facts }) => (facts == null ? null : [facts.os, facts.os_version].join(' ').trim()), { wide: true }],
    ['ARCH', ({ facts }) => facts?.arch, { wide: true }],
    ['LABELS', ({ labels }) => labelsText(labels), { wide: true }],
    ['SEEN', 'last_seen_at', { wide: true, age: true, sorts: 'last_seen_at' }],
    ['ENROLLED', 'inserted_at', { wide: true, age: true, sorts: 'inserted_at' }],
    ['ALIASES', ({ aliases }) => aliases.map(({ name }) => name).join(',') || null, { wide: true }],
    ['ID', 'id', { wide: true, id: true }],
  ],
};

/** Labels in a line, as a selector would have them; null: none. */
export function labelsText(labels: Node['labels'] | undefined): string | null {
  const text = Object.entries(labels ?? {})
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(',');
  return text === '' ? null : text;
}
