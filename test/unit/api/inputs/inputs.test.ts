/** What inputs take and refuse. */
import test from 'ava';
import { LISTS, parameterName, type ListName } from '../../../../actors/filters.ts';
import { CommandResource } from '../../../../actors/resources/command.ts';
import { Targeting } from '../../../../actors/targeting-schema.ts';
import { catalogue } from '../../../../api/catalogue.ts';
import { listInput } from '../../../../api/inputs/list-input.ts';
import type { AnyOperation } from '../../../../api/operation.ts';
import { parse } from '../../../../api/inputs/parse.ts';
import { ipv4Range, ipv6Range } from '../../../../api/inputs/ranges.ts';
import { inputSchema } from '../../../../api/schemas.ts';
import { SOME_ID } from '../../../support/api/fakes.ts';

const details = (operation: AnyOperation, input: unknown) => {
  const parsed = parse(operation, input);
  return parsed.ok ? 'taken' : parsed.refusal.details;
};

test('a list takes its parameters as text and as JSON alike', (t) => {
  const wanted = {
    ok: true,
    value: {
      filters: [
        { field: 'node_id', op: 'in', value: [SOME_ID] },
        { field: 'status', op: 'in', value: ['healthy', 'unhealthy'] },
        { field: 'self_update_enabled', op: 'eq', value: false },
        { field: 'inserted_at', op: 'gte', value: Date.UTC(2026, 0, 1) },
        { field: 'inserted_at', op: 'lte', value: Date.UTC(2026, 0, 2) - 1 },
      ],
      sort: [
        { field: 'status', descending: true },
        { field: 'version', descending: false },
      ],
      page: 2,
      pageSize: 50,
    },
  };
  const shared = { inserted_at__gte: '2026-01-01T01:00:00+01:00', inserted_at__lte: '2026-01-01' };

  t.deepEqual(
    parse(catalogue.list_nodes, {
      ...shared,
      page: '2',
      page_size: '50',
      sort: '-status,version',
      node_id__in: SOME_ID.toUpperCase(),
      status__in: 'healthy,unhealthy',
      self_update_enabled: 'false',
    }),
    wanted as never,
  );
  t.deepEqual(
    parse(catalogue.list_nodes, {
      ...shared,
      page: 2,
      page_size: 50,
      sort: ['-status', 'version'],
      node_id__in: [SOME_ID],
      status__in: ['healthy', 'unhealthy'],
      self_update_enabled: false,
    }),
    wanted as never,
  );
});

test('without parameters a list is its first page of 20, newest first', (t) => {
  t.deepEqual(parse(catalogue.list_clusters, undefined), {
    ok: true,
    value: { filters: [], sort: [], page: 1, pageSize: 20 },
  });
});

for (const name of Object.keys(LISTS) as ListName[]) {
  test(`the list of ${name} offers each filter of its table, and nothing else`, (t) => {
    const filters = Object.entries(LISTS[name].fields).flatMap(([field, { ops }]) =>
      ops.map((op) => parameterName(field, op)),
    );
    const operation = catalogue[`list_${name}`];

    t.deepEqual(
      Object.keys(inputSchema(operation).properties ?? {}).toSorted(),
      [...filters, 'page', 'page_size', 'sort'].toSorted(),
    );
    const of = name === 'self_update_results' ? { id: '01a209bf-f54d-7000-9c55-989470d80bad' } : {}; // of one request
    for (const field of LISTS[name].sortable)
      t.true(listInput(name).safeParse({ ...of, sort: `-${field}` }).success, field);
  });
}

test('malformed list parameters name themselves', (t) => {
  const wrong = {
    page: '0',
    page_size: '101',
    sort: 'nope',
    has_node_limit: '1',
    node_count__gte: '1.5',
    node_id__in: 'x',
    inserted_at__gte: '2026-02-30',
    ipv4_range: '10.0.0.0',
    name: '',
    node_limit: '99999999999',
    nope: '',
  };

  t.deepEqual(
    Object.keys(details(catalogue.list_clusters, wrong) ?? {})
      .map((field) => field.replace(/[.].*/u, ''))
      .toSorted(),
    Object.keys(wrong).toSorted(),
  );
  t.deepEqual(details(catalogue.list_clusters, { page: '1000000001' }), { page: ['must be at most 1000000000'] });
  t.deepEqual(
    Object.keys(
      details(catalogue.list_clusters, {
        inserted_at__lte: '0000-01-01',
        updated_at__gte: '1969-12-31T23:59:59-14:00',
      }) ?? {},
    ),
    ['inserted_at__lte', 'updated_at__gte'],
  );
});

test('a targeting is checked whole: type, what belongs to it, and every filter', (t) => {
  const targeting = (given: unknown) => details(catalogue.create_command, { command_text: 'true', targeting: given });

  t.deepEqual(targeting({ type: 'nodes' }), { 'targeting.node_ids': ['is required when type is nodes'] });
  t.deepEqual(targeting({ type: 'all', node_ids: [SOME_ID] }), { 'targeting.node_ids': ['is only for type nodes'] });
  t.deepEqual(targeting({ type: 'clusters' }), { 'targeting.cluster_names': ['is required when type is clusters'] });
  t.deepEqual(targeting({ type: 'all', node_filters: { nope: 1, status: 'sick' }, cluster_filters: { id: 1 } }), {
    'targeting.cluster_filters.id': ['is not known'],
    'targeting.node_filters.status': ['must be one of healthy, unhealthy, unreachable'],
    'targeting.node_filters.nope': ['is not known'],
  });
  t.deepEqual(Object.keys(targeting({ type: 'some' }) ?? {}), ['targeting.type']);
  t.is(
    targeting({
      type: 'all',
      cluster_filters: { name: 'prod*', node_count__gte: 2, ipv4_range: '10.0.0.0/8' },
      node_filters: { version: '1.*', last_seen_at__gte: '2026-01-01' },
    }),
    'taken',
  );
});

