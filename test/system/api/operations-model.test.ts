/**
 * Random sequences of operations against a real admin, beside a model of a few lines: every status and every count must
 * agree.
 */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import type { ClusterResource } from '../../../actors/resources/cluster.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';

const fleet = sharedFleet(test, {});

interface ModelCluster {
  limit: number | null;
}
interface ModelKey {
  readonly id: string;
  readonly blob: string;
  readonly cluster: string;
  uses: number;
  isGone: boolean;
}
interface ModelNode {
  readonly id: string;
  cluster: string;
  readonly aliases: Map<string, string>;
  hasRecovery: boolean;
  isGone: boolean;
}

/** What must be there. Things that are gone stay, marked, so that operations on them are tried too. */
interface Model {
  /** Keeps the runs of one database apart. */
  readonly prefix: string;
  readonly clusters: Map<string, ModelCluster>;
  readonly keys: ModelKey[];
  readonly nodes: ModelNode[];
}

/** Clusters and aliases that the operations are about: few, so that they meet. */
const NAMES = ['one', 'two', 'three'] as const;
const ALIASES = ['a', 'b'] as const;

const name = fc.constantFrom(...NAMES);
const index = fc.nat({ max: 3 });
const limit = fc.option(fc.integer({ min: 1, max: 3 }));
const OPERATION = fc.oneof(
  fc.record({ type: fc.constant('create-cluster' as const), name, limit }),
  fc.record({ type: fc.constant('delete-cluster' as const), name }),
  fc.record({ type: fc.constant('limit' as const), name, limit }),
  fc.record({ type: fc.constant('create-key' as const), name, uses: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ type: fc.constant('delete-key' as const), index }),
  { weight: 4, arbitrary: fc.record({ type: fc.constant('enrol' as const), index }) },
  fc.record({ type: fc.constant('enrol-again' as const), key: index, index }),
  fc.record({ type: fc.constant('create-alias' as const), index, alias: fc.constantFrom(...ALIASES) }),
  fc.record({ type: fc.constant('delete-alias' as const), index, alias: fc.constantFrom(...ALIASES) }),
  { weight: 4, arbitrary: fc.record({ type: fc.constant('move' as const), index, name }) },
  fc.record({ type: fc.constant('delete-node' as const), index }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant('create-recovery' as const), index }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('delete-recovery' as const), index }) },
);
type Operation = typeof OPERATION extends fc.Arbitrary<infer T> ? T : never;

/** So that there is something to do with. */
const BEGINNING: readonly Operation[] = [
  { type: 'create-cluster', name: 'one', limit: null },
  { type: 'create-cluster', name: 'two', limit: 2 },
  { type: 'create-key', name: 'one', uses: 3 },
  { type: 'create-key', name: 'two', uses: 3 },
  { type: 'enrol', index: 0 },
  { type: 'enrol', index: 0 },
  { type: 'enrol', index: 1 },
];

