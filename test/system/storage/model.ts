/** Lists as plain JavaScript would filter and sort them: what the SQL is held against. */
import { LISTS, type Filter, type ListName, type ListQuery } from '../../../actors/filters.ts';
import type { CommandSummary } from '../../../actors/resources/command.ts';
import type { Labels } from '../../../transport/protocol/labels.ts';
import { naivelyMatches } from '../../support/selectors.ts';
import { keyBlob } from './entities.ts';
import type { Fixture } from './fixture.ts';
import { requestOf } from './self-update-entities.ts';

type Row = Readonly<Record<string, unknown>>;
type Value = string | number | boolean | null;

/** Rows that match, in order. `page` is not applied. */
export function modelList<N extends ListName>(
  fixture: Fixture,
  name: N,
  query: Pick<ListQuery, 'filters' | 'sort'>,
): readonly Fixture[N][number][] {
  const rows = (fixture[name] as readonly unknown[] as readonly Row[]).filter((row) =>
    query.filters.every((filter) => matches(fixture, name, joined(fixture, name, row), filter)),
  );
  const ties = query.sort.at(-1)?.descending ?? true;
  const order = [
    ...query.sort,
    ...(query.sort.length === 0 ? [{ field: 'inserted_at', descending: true }] : []),
    { field: 'id', descending: ties },
  ];
  const key = (row: Row) => (name === 'self_update_results' ? row['node_id'] : row['id']);
  return rows.toSorted((a, b) => {
    for (const { field, descending } of order) {
      const difference = compare(
        field === 'id' ? (key(a) as string) : valueOf(name, joined(fixture, name, a), field),
        field === 'id' ? (key(b) as string) : valueOf(name, joined(fixture, name, b), field),
      );
      if (difference !== 0) return descending ? -difference : difference;
    }
    return 0;
  }) as readonly unknown[] as readonly Fixture[N][number][];
}

/** A row with what its filters find in other rows. */
function joined(fixture: Fixture, name: ListName, row: Row): Row {
  if (name === 'ssh_usernames')
    return { ...row, cluster_name: fixture.nodes.find((node) => node.id === row['node_id'])?.cluster_name };
  if (name === 'enrollment_keys') return { ...row, key: keyBlob(String(row['id'])) };
  if (name === 'self_update_results') return { ...row, id: requestOf.get(row), inserted_at: null };
  if (name === 'webhooks') {
    const deliveries = fixture.webhook_deliveries.filter(({ webhook_id: id }) => id === row['id']); // in their order
    const waits = deliveries.find(({ status }) => status === 'pending');
    const dropped = deliveries.filter(({ status }) => status === 'dropped').map(({ updated_at: at }) => at);
    return {
      ...row,
      waiting_since: waits === undefined ? null : Date.parse(waits.inserted_at),
      dropped_at: dropped.toSorted().at(-1) ?? null,
    };
  }
  if (name === 'command_executions')
    return { ...row, has_cluster: fixture.clusters.some((cluster) => cluster.name === row['cluster_name']) };
  if (name !== 'ssh_public_keys') return row;
  const username = fixture.ssh_usernames.find(({ id }) => id === row['ssh_username_id']);
  const node = fixture.nodes.find(({ id }) => id === username?.node_id);
  return { ...row, node_id: node?.id, username: username?.username, cluster_name: node?.cluster_name };
}

