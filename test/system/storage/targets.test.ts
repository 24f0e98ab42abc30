import test from 'ava';
import * as fc from 'fast-check';
import { parameterName, TARGET_FILTERS, type Filter, type FilterField } from '../../../actors/filters.ts';
import type { Targeting } from '../../../actors/targeting-schema.ts';
import { naivelyMatches } from '../../support/selectors.ts';
import { modelList } from './model.ts';
import { openStoredFleet, type Fixture } from './fixture.ts';

/** Nodes that a targeting should reach: lists of the model, which know the same filters. */
function modelTargets(
  fixture: Fixture,
  { type, node_ids, cluster_names, labels, cluster_filters, node_filters }: Targeting,
): readonly string[] {
  const clusters = new Set(
    modelList(fixture, 'clusters', { filters: filters(TARGET_FILTERS.cluster_filters, cluster_filters), sort: [] }).map(
      ({ name }) => name,
    ),
  );
  return modelList(fixture, 'nodes', { filters: filters(TARGET_FILTERS.node_filters, node_filters), sort: [] })
    .filter((node) => clusters.has(node.cluster_name) && (labels === undefined || naivelyMatches(node.labels, labels)))
    .filter(
      (node) =>
        type === 'all' ||
        (type === 'nodes' ? (node_ids ?? []).includes(node.id) : (cluster_names ?? []).includes(node.cluster_name)),
    )
    .map(({ id }) => id)
    .toSorted();
}

function filters(fields: Readonly<Record<string, FilterField>>, given: Targeting['node_filters']): readonly Filter[] {
  return Object.entries(fields).flatMap(([field, { kind, ops }]) =>
    ops.flatMap((op) => {
      const value = given?.[parameterName(field, op)];
      if (value === undefined) return [];
      return [
        {
          field,
          op,
          value: kind === 'time' ? Date.parse(value as string) : typeof kind === 'object' ? [value as string] : value,
        },
      ];
    }),
  );
}

function given(fields: Readonly<Record<string, FilterField>>): fc.Arbitrary<Targeting['node_filters']> {
  const parameters = Object.entries(fields).flatMap(([field, { kind, ops }]) =>
    ops.map(
      (op) =>
        [
          parameterName(field, op),
          op === 'in' ? fc.array(value(kind), { minLength: 1, maxLength: 3 }) : value(kind),
        ] as const,
    ),
  );
  return fc.option(
    fc
      .record(Object.fromEntries(parameters), { requiredKeys: [] })
      .chain((all) => fc.subarray(Object.entries(all), { maxLength: 2 }))
      .map((some) => Object.fromEntries(some) as Targeting['node_filters']),
    { nil: undefined },
  );
}

function value(kind: FilterField['kind']): fc.Arbitrary<string | number | boolean | string[]> {
  if (typeof kind === 'object') return fc.constantFrom(...kind);
  switch (kind) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.constantFrom(0, 1, 8, 10, 12);
    case 'time':
      return fc.constantFrom('2026-01-01T00:30:00Z', '2026-01-01T01:15:00+01:00', '2025-12-31T00:00:00Z');
    case 'cidr':
      return fc.constantFrom('10.0.1.0/24', '10.9.0.0/24');
    case 'selector':
      return fc.constantFrom('env=prod', 'env!=prod,gpu', 'zone in (a,b)', '!gpu', 'constructor');
    case 'version':
      return fc.constantFrom('1.0.0', '1.2', '2.0.0-rc.1', '1.*');
    case 'text':
    case 'exact':
    case 'uuid':
      return fc.constantFrom('prod', 'prod*', '*east', '1.*', '1_0', '*');
    default:
      return kind satisfies never;
  }
}

test('a targeting reaches the nodes that its filters match, ANDed, and each once', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const some = (values: readonly string[]) => fc.array(fc.constantFrom(...values, 'no-such'), { maxLength: 4 });
  const targetings = fc.record({
    type: fc.constantFrom('all' as const, 'nodes' as const, 'clusters' as const),
    node_ids: some(fixture.nodes.map(({ id }) => id)),
    cluster_names: some(fixture.clusters.map(({ name }) => name)),
    labels: fc.option(fc.constantFrom('env=prod', 'env notin (prod,dev)', 'gpu,!zone', 'absent'), { nil: undefined }),
    cluster_filters: given(TARGET_FILTERS.cluster_filters),
    node_filters: given(TARGET_FILTERS.node_filters),
  });

  await fc.assert(
    fc.asyncProperty(targetings, async (targeting) => {
      const reached = await opened.reads.targets(targeting);

      t.deepEqual(reached.map(({ node }): string => node).toSorted(), modelTargets(fixture, targeting));
    }),
    { numRuns: 250 },
  );
});

test('a target says which cluster its node was in', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const node = fixture.nodes[0]!;

  const [named] = await opened.reads.targets({ type: 'nodes', node_ids: [node.id.toUpperCase()] });
  const filtered = await opened.reads.targets({ type: 'all', node_filters: { cluster_name: node.cluster_name } });

  t.deepEqual({ ...named }, {
    node: node.id,
    cluster: fixture.clusters.find(({ name }) => name === node.cluster_name)!.id,
    clusterName: node.cluster_name,
  } as never);
  t.deepEqual(
    filtered.find((target) => target.node === node.id),
    named,
  );
});

test('a date alone takes in its whole day', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);

  t.is(
    (
      await opened.reads.targets({
        type: 'all',
        node_filters: { inserted_at__gte: '2026-01-01', inserted_at__lte: '2026-01-01' },
      })
    ).length,
    fixture.nodes.length,
  );
  t.is((await opened.reads.targets({ type: 'all', node_filters: { inserted_at__gte: '2026-01-02' } })).length, 0);
});

test('look-ups that wait together are one query, and each gets its own answer', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  let queries = 0;
  opened.pool.on('acquire', () => {
    queries += 1;
  });

  const reached = await Promise.all(
    fixture.nodes.map(({ id }) => opened.reads.targets({ type: 'nodes', node_ids: [id, 'no-such'] })),
  );
  const tokens = await Promise.all([
    ...fixture.nodes.map(({ id }) => opened.reads.nodeByToken(Buffer.from(id))),
    opened.reads.nodeByToken(Buffer.from('unknown')),
  ]);

  t.deepEqual(
    reached.map((targets) => targets.map(({ node }): string => node)),
    fixture.nodes.map(({ id }) => [id]),
  );
  t.deepEqual(
    tokens.map((found): string | null => found?.node ?? null),
    [...fixture.nodes.map(({ id }) => id), null],
  );
  t.is(queries, 2);
});