test('every operation answers as the model says, and what is stored in the end is what the model has', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(OPERATION, { minLength: 40, maxLength: 80, size: 'max' }), async (operations) => {
      const model: Model = { prefix: `m${randomUUID().slice(0, 6)}`, clusters: new Map(), keys: [], nodes: [] };
      for (const operation of [...BEGINNING, ...operations]) {
        const wanted = await perform(model, operation);
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
  const model: Model = { prefix: `c${randomUUID().slice(0, 6)}`, clusters: new Map(), keys: [], nodes: [] };
  for (const cluster of NAMES) await perform(model, { type: 'create-cluster', name: cluster, limit: null });
  for (const cluster of NAMES)
    for (let times = 0; times < 2; times += 1) await perform(model, { type: 'create-key', name: cluster, uses: 3 });
  for (let times = 0; times < 12; times += 1) await perform(model, { type: 'enrol', index: times % 6 });

  const { rest } = fleet();
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
    answers.filter(({ status }) => ![200, 201, 204, 404, 409].includes(status)).map(({ text }) => text),
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

const nameOf = ({ prefix }: Model, short: string): string => `${prefix}-${short}`;
const at = <T>(things: readonly T[], position: number): T | undefined => things[position % Math.max(1, things.length)];
const countOf = (model: Model, cluster: string): number =>
  model.nodes.filter((node) => !node.isGone && node.cluster === cluster).length;
const isTaken = (model: Model, cluster: string, alias: string, but?: ModelNode): boolean =>
  model.nodes.some((node) => node !== but && !node.isGone && node.cluster === cluster && node.aliases.has(alias));

/** What this test needs of what it created. */
interface Created {
  readonly id: string;
  readonly key: string;
}

interface Said {
  readonly status: number;
  readonly text: string;
  readonly expected: number;
}

/** Does it to both. Null when there is nothing yet that it could be done to. */
async function perform(model: Model, operation: Operation): Promise<Said | null> {
  const { rest } = fleet();
  const cluster = 'name' in operation ? nameOf(model, operation.name) : '';
  const known = model.clusters.get(cluster);
  const key =
    'index' in operation
      ? at(model.keys, operation.type === 'enrol-again' ? operation.key : operation.index)
      : undefined;
  const node = 'index' in operation ? at(model.nodes, operation.index) : undefined;
  const say = async (
    method: string,
    path: string,
    expected: number,
    body?: object,
  ): Promise<Said & { data: Created }> => ({
    ...(await rest.call<Created>(method, path, body === undefined ? {} : { body })),
    expected,
  });

  switch (operation.type) {
    case 'create-cluster': {
      if (known === undefined) model.clusters.set(cluster, { limit: operation.limit });
      return say('POST', '/clusters', known === undefined ? 201 : 409, { name: cluster, node_limit: operation.limit });
    }
    case 'delete-cluster': {
      const expected = known === undefined ? 404 : countOf(model, cluster) > 0 ? 409 : 202;
      if (expected === 202) {
        model.clusters.delete(cluster);
        for (const one of model.keys) if (one.cluster === cluster) one.isGone = true;
      }
      return say('DELETE', `/clusters/${cluster}`, expected);
    }
    case 'limit': {
      const expected =
        known === undefined ? 404 : operation.limit !== null && operation.limit < countOf(model, cluster) ? 409 : 200;
      if (known !== undefined && expected === 200) known.limit = operation.limit;
      return say('PATCH', `/clusters/${cluster}`, expected, { node_limit: operation.limit });
    }
    case 'create-key': {
      const said = await say('POST', `/clusters/${cluster}/enrollment_keys`, known === undefined ? 404 : 201, {
        uses_remaining: operation.uses,
      });
      if (said.status === 201)
        model.keys.push({ id: said.data.id, blob: said.data.key, cluster, uses: operation.uses, isGone: false });
      return said;
    }
    case 'delete-key': {
      if (key === undefined) return null;
      const expected = key.isGone ? 404 : 204;
      key.isGone = true;
      return say('DELETE', `/enrollment_keys/${key.id}`, expected);
    }
    case 'enrol': {
      if (key === undefined) return null;
      const expected = key.isGone || key.uses === 0 || isFull(model, key.cluster) ? 403 : 201;
      const id = randomUUID();
      if (expected === 201) {
        key.uses -= 1;
        model.nodes.push({ id, cluster: key.cluster, aliases: new Map(), hasRecovery: false, isGone: false });
      }
      return say('POST', '/agents/enroll', expected, enrollment(key.blob, id));
    }
    case 'enrol-again': {
      if (key === undefined || node === undefined || node.isGone || key.isGone) return null;
      // A node that never connected and comes with the key that let it in is a retry; with another key it is somebody
      // else.
      const { data } = await rest.call<NodeResource>('GET', `/nodes/${node.id}`);
      return say(
        'POST',
        '/agents/enroll',
        data.enrollment_key_id === key.id && node.cluster === key.cluster ? 201 : 409,
        enrollment(key.blob, node.id),
      );
    }
    case 'create-alias': {
      if (node === undefined) return null;
      const expected = node.isGone ? 404 : isTaken(model, node.cluster, operation.alias) ? 409 : 201;
      const said = await say('POST', `/nodes/${node.id}/aliases`, expected, { name: operation.alias });
      if (said.status === 201) node.aliases.set(operation.alias, said.data.id);
      return said;
    }
    case 'delete-alias': {
      const id = node?.aliases.get(operation.alias);
      if (node === undefined || id === undefined) return null;
      node.aliases.delete(operation.alias);
      return say('DELETE', `/aliases/${id}`, node.isGone ? 404 : 204);
    }
    case 'move': {
      if (node === undefined) return null;
      const expected =
        known === undefined
          ? 422
          : node.isGone
            ? 404
            : node.cluster === cluster
              ? 200
              : isFull(model, cluster) || [...node.aliases.keys()].some((alias) => isTaken(model, cluster, alias, node))
                ? 409
                : 200;
      if (expected === 200 && node.cluster !== cluster) Object.assign(node, { cluster, hasRecovery: false });
      return say('POST', `/nodes/${node.id}/change_cluster`, expected, { cluster_name: cluster });
    }
    case 'delete-node': {
      if (node === undefined) return null;
      const expected = node.isGone ? 404 : 204;
      node.isGone = true;
      return say('DELETE', `/nodes/${node.id}`, expected);
    }
    case 'create-recovery': {
      if (node === undefined) return null;
      if (!node.isGone) node.hasRecovery = true;
      return say('POST', `/nodes/${node.id}/recovery_key`, node.isGone ? 404 : 201);
    }
    case 'delete-recovery': {
      if (node === undefined) return null;
      const expected = !node.isGone && node.hasRecovery ? 204 : 404;
      node.hasRecovery = false;
      return say('DELETE', `/nodes/${node.id}/recovery_key`, expected);
    }
    default:
      throw new Error(`no such operation: ${JSON.stringify(operation satisfies never)}`);
  }
}

function isFull(model: Model, cluster: string): boolean {
  const most = model.clusters.get(cluster)?.limit ?? null;
  return most !== null && countOf(model, cluster) >= most;
}

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
    const { status, data } = await rest.call<EnrollmentKeyResource>('GET', `/enrollment_keys/${key.id}`);
    t.deepEqual(status === 200 ? data.uses_remaining : status, key.isGone ? 404 : key.uses);
  }
}
