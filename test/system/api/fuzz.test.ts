/** Hostile requests against a whole admin: whatever the API lets through, the actors and the database must take too. */
import * as fc from 'fast-check';
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { requests } from '../../support/api/hostile.ts';
import { startFleet } from './fleet.ts';
import { hangAfter, isCrowded } from '../../support/busy.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

test('no request makes a whole admin answer 5xx, or log a fault', async (t) => {
  t.timeout(hangAfter(60_000));
  const { admin, once, request, cluster } = await startFleet(t);
  const nodes = await cluster('one', 4);
  const command = await request('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } });
  const executions = await request('GET', '/command_executions');
  const alias = await request('POST', `/nodes/${nodes[0] ?? ''}/aliases`, { name: 'a' });
  const keys = await request('GET', '/enrollment_keys');
  const targeting = { type: 'clusters', cluster_names: ['one'], labels: 'env' };
  await request('PATCH', `/nodes/${nodes[0] ?? ''}/labels`, { labels: { env: 'prod', 'example.com/tier': 'db' } });
  await request('POST', '/groups', { name: 'web', targeting });
  const known = [
    'one',
    'web',
    'env',
    'example.com%2Ftier',
    ...nodes,
    ...[command.data, alias.data, ...executions.rows, ...keys.rows].map((row) => String(row['id'])),
  ];

  await fc.assert(
    fc.asyncProperty(requests(operations, fc.constantFrom(...known)), async ({ method, path, body, declared }) => {
      const { status } = await once(method, path, body);
      return (status < 500 || (status === 503 && isCrowded())) && declared.includes(status);
    }),
    { numRuns: 600 },
  );

  t.deepEqual(
    admin.log.lines.filter(({ level }) => level === 'error' || (level === 'warn' && !isCrowded())), // as of a lease that ran out
    [],
  );
});
