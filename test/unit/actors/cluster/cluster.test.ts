/** The behaviour of a cluster: its limit and its keys. Enrolment has a file of its own. */
import test from 'ava';
import { NO_VPN } from '../../../../actors/cluster/state.ts';
import type { ClusterMessage } from '../../../../actors/cluster/messages.ts';
import { clusterBehaviour } from '../../../../actors/cluster/transition.ts';
import { answer, REPLY_TO, CLUSTER, clusterRecord, id, keyRecord, NOW_MS, SETTINGS } from '../../../support/actors.ts';
import { writesOf } from '../../../support/steps.ts';

const behaviour = clusterBehaviour(SETTINGS);
const KEPT = { scope: 'key', key: 'k', bodyHash: 'h' };
const NEW = { ipv4Range: '100.64.0.0/24', ipv6Range: 'fd00::/64' };

const resource = {
  id: CLUSTER,
  name: 'factory',
  network_name: 'cluster-factory',
  vpn_domain: 'factory.edge.test',
  ipv4_range: '100.64.0.0/24',
  ipv6_range: 'fd00::/64',
  node_limit: null,
  node_count: 0,
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:00:00.000Z',
};
const key = {
  id: id<string>('d', 1),
  cluster_name: 'factory',
  name: 'line 3',
  key: 'blob',
  expired_at: null,
  uses_remaining: 5,
  last_used_at: null,
  labels: {},
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:00:00.000Z',
};

function say(message: ClusterMessage, record: ReturnType<typeof clusterRecord> | null = clusterRecord()) {
  return behaviour.transition({ id: CLUSTER, record, vpn: NO_VPN }, message, NOW_MS);
}

function refusedWith(step: ReturnType<typeof say>): (string | undefined)[] {
  return step.effects.flatMap((effect) =>
    effect.type === 'answer' && !effect.result.ok ? [effect.result.refusal.code] : [],
  );
}

test('a cluster is created with its ranges, and its answer is kept for a client that asks again', (t) => {
  const step = say(
    { type: 'create', replyTo: REPLY_TO, id: CLUSTER, name: 'factory', ...NEW, nodeLimit: null, idempotency: KEPT },
    null,
  );

  const made = { ...resource, inserted_at: '2026-01-15T10:01:00.000Z', updated_at: '2026-01-15T10:01:00.000Z' };
  t.deepEqual(step.changes, [
    {
      write: { kind: 'cluster-created', id: CLUSTER, name: 'factory', ...NEW, nodeLimit: null, atMs: NOW_MS },
      events: [],
      notices: [],
      idempotencyRecord: { ...KEPT, answer: made },
    },
  ]);
  t.deepEqual(step.effects, [answer(made)]);
});

test('a cluster is created once', (t) => {
  const step = say({
    type: 'create',
    replyTo: REPLY_TO,
    id: CLUSTER,
    name: 'factory',
    ...NEW,
    nodeLimit: null,
    idempotency: null,
  });

  t.deepEqual([step.changes, refusedWith(step)], [[], ['conflict']]);
});

test('a cluster that is not stored refuses whatever else is asked of it, and is no more', (t) => {
  const step = say({ type: 'limit', replyTo: REPLY_TO, nodeLimit: 1 }, null);

  t.deepEqual([step.changes, refusedWith(step), step.effects.at(-1)], [[], ['not_found'], { type: 'stop' }]);
  t.deepEqual(say({ type: 'count-changed', by: 1 }, null).effects, [{ type: 'stop' }]);
});

test('a limit is stored and answered; whether there are more nodes is for the rows to say', (t) => {
  const step = say({ type: 'limit', replyTo: REPLY_TO, nodeLimit: 2 }, clusterRecord({ nodeCount: 9 }));

  t.deepEqual(writesOf(step), [{ kind: 'cluster-limited', cluster: CLUSTER, nodeLimit: 2, atMs: NOW_MS }]);
  t.deepEqual(step.effects, [
    answer({ ...resource, node_limit: 2, node_count: 9, updated_at: '2026-01-15T10:01:00.000Z' }),
  ]);
});

test('a cluster is deleted and is no more', (t) => {
  const step = say({ type: 'delete', replyTo: REPLY_TO });

  t.deepEqual(writesOf(step), [{ kind: 'cluster-deleted', cluster: CLUSTER }]);
  t.deepEqual(step.effects, [answer(), { type: 'stop' }]);
});

test('a key is stored as hash and sealed, and answered with its text', (t) => {
  const step = say({
    type: 'create-key',
    replyTo: REPLY_TO,
    id: id('d', 1),
    name: 'line 3',
    key: 'blob',
    nonceHash: Buffer.alloc(32),
    sealedKey: 'sealed',
    expiredAtMs: null,
    usesRemaining: 5,
    labels: {},
    idempotency: KEPT,
  });

  const made = { ...key, inserted_at: '2026-01-15T10:01:00.000Z', updated_at: '2026-01-15T10:01:00.000Z' };
  t.deepEqual(step.changes, [
    {
      write: {
        kind: 'key-created',
        id: id('d', 1),
        cluster: CLUSTER,
        name: 'line 3',
        nonceHash: Buffer.alloc(32),
        sealedKey: 'sealed',
        expiredAtMs: null,
        usesRemaining: 5,
        labels: {},
        atMs: NOW_MS,
      },
      events: [],
      notices: [],
      idempotencyRecord: { ...KEPT, answer: made },
    },
  ]);
  t.deepEqual(step.effects, [answer(made)]);
});

test('of a key only what was given is changed, also to null', (t) => {
  const step = say({
    type: 'update-key',
    replyTo: REPLY_TO,
    key: keyRecord(),
    blob: 'blob',
    name: null,
    usesRemaining: null,
  });

  t.deepEqual(writesOf(step), [{ kind: 'key-updated', id: id('d', 1), name: null, usesRemaining: null, atMs: NOW_MS }]);
  t.deepEqual(step.effects, [
    answer({ ...key, name: null, uses_remaining: null, updated_at: '2026-01-15T10:01:00.000Z' }),
  ]);
});

test('a key is deleted', (t) => {
  const step = say({ type: 'delete-key', replyTo: REPLY_TO, id: id('d', 1) });

  t.deepEqual([writesOf(step), step.effects], [[{ kind: 'key-deleted', id: id('d', 1) }], [answer()]]);
});

test('nodes that leave or come are counted', (t) => {
  t.is(say({ type: 'count-changed', by: -1 }, clusterRecord({ nodeCount: 4 })).state.record?.nodeCount, 3);
});
