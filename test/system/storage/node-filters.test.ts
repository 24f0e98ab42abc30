/** What nodes are filtered by in two places: by the database for lists, and in memory for live feeds. */
import test from 'ava';
import * as fc from 'fast-check';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { versionOrder } from '../../../actors/version-order.ts';
import { matchesNode } from '../../../api/feeds/node-filter.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { openStorageFixture } from './fixture.ts';
import { filterOf } from './list-queries.ts';

test('a live feed takes the same nodes for its filters as the list does', async (t) => {
  const opened = await openedDatabase(t);
  const fixture = await openStorageFixture(opened);

  await fc.assert(
    fc.asyncProperty(fc.array(filterOf(fixture, 'nodes'), { minLength: 1, maxLength: 3 }), async (filters) => {
      const { rows } = await opened.reads.list('nodes', { filters, sort: [], page: 1, pageSize: 100 });

      t.deepEqual(
        fixture.nodes
          .filter((node) => matchesNode(node, filters))
          .map(({ id }) => id)
          .toSorted(),
        rows.map(({ id }) => id).toSorted(),
      );
    }),
    { numRuns: 500 },
  );
});

test('nodes come by their ids, page by page, whatever they are filtered by', async (t) => {
  const opened = await openedDatabase(t);
  const fixture = await openStorageFixture(opened);

  await fc.assert(
    fc.asyncProperty(
      fc.array(filterOf(fixture, 'nodes'), { maxLength: 3 }),
      fc.integer({ min: 1, max: 5 }),
      async (filters, limit) => {
        const { rows } = await opened.reads.list('nodes', { filters, sort: [], page: 1, pageSize: 100 });
        const walked: NodeResource[] = [];
        let after: string | null = null;
        do {
          const page = await opened.reads.nodesAfter(filters, after, limit);
          t.true(page.rows.length <= limit);
          walked.push(...page.rows);
          after = page.next;
        } while (after !== null);

        t.deepEqual(
          walked,
          rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
        );
      },
    ),
    { numRuns: 100 },
  );
});

test('the database orders versions as the code does', async (t) => {
  const { pool } = await openedDatabase(t);
  const part = fc.oneof(
    fc.constantFrom('0', '1', '2', '10', '01', 'rc', 'alpha', 'x-y', '', '_', 'é'),
    fc.stringMatching(/^\w{0,6}$/u),
  );
  const version = fc
    .tuple(
      fc.constantFrom('', 'v', 'V'),
      fc.array(part, { minLength: 1, maxLength: 4 }),
      fc.array(part, { maxLength: 3 }),
      fc.constantFrom('', '+b.1'),
    )
    .map(([v, release, pre, build]) => `${v}${release.join('.')}${pre.length > 0 ? `-${pre.join('.')}` : ''}${build}`);

  await fc.assert(
    fc.asyncProperty(fc.array(version, { minLength: 20, maxLength: 20 }), async (versions) => {
      const { rows } = await pool.query<{ text: string }>(
        'select version_order(v) as text from unnest($1::text[]) with ordinality as u(v, n) order by n',
        [versions],
      );

      t.deepEqual(
        rows.map(({ text }) => text),
        versions.map(versionOrder),
      );
    }),
    { numRuns: 100 },
  );
});
