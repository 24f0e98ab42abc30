/** Filters, orders and pages of lists, with values that the fixture has, nearly has, or cannot have. */
import * as fc from 'fast-check';
import { LISTS, type Filter, type FilterField, type ListName, type ListQuery } from '../../../actors/filters.ts';
import { selectors } from '../../support/selectors.ts';
import { keyBlob } from './entities.ts';
import type { Fixture } from './fixture.ts';

const EPOCH_MS = Date.UTC(2026, 0, 1);

/** Filters with values that occur, nearly occur, or cannot. */
export function filterOf(fixture: Fixture, name: ListName): fc.Arbitrary<Filter> {
  const fields: Readonly<Record<string, FilterField>> = LISTS[name].fields;
  const cases = Object.entries(fields).flatMap(([field, { kind, ops }]) =>
    ops.map((op) => {
      const one = valueOf(fixture, name, field, kind);
      return (op === 'in' ? fc.array(one, { minLength: 1, maxLength: 3 }) : one).map((value): Filter => ({
        field,
        op,
        value: value as Filter['value'],
      }));
    }),
  );
  return fc.oneof(...cases);
}

function valueOf(
  fixture: Fixture,
  name: ListName,
  field: string,
  kind: FilterField['kind'],
): fc.Arbitrary<string | number | boolean> {
  if (typeof kind === 'object') return fc.constantFrom(...kind);
  switch (kind) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.constantFrom(-1, 0, 1, 2, 5, 9, 20, 143, 503, 1_001, 2 ** 40);
    case 'time':
      return fc.oneof(
        fc.integer({ min: -1, max: 61 }).map((minute) => EPOCH_MS + minute * 60_000),
        fc.constantFrom(EPOCH_MS + 13, 0, Date.UTC(2099, 0, 1), 8.64e15, -8.64e15),
      );
    case 'cidr':
      return fc.constantFrom('10.0.1.0/24', '10.0.1.9/24', '10.0.0.0/16', 'fd00:0:0:2::/64');
    case 'uuid':
      return fc.constantFrom(...ids(fixture, field), '00000000-0000-0000-0000-000000000000');
    case 'text':
      return wildcards(texts(fixture, name, field));
    case 'version':
      return fc.constantFrom('1.0.0', '1.2', '1.2.3', '2.0.0-rc.1', '2', '1_0', 'v1.10.0+build', '1.*');
    case 'selector':
      return selectors();
    case 'exact':
      return fc.oneof(
        fc.constantFrom(...fixture.enrollment_keys.map(({ id }) => keyBlob(id))),
        fc.constantFrom('*', 'nothing', '\0', keyBlob('of nobody, in the world')),
      );
    default:
      return kind satisfies never;
  }
}

function ids(fixture: Fixture, field: string): readonly string[] {
  if (field === 'id') return fixture.self_update_requests.map(({ id }) => id);
  if (field === 'command_id') return fixture.commands.map(({ id }) => id);
  if (field === 'ssh_username_id') return fixture.ssh_usernames.map(({ id }) => id);
  if (field === 'webhook_id') return fixture.webhooks.map(({ id }) => id);
  if (field === 'event_id') return fixture.webhook_deliveries.map(({ event_id }) => event_id);
  return field === 'enrollment_key_id'
    ? fixture.enrollment_keys.map(({ id }) => id)
    : fixture.nodes.map(({ id }) => id);
}

function texts(fixture: Fixture, name: ListName, field: string): readonly string[] {
  const isOfNode = field === 'cluster_name' && (name === 'ssh_usernames' || name === 'ssh_public_keys');
  const place = isOfNode
    ? 'nodes'
    : name === 'ssh_public_keys' && field === 'username'
      ? 'ssh_usernames'
      : name === 'ssh_usernames' && field === 'key_name'
        ? 'ssh_public_keys'
        : name;
  const rows = fixture[place] as readonly unknown[] as readonly Readonly<Record<string, unknown>>[];
  return [
    ...new Set(
      rows
        .map((row) => row[field] ?? (row['facts'] as Row | null | undefined)?.[field])
        .filter((value) => typeof value === 'string'),
    ),
  ];
}

type Row = Readonly<Record<string, unknown>>;

/** A text that occurs, with some of it replaced by a wildcard, or one that trips naive escaping. */
function wildcards(given: readonly string[]): fc.Arbitrary<string> {
  const cut = fc
    .tuple(fc.constantFrom(...given), fc.nat(8), fc.nat(8))
    .map(([text, from, to]) => `${text.slice(0, from)}*${text.slice(Math.max(from, to))}`);
  return fc.oneof(
    fc.constantFrom(...given),
    cut,
    fc.constantFrom('*', 'pro_d*', 'pro%*', String.raw`pro\*`, String.raw`*\d`, '**d', 'nothing', '\0'),
  );
}

/** Any filters, order and page. */
export function queryOf(fixture: Fixture, name: ListName): fc.Arbitrary<ListQuery> {
  const sort = fc.record({ field: fc.constantFrom(...LISTS[name].sortable), descending: fc.boolean() });
  const filters = fc.array(filterOf(fixture, name), { maxLength: 2 });
  return fc.record({
    filters:
      name === 'self_update_results'
        ? fc.tuple(requestFilter(fixture), filters).map(([of, more]) => [of, ...more])
        : filters,
    sort: fc.array(sort, { maxLength: 2 }),
    page: fc.integer({ min: 1, max: 12 }),
    pageSize: fc.constantFrom(1, 3, 7, 20, 100),
  });
}

/** Results are those of one request: a node may stand in several. */
function requestFilter(fixture: Fixture): fc.Arbitrary<Filter> {
  return fc.constantFrom(...ids(fixture, 'id')).map((value): Filter => ({ field: 'id', op: 'eq', value }));
}
