/**
 * Random sequences of what changes labels and groups against a real admin, beside a model of a few lines: whom a
 * selector or a group means must agree after each of them, in lists, in previews, and in what a command reaches.
 */
import * as fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { TargetingPreviewResource } from '../../../actors/resources/group.ts';
import type { LabelledNodesResource } from '../../../actors/resources/labelled-nodes.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Labels } from '../../../transport/protocol/labels.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { LABEL_KEYS, labelSets, naivelyMatches, selectors } from '../../support/selectors.ts';
import { CLUSTER } from '../../support/fleet.ts';
import { settledAnswer, type Sent } from '../../support/fleet/rest.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';

const fleet = sharedFleet(test, {});

/** Labels of each node, and the selector of each group. */
interface Model {
  readonly nodes: Map<string, Labels>;
  readonly groups: Map<string, string>;
}

const GROUPS = ['web', 'lab'] as const;
const index = fc.nat({ max: 7 });
const some = labelSets().filter((labels) => Object.keys(labels).length > 0);
const group = fc.constantFrom(...GROUPS);
const OPERATION = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('set' as const), index, labels: some }) },
  fc.record({ type: fc.constant('remove' as const), index, key: fc.constantFrom(...LABEL_KEYS) }),
  fc.record({ type: fc.constant('enrol' as const), ofMachine: labelSets(), ofKey: labelSets() }),
  fc.record({
    type: fc.constant('label-all' as const),
    selector: selectors(),
    set: labelSets(),
    remove: fc.subarray([...LABEL_KEYS]),
  }),
  fc.record({ type: fc.constant('save' as const), group, selector: selectors() }),
  fc.record({ type: fc.constant('forget' as const), group }),
  fc.record({ type: fc.constant('use' as const), group, selector: fc.option(selectors()) }),
);
type Operation = typeof OPERATION extends fc.Arbitrary<infer T> ? T : never;

test('whom a selector or a group means is what a naive reading of all labels says, whatever happened before', async (t) => {
  const model: Model = { nodes: new Map(), groups: new Map() };
  for (let count = 0; count < 6; count += 1) await perform(t, model, { type: 'enrol', ofMachine: {}, ofKey: {} });

  await fc.assert(
    fc.asyncProperty(
      fc.array(OPERATION, { minLength: 8, maxLength: 20 }),
      selectors(),
      async (operations, selector) => {
        for (const operation of operations) await perform(t, model, operation);
        await compare(t, model, selector);
      },
    ),
    { numRuns: 25 },
  );
});

/** What the admin answers; asked again where it cannot do it right now, as when its lease ran out on a busy machine. */
function call<T = Record<string, unknown>>(method: string, path: string, sent: Sent = {}) {
  return settledAnswer(() => fleet().rest.call<T>(method, path, sent));
}

/** Does it to both. */
async function perform(t: ExecutionContext, model: Model, operation: Operation): Promise<void> {
  const node = 'index' in operation ? [...model.nodes.keys()][operation.index % model.nodes.size] : undefined;
  const labels = model.nodes.get(node ?? '') ?? {};
  switch (operation.type) {
    case 'enrol': {
      if (model.nodes.size > 30) return;
      const made = await fleet().key({ labels: operation.ofKey });
      const body = { ...enrollment(made.key), labels: operation.ofMachine };
      t.is((await call('POST', '/agents/enroll', { body })).status, 201);
      model.nodes.set(body.node_id, { ...operation.ofMachine, ...operation.ofKey });
      return;
    }
    case 'set': {
      const answer = await call<NodeResource>('PATCH', `/nodes/${node}/labels`, {
        body: { labels: operation.labels },
      });
      model.nodes.set(node ?? '', { ...labels, ...operation.labels });
      t.deepEqual([answer.status, answer.data.labels], [200, model.nodes.get(node ?? '')]);
      return;
    }
    case 'remove': {
      const { status } = await call('DELETE', `/nodes/${node}/labels/${encodeURIComponent(operation.key)}`);
      t.is(status, Object.hasOwn(labels, operation.key) ? 204 : 404);
      model.nodes.set(node ?? '', without(labels, [operation.key]));
      return;
    }
    case 'label-all':
      return labelAll(t, model, operation);
    case 'save': {
      const isThere = model.groups.has(operation.group);
      const targeting = { type: 'clusters', cluster_names: [CLUSTER], labels: operation.selector };
      const { status } = isThere
        ? await call('PATCH', `/groups/${operation.group}`, { body: { targeting } })
        : await call('POST', '/groups', { body: { name: operation.group, targeting } });
      t.is(status, isThere ? 200 : 201);
      model.groups.set(operation.group, operation.selector);
      return;
    }
    case 'forget': {
      const { status } = await call('DELETE', `/groups/${operation.group}`);
      t.is(status, model.groups.delete(operation.group) ? 204 : 404);
      return;
    }
    case 'use':
      return use(t, model, operation);
    default:
      throw new Error(`no such operation: ${JSON.stringify(operation satisfies never)}`);
  }
}

