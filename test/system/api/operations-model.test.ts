/**
 * Random sequences of operations against a real admin, beside a model of a few lines: every status and every count must
 * agree.
 */
import * as fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import type { ClusterResource } from '../../../actors/resources/cluster.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { isCrowded } from '../../support/busy.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import {
  BEGINNING,
  countOf,
  emptyModel,
  nameOf,
  NAMES,
  OPERATION,
  perform,
  type Model,
  type ModelNode,
} from './operations-model.ts';
import { column } from '../../support/database/columns.ts';

const fleet = sharedFleet(test, {});

test('every operation answers as the model says, and what is stored in the end is what the model has', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(OPERATION, { minLength: 40, maxLength: 80, size: 'max' }), async (operations) => {
      const model = emptyModel('m');
      for (const operation of [...BEGINNING, ...operations]) {
        const wanted = await perform(fleet().rest, model, operation);
        // Whoever failed to enrol too often is told so instead; what may enrol is never hindered.
        if (wanted !== null)
          t.is(
            wanted.status === 429 && wanted.expected >= 400 ? wanted.expected : wanted.status,
            wanted.expected,
            `${JSON.stringify(operation)}: ${wanted.text}`,
          );
      }
      await compare(t, model);
    }),
    { numRuns: 10 },
  );
});

test('operations that collide never fail: each takes place whole or is refused', async (t) => {
  const model = emptyModel('c');
  const { rest } = fleet();
  for (const cluster of NAMES) await perform(rest, model, { type: 'create-cluster', name: cluster, limit: null });
  for (const cluster of NAMES)
    for (let times = 0; times < 2; times += 1)
      await perform(rest, model, { type: 'create-key', name: cluster, uses: 3 });
  for (let times = 0; times < 12; times += 1) await perform(rest, model, { type: 'enrol', index: times % 6 });

  const collide = (nodes: readonly ModelNode[]) =>
    Promise.all([
      ...nodes.flatMap(({ id }) =>
        NAMES.map((cluster) =>
          rest.call('POST', `/nodes/${id}/change_cluster`, { body: { cluster_name: nameOf(model, cluster) } }),
        ),
      ),
      ...nodes.map(({ id }, place) =>
        rest.call('POST', `/nodes/${id}/aliases`, { body: { name: `alias-${place % 3}` } }),
      ),
      ...nodes.slice(0, 1).map(({ id }) => rest.call('DELETE', `/nodes/${id}`)),
    ]);
  // Four nodes at a time: moves of one cluster wait for each other, and no answer may take longer than its promise.
  const answers = [];
  for (let from = 0; from < model.nodes.length; from += 4)
    answers.push(...(await collide(model.nodes.slice(from, from + 4))));

  t.deepEqual(
    column(
      answers.filter(({ status }) => ![200, 201, 204, 404, 409, ...(isCrowded() ? [503] : [])].includes(status)),
      'text',
    ),
    [],
  );
  const counts = await fleet().sql<{ name: string; stored: number; counted: number }>(
    `select c.name, c.node_count as stored, (select count(*)::int from node n where n.cluster_id = c.id) as counted from cluster c`,
  );
  t.deepEqual(
    counts.filter(({ stored, counted }) => stored !== counted),
    [],
  );
  t.deepEqual(
    await fleet().sql('select a.id from alias a join node n on n.id = a.node_id where a.cluster_id <> n.cluster_id'),
    [],
  );
});

/** What the lists say at the end. */
async function compare(t: ExecutionContext, model: Model): Promise<void> {
  const { rest } = fleet();
  const clusters = await rest.get<readonly ClusterResource[]>(
    `/clusters?name=${model.prefix}*&page_size=100&sort=name`,
  );
  t.deepEqual(
    clusters.map((one) => [one.name, one.node_limit, one.node_count]),
    [...model.clusters]
      .map(([cluster, one]) => [cluster, one.limit, countOf(model, cluster)])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
  const nodes = await rest.get<readonly NodeResource[]>(`/nodes?cluster_name=${model.prefix}*&page_size=100`);
  const live = model.nodes.filter((node) => !node.isGone);
  t.is(nodes.length, live.length);
  for (const node of live) {
    const stored = nodes.find(({ id }) => id === node.id);
    t.is(stored?.cluster_name, node.cluster);
    t.deepEqual(stored?.aliases.map((alias) => alias.name).toSorted(), [...node.aliases.keys()].toSorted());
  }
  for (const key of model.keys) {
    const { status, data } = await settledAnswer(() =>
      rest.call<EnrollmentKeyResource>('GET', `/enrollment_keys/${key.id}`),
    );
    t.deepEqual(status === 200 ? data.uses_remaining : status, key.isGone ? 404 : key.uses);
  }
}