test('repeated ids and names in a targeting count once', (t) => {
  const parsed = parse(catalogue.create_command, {
    command_text: 'true',
    targeting: { type: 'nodes', node_ids: [SOME_ID, SOME_ID.toUpperCase()] },
  });

  t.deepEqual(parsed.ok && parsed.value.targeting, { type: 'nodes', node_ids: [SOME_ID] });
});

test('a script is counted in bytes, and must be text that can be stored', (t) => {
  const text = (command_text: string) =>
    details(catalogue.create_command, { command_text, targeting: { type: 'all' } });

  t.is(text('é'.repeat(65_536)), 'taken');
  t.deepEqual(text('é'.repeat(65_537)), { command_text: ['must be at most 131072 bytes'] });
  t.deepEqual(text('a\u0000'), { command_text: ['must be valid Unicode without NUL characters'] });
  t.deepEqual(text('\ud800'), { command_text: ['must be valid Unicode without NUL characters'] });
  t.not(text(''), 'taken');
});

test('address ranges are networks of their own kind', (t) => {
  for (const range of ['100.64.1.0/24', '10.0.0.0/8', '192.168.4.4/30'])
    t.true(ipv4Range.safeParse(range).success, range);
  for (const range of [
    '100.64.1.1/24',
    '10.0.0.0/7',
    '10.0.0.0/31',
    '10.0.0.0',
    '300.0.0.0/8',
    'fd00::/64',
    '127.0.0.0/24',
    '0.0.0.0/8',
    '169.254.169.0/24',
    '169.0.0.0/8',
    '224.1.0.0/16',
    '255.0.0.0/8',
  ])
    t.false(ipv4Range.safeParse(range).success, range);
  for (const range of ['fd12:3456:789a:1::/64', 'fc00::/64', 'FD00:0:0:1:0:0:0:0/64'])
    t.true(ipv6Range.safeParse(range).success, range);
  for (const range of [
    'fd00::/48',
    'fd00::1/64',
    'fd00:0:0:1:1::/64',
    '2001:db8::/64',
    '::/64',
    'fd00::/129',
    '10.0.0.0/24',
  ])
    t.false(ipv6Range.safeParse(range).success, range);
});

test('a wrong path or query is a bad request and a wrong body a failed validation, on every surface', (t) => {
  const code = (operation: AnyOperation, input: unknown) => {
    const parsed = parse(operation, input);
    return parsed.ok ? null : parsed.refusal.code;
  };

  t.is(code(catalogue.get_node, { id: 'x' }), 'bad_request');
  t.is(code(catalogue.list_nodes, { nope: 1 }), 'bad_request');
  t.is(code(catalogue.delete_node, { id: 'x' }), 'bad_request');
  t.is(code(catalogue.update_cluster, { name: 'UPPER', node_limit: 0 }), 'bad_request');
  t.is(code(catalogue.update_cluster, { name: 'one', node_limit: 0 }), 'validation_failed');
  t.is(code(catalogue.create_cluster, { name: 'default' }), 'validation_failed');
  t.is(code(catalogue.check_admin_health, { nope: 1 }), 'bad_request');
});

test('no operation takes a targeting that a list withheld: it would reach more nodes than that one (C2)', (t) => {
  const valid: readonly (readonly [AnyOperation, object])[] = [
    [catalogue.create_command, { command_text: 'uptime' }],
    [catalogue.create_group, { name: 'web' }],
    [catalogue.update_group, { name: 'web' }],
    [catalogue.preview_targeting, {}],
    [catalogue.label_nodes, { set: { env: 'prod' } }],
    [catalogue.create_self_update_request, {}],
  ];
  const listed = CommandResource.shape.targeting;

  for (const [operation, rest] of valid) {
    t.is(details(operation, { ...rest, targeting: { type: 'all' } }), 'taken', operation.name);
    for (const type of Targeting.shape.type.options) {
      const withheld = listed.parse({ type, withheld: true });
      t.not(details(operation, { ...rest, targeting: withheld }), 'taken', `${operation.name} ${type}`);
    }
  }
  const named = new Set<string>(valid.map(([{ name }]) => name));
  for (const operation of Object.values(catalogue))
    if ('targeting' in (inputSchema(operation).properties ?? {})) t.true(named.has(operation.name), operation.name);
});

/** Filters that the specification names, by the list that has them. */
const SPECIFIED = [
  ['enrollment_keys', { key: 'a key', uses_remaining: '3' }],
  ['ssh_public_keys', { username: 'ada', username__in: 'ada,bob', cluster_name: 'one', cluster_name__in: 'one,two' }],
  ['command_executions', { has_cluster: 'true' }],
] as const satisfies readonly (readonly [ListName, Readonly<Record<string, string>>])[];

for (const [name, filters] of SPECIFIED)
  test(`${name} are filtered by ${Object.keys(filters).join(', ')}`, (t) => {
    const parsed = listInput(name).safeParse(filters);

    t.deepEqual(
      parsed.data?.filters.map(({ field, op }) => (op === 'eq' ? field : `${field}__${op}`)),
      Object.keys(filters),
    );
    t.false(listInput(name).safeParse({ no_such_filter: 'x' }).success);
  });