async function labelAll(
  t: ExecutionContext,
  model: Model,
  { selector, set, remove }: Extract<Operation, { type: 'label-all' }>,
): Promise<void> {
  const targeting = { type: 'clusters', cluster_names: [CLUSTER], labels: selector };
  const given = {
    ...(Object.keys(set).length > 0 && { set }),
    ...(remove.length > 0 && { remove }),
  };
  const { status, data } = await call<LabelledNodesResource>('POST', '/nodes/labels', {
    body: { targeting, ...given },
  });
  if (Object.keys(given).length === 0) return void t.is(status, 422);
  const meant = [...model.nodes].filter(([, labels]) => naivelyMatches(labels, selector));
  for (const [id, labels] of meant) model.nodes.set(id, { ...without(labels, remove), ...set });
  t.deepEqual(
    [status, data],
    [200, { node_count: meant.length, labelled_count: meant.length, failed_count: 0, failed: [] }],
  );
}

/** A preview and a command reach the same nodes. */
async function use(
  t: ExecutionContext,
  model: Model,
  { group: name, selector }: Extract<Operation, { type: 'use' }>,
): Promise<void> {
  const targeting = { type: 'group', group: name, ...(selector !== null && { labels: selector }) };
  const preview = await call<TargetingPreviewResource>('POST', '/targeting/preview', { body: { targeting } });
  const command = await call<CommandResource>('POST', '/commands', { body: { command_text: 'true', targeting } });
  const saved = model.groups.get(name);
  if (saved === undefined) {
    const wanted = { 'targeting.group': [`there is no group ${name}`] };
    t.deepEqual([preview.status, preview.error?.details], [422, wanted]);
    t.deepEqual([command.status, command.error?.details], [422, wanted]);
    return;
  }
  const meant = [...model.nodes].filter(
    ([, labels]) => naivelyMatches(labels, saved) && (selector === null || naivelyMatches(labels, selector)),
  );
  t.is(preview.data.node_count, meant.length);
  t.deepEqual(preview.data.nodes.map(({ id }) => id).toSorted(), meant.map(([id]) => id).toSorted());
  t.deepEqual([command.status, command.data.summary.total], [201, meant.length]);
}

/** What the lists say. */
async function compare(t: ExecutionContext, model: Model, selector: string): Promise<void> {
  const { rest } = fleet();
  const nodes = await rest.get<readonly NodeResource[]>('/nodes?page_size=100');
  t.deepEqual(Object.fromEntries(nodes.map(({ id, labels }) => [id, labels])), Object.fromEntries(model.nodes));
  const found = await rest.get<readonly NodeResource[]>(`/nodes?page_size=100&labels=${encodeURIComponent(selector)}`);
  t.deepEqual(
    found.map(({ id }) => id).toSorted(),
    [...model.nodes].flatMap(([id, labels]) => (naivelyMatches(labels, selector) ? [id] : [])).toSorted(),
  );
}

function without(labels: Labels, keys: readonly string[]): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !keys.includes(key)));
}
