/** Operations on clusters, keys, nodes and aliases beside a model of a few lines. */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { settledAnswer, type Rest } from '../../support/fleet/rest.ts';

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

/** A node that was enrolled, with its aliases by name. */
export interface ModelNode {
  readonly id: string;
  cluster: string;
  readonly aliases: Map<string, string>;
  hasRecovery: boolean;
  isGone: boolean;
}

/** What must be there. Things that are gone stay, marked, so that operations on them are tried too. */
export interface Model {
  /** Keeps the runs of one database apart. */
  readonly prefix: string;
  readonly clusters: Map<string, ModelCluster>;
  readonly keys: ModelKey[];
  readonly nodes: ModelNode[];
}

/** Clusters and aliases that the operations are about: few, so that they meet. */
export const NAMES = ['one', 'two', 'three'] as const;
const ALIASES = ['a', 'b'] as const;

const name = fc.constantFrom(...NAMES);
const index = fc.nat({ max: 3 });
const limit = fc.option(fc.integer({ min: 1, max: 3 }));
/** One operation. */
export const OPERATION = fc.oneof(
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
/** The same as a value. */
export type Operation = typeof OPERATION extends fc.Arbitrary<infer T> ? T : never;

/** So that there is something to do with. */
export const BEGINNING: readonly Operation[] = [
  { type: 'create-cluster', name: 'one', limit: null },
  { type: 'create-cluster', name: 'two', limit: 2 },
  { type: 'create-key', name: 'one', uses: 3 },
  { type: 'create-key', name: 'two', uses: 3 },
  { type: 'enrol', index: 0 },
  { type: 'enrol', index: 0 },
  { type: 'enrol', index: 1 },
];

/** Nothing yet. */
export function emptyModel(letter: string): Model {
  return { prefix: `${letter}${randomUUID().slice(0, 6)}`, clusters: new Map(), keys: [], nodes: [] };
}

/** The name of a cluster in its database. */
export const nameOf = ({ prefix }: Model, short: string): string => `${prefix}-${short}`;
const at = <T>(things: readonly T[], position: number): T | undefined => things[position % Math.max(1, things.length)];
/** Nodes of a cluster. */
export const countOf = (model: Model, cluster: string): number =>
  model.nodes.filter((node) => !node.isGone && node.cluster === cluster).length;
const isTaken = (model: Model, cluster: string, alias: string, but?: ModelNode): boolean =>
  model.nodes.some((node) => node !== but && !node.isGone && node.cluster === cluster && node.aliases.has(alias));

/** What this test needs of what it created. */
interface Created {
  readonly id: string;
  readonly key: string;
}

/** What the admin answered, and what it should have. */
export interface Exchange {
  readonly status: number;
  readonly text: string;
  readonly expected: number;
}

/** Does it to both. Null when there is nothing yet that it could be done to. */
export async function perform(rest: Rest, model: Model, operation: Operation): Promise<Exchange | null> {
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
  ): Promise<Exchange & { data: Created }> => ({
    ...(await settledAnswer(() => rest.call<Created>(method, path, body === undefined ? {} : { body }))),
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
      const data = await rest.get<NodeResource>(`/nodes/${node.id}`);
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