function matches(fixture: Fixture, name: ListName, row: Row, { field, op, value }: Filter): boolean {
  if (name === 'clusters' && field === 'node_id') {
    return fixture.nodes.some(
      (node) => node.cluster_name === row['name'] && (value as readonly string[]).includes(node.id),
    );
  }
  if (name === 'webhooks' && field === 'event_type')
    return (row['subscribed_events'] as readonly string[]).includes(value as string);
  if (name === 'ssh_usernames' && field === 'key_name') {
    const wanted = [value].flat().map((one) => wildcard(String(one)));
    return fixture.ssh_public_keys.some(
      (key) => key.ssh_username_id === row['id'] && wanted.some((one) => one.test(key.key_name)),
    );
  }
  if (name === 'nodes' && field === 'labels') return naivelyMatches(row['labels'] as Labels, String(value));
  const fields: Readonly<Record<string, { readonly kind: unknown }>> = LISTS[name].fields;
  const actual = valueOf(name, row, field);
  if (actual === null) return false;
  const wanted = Array.isArray(value) ? (value as readonly string[]) : [value as Value];
  if (fields[field]?.kind === 'version' && op !== 'eq') {
    const order = compareVersions(String(actual), String(value));
    return op === 'gte' ? order >= 0 : order <= 0;
  }
  if (fields[field]?.kind === 'text' || fields[field]?.kind === 'version')
    return wanted.some((one) => wildcard(String(one)).test(String(actual)));
  if (op === 'gte') return actual >= (value as Value)!;
  if (op === 'lte') return actual <= (value as Value)!;
  return wanted.includes(actual as never);
}

/**
 * Versions of the fixture, number by number; a pre-release before its release; what is no number behind all that are.
 */
function compareVersions(one: string, other: string): number {
  const parts = (version: string) => {
    const [release = '', ...pre] = (version.replace(/^v/u, '').split('+')[0] ?? '').split('-');
    const numbers = release.split('.').map((part) => (/^\d+$/u.test(part) ? Number(part) : Infinity));
    return [...numbers, 0, 0, 0].slice(0, 3).concat(pre.length === 0 ? 1 : 0);
  };
  const [left, right] = [parts(one), parts(other)];
  const index = left.findIndex((part, at) => part !== right[at]);
  return index < 0 ? 0 : (left[index] ?? 0) - (right[index] ?? 0);
}

function wildcard(text: string): RegExp {
  const literal = (part: string) =>
    Array.from(part, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('');
  return new RegExp(`^${text.split('*').map(literal).join('[^]*')}$`, 'u');
}

/** Of the summary of a command. */
function count(row: Row, of: keyof CommandSummary): number {
  return (row['summary'] as CommandSummary)[of];
}

/** The value that a field filters and sorts by. Times are Unix ms. */
function valueOf(name: ListName, row: Row, field: string): Value {
  switch (field) {
    case 'has_node_limit':
      return row['node_limit'] !== null;
    case 'has_name':
      return row['name'] !== null;
    case 'is_unlimited':
      return row['uses_remaining'] === null;
    case 'is_spent':
      return row['uses_remaining'] === 0;
    case 'is_expired':
      return row['expired_at'] !== null && Date.parse(row['expired_at'] as string) <= Date.now();
    case 'is_never_used':
      return row['last_used_at'] === null;
    case 'has_expiry':
    case 'has_expired_at':
      return row['expired_at'] !== null;
    case 'has_open':
      return count(row, 'pending') + count(row, 'sent') > 0;
    case 'has_failed':
      return count(row, 'failed') > 0;
    case 'has_timeout':
      return row['timeout'] !== null;
    case 'has_command':
      return row['command'] !== null;
    case 'has_output':
      return row['output'] !== null && row['output'] !== '';
    case 'has_enrollment_key':
      return row['enrollment_key_id'] !== null;
    case 'hostname':
    case 'os':
    case 'arch':
      return (row['facts'] as Readonly<Record<string, string>> | null)?.[field] ?? null;
    case 'node_id':
      return name === 'nodes' ? (row['id'] as string) : (row['node_id'] as string);
    default: {
      const value = row[field] as Value | undefined;
      if (value === undefined) throw new Error(`The model does not know ${name}.${field}`);
      return field.endsWith('_at') && value !== null ? Date.parse(value as string) : value;
    }
  }
}

/** Null is the greatest value; texts compare by code point, as under the collation C. */
function compare(a: Value, b: Value): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -1 : 1;
}
