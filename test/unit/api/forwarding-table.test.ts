/** Who does what when it is asked elsewhere: every mutation stands in exactly one group. */
import test from 'ava';
import { catalogue, type OperationName } from '../../../api/catalogue.ts';
import type { AfterLoss } from '../../../api/forwarding/forwarded-part.ts';
import type { AnyOperation } from '../../../api/operation.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

/**
 * A mutation is put here by whoever adds it: docs/adding-an-operation.md. `anywhere` are those of which every admin can
 * do all that there is to do.
 */
const GROUPS: Readonly<Record<'node' | 'cluster' | 'webhooks' | 'anywhere', readonly OperationName[]>> = {
  node: [
    'delete_node',
    'change_node_cluster',
    'set_node_labels',
    'remove_node_label',
    'create_node_recovery_key',
    'delete_node_recovery_key',
    'create_alias',
    'delete_alias',
    'cancel_command_execution',
    'create_ssh_username',
    'delete_ssh_username',
    'create_ssh_public_key',
    'delete_ssh_public_key',
  ],
  cluster: [
    'update_cluster',
    'delete_cluster',
    'create_enrollment_key',
    'create_public_enrollment_key',
    'update_enrollment_key',
    'delete_enrollment_key',
  ],
  webhooks: ['delete_webhook', 'redeliver_webhook_delivery'],
  anywhere: [
    'create_cluster',
    'label_nodes',
    'create_group',
    'update_group',
    'delete_group',
    'create_command',
    'cancel_command',
    'delete_command',
    'delete_command_execution',
    'delete_ssh_recording',
    'delete_console_session',
    'create_self_update_request',
    'delete_self_update_request',
    'create_webhook',
    'publish_test_event',
    'drain_admin',
    'resume_admin',
    'publish_release_metadata',
    'delete_release',
  ],
};

test('every mutation stands in exactly one group', (t) => {
  const mutations = operations.filter(({ kind }) => kind === 'mutation').map(({ name }) => name);

  t.deepEqual(Object.values(GROUPS).flat().toSorted(), mutations.toSorted() as OperationName[]);
});

test('those of a group say whom they need, and those of anywhere nobody', async (t) => {
  for (const [group, names] of Object.entries(GROUPS))
    for (const name of names) {
      const operation: AnyOperation = catalogue[name];
      t.is((await operation.ownedBy?.(INPUT, PORTS))?.kind ?? 'anywhere', group, name);
    }
});

/**
 * Done again at the next owner where its answer was lost: each sets what its input says, or ends one thing for good.
 * Who adds one says here that a second time changes nothing, also where others did something else in between.
 */
const REPEATED: readonly OperationName[] = [
  'update_cluster', // node_limit
  'change_node_cluster', // the cluster; where it is in there already, nothing is changed
  'set_node_labels',
  'remove_node_label',
  'cancel_command_execution', // an execution ends once
];

/** Not done again, and nobody knows: it sends something, or sets what counts down meanwhile. */
const IN_DOUBT: readonly OperationName[] = ['update_enrollment_key', 'redeliver_webhook_delivery'];

test('what needs an owner says what becomes of an answer that was lost', (t) => {
  const forwarded = operations.filter((operation) => operation.ownedBy !== undefined);
  const named = (after: AfterLoss | null): readonly string[] =>
    forwarded.filter(({ kind, afterLoss }) => kind === 'mutation' && afterLoss === after).map(({ name }) => name);

  t.deepEqual(named('again').toSorted(), REPEATED.toSorted());
  t.deepEqual(named(null).toSorted(), IN_DOUBT.toSorted());
  t.deepEqual(
    forwarded.filter(({ creates, afterLoss }) => creates !== (afterLoss === 'record')).map(({ name }) => name),
    [],
  );
});

test('what deletes needs nobody where it is not there; a node is looked for with its owner', async (t) => {
  const deleting = operations.filter(
    (operation) => operation.afterLoss === 'missing' && operation.ownedBy !== undefined,
  );

  const owned = await Promise.all(
    deleting.map(async (one) => [one.name, (await one.ownedBy?.(INPUT, PORTS_OF_NOTHING)) ?? null]),
  );

  t.deepEqual(
    owned.filter(([, owner]) => owner !== null),
    [['delete_node', { kind: 'node', id: ID }]],
  );
  t.true(deleting.length > 5);
});

/** Whatever an operation names is found. */
const ID = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';
const INPUT = { id: ID, node_id: ID, name: 'demo', cluster_name: 'demo' } as never;
const PORTS = {
  settings: { defaultClusterName: 'demo' },
  reads: {
    clusterId: async () => Promise.resolve(ID),
    aliasNode: async () => Promise.resolve(ID),
    recoveryKeyNode: async () => Promise.resolve(ID),
    sshUsernameNode: async () => Promise.resolve(ID),
    sshPublicKeyNode: async () => Promise.resolve(ID),
    executionNode: async () => Promise.resolve({ node: ID, status: 'sent' }),
    enrollmentKey: async () => Promise.resolve({ cluster: ID }),
    get: async () => Promise.resolve({ id: ID }),
  },
} as never;

/** Nothing is. */
const PORTS_OF_NOTHING = {
  settings: { defaultClusterName: 'demo' },
  reads: new Proxy({}, { get: () => async () => Promise.resolve(null) }),
} as never;
