/** What operators do to a node. */
import test from 'ava';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { Effect } from '../../../../actors/step.ts';
import {
  answer,
  REPLY_TO,
  CLUSTER,
  evidence,
  id,
  liveNode,
  MADE_MS,
  NODE,
  nodeRecord,
  nodeState,
  NOW_MS,
  OTHER_CLUSTER,
  PORTS,
  session,
  SETTINGS,
} from '../../../support/actors.ts';
import { VPN_ALIASES_MAX } from '../../../../transport/protocol/vpn.ts';
import { say as told } from './fixture.ts';
import { refusal, tell } from '../../../support/steps.ts';

const ALIAS = { id: id<string>('1', 1), name: 'press' };
const KEPT = { scope: 'key', key: 'k', bodyHash: 'h' };
const CHANGED = [{ type: 'node-changed', node: NODE }, { type: 'events-stored' }];

const resource = {
  id: NODE,
  name: 'bbbbbbbb',
  cluster_name: 'factory',
  status: 'healthy',
  status_since: '2026-01-15T10:00:00.000Z',
  status_reason: null,
  status_evidence: evidence(MADE_MS),
  version: '1.0.0',
  id_type: 'persistent',
  vpn_hostname: `node-${NODE}.factory.edge.test`,
  aliases: [],
  ...PORTS,
  self_update_enabled: false,
  enrollment_key_id: id('d', 1),
  facts: null,
  labels: {},
  last_seen_at: '2026-01-15T10:00:00.000Z',
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:00:00.000Z',
};

function say(message: NodeMessage, state = liveNode()) {
  return told(state, message);
}

test('an alias is stored and answered, with its answer kept for a client that asks again', (t) => {
  const step = say({ type: 'create-alias', replyTo: REPLY_TO, ...ALIAS, idempotency: KEPT });

  const alias = {
    ...ALIAS,
    node_id: NODE,
    cluster_name: 'factory',
    vpn_hostname: 'press.factory.edge.test',
    inserted_at: '2026-01-15T10:01:00.000Z',
    updated_at: '2026-01-15T10:01:00.000Z',
  };
  t.deepEqual(step.changes, [
    {
      write: { kind: 'alias-created', ...ALIAS, node: NODE, cluster: CLUSTER, atMs: NOW_MS },
      events: [],
      notices: CHANGED,
      idempotencyRecord: { ...KEPT, answer: alias },
    },
  ] as never);
  t.deepEqual(step.effects, [answer(alias)] as never);
  t.deepEqual(step.state.aliases, [ALIAS]);
});

test('a node has as many aliases as other machines are told of', (t) => {
  const aliases = Array.from({ length: VPN_ALIASES_MAX }, (_, n) => ({ id: id<string>('2', n), name: `press-${n}` }));
  const of = (count: number) =>
    say(
      { type: 'create-alias', replyTo: REPLY_TO, ...ALIAS, idempotency: null },
      liveNode([], { aliases: aliases.slice(0, count) }),
    );

  t.is(of(VPN_ALIASES_MAX - 1).changes.length, 1);
  t.deepEqual(of(VPN_ALIASES_MAX).changes, []);
  t.deepEqual(of(VPN_ALIASES_MAX).effects, [
    refusal('conflict', `The node has ${VPN_ALIASES_MAX} aliases already. Delete one first.`),
  ]);
});

test('an alias of this node is removed; another is not found', (t) => {
  const removed = say({ type: 'delete-alias', replyTo: REPLY_TO, id: ALIAS.id }, liveNode([], { aliases: [ALIAS] }));
  const missing = say({ type: 'delete-alias', replyTo: REPLY_TO, id: ALIAS.id });

  t.deepEqual(removed, {
    state: liveNode(),
    changes: [{ write: { kind: 'alias-deleted', id: ALIAS.id }, events: [], notices: CHANGED }],
    effects: [answer()],
  } as never);
  t.deepEqual(missing, {
    state: liveNode(),
    changes: [],
    effects: [refusal('not_found', 'Resource not found')],
  } as never);
});

test('a recovery key is stored as its hash and answered this once', (t) => {
  const step = say({
    type: 'set-recovery-key',
    replyTo: REPLY_TO,
    keyHash: Buffer.alloc(32, 3),
    key: 'secret',
    idempotency: null,
  });

  t.deepEqual(step.changes, [
    {
      write: { kind: 'recovery-key-set', node: NODE, cluster: CLUSTER, keyHash: Buffer.alloc(32, 3), atMs: NOW_MS },
      events: [],
      notices: [],
      idempotencyRecord: undefined,
    },
  ]);
  t.deepEqual(step.effects, [answer({ recovery_key: `${NODE}.secret` })] as never);
});

test('a recovery key is removed', (t) => {
  t.deepEqual(say({ type: 'clear-recovery-key', replyTo: REPLY_TO }), {
    state: liveNode(),
    changes: [{ write: { kind: 'recovery-key-cleared', node: NODE }, events: [], notices: [] }],
    effects: [answer()],
  } as never);
});

test('a moving node publishes its former cluster, has its agent say hello again, and restarts under the new owner', (t) => {
  const step = say({ type: 'change-cluster', replyTo: REPLY_TO, to: OTHER_CLUSTER, toName: 'harbour' });

  const {
    aliases: _aliases,
    id: _id,
    vpn_hostname: _hostname,
    enrollment_key_id: _key,
    status_since: _since,
    status_reason: _reason,
    status_evidence: _evidence,
    ...fields
  } = resource;
  const now = { last_seen_at: '2026-01-15T10:01:00.000Z', updated_at: '2026-01-15T10:01:00.000Z' };
  const data = { node_id: NODE, ...fields, cluster_name: 'harbour', ...now, previous_cluster_name: 'factory' };
  t.deepEqual(step.changes, [
    {
      write: { kind: 'node-moved', node: NODE, from: CLUSTER, to: OTHER_CLUSTER, atMs: NOW_MS },
      events: [{ type: 'edge.node.cluster_changed', subject: NODE, atMs: NOW_MS, data }],
      notices: CHANGED,
    },
  ] as never);
  t.deepEqual(step.effects, [
    { type: 'renew-session', session: session(1), cluster: OTHER_CLUSTER },
    tell('cluster', CLUSTER, { type: 'count-changed', by: -1 }),
    tell('cluster', OTHER_CLUSTER, { type: 'count-changed', by: 1 }),
    answer({ ...resource, cluster_name: 'harbour', vpn_hostname: `node-${NODE}.harbour.edge.test`, ...now }),
    { type: 'restart', live: { ...liveNode(), session: null } },
  ] as never);
});

test('a move to the cluster that it is in changes nothing', (t) => {
  t.deepEqual(say({ type: 'change-cluster', replyTo: REPLY_TO, to: CLUSTER, toName: 'factory' }), {
    state: liveNode(),
    changes: [],
    effects: [answer(resource)],
  } as never);
});

test('a node that is deleted ends its session as revoked, and is no more (E5)', (t) => {
  const step = say({ type: 'delete', replyTo: REPLY_TO });

  t.deepEqual(step.changes, [
    {
      write: { kind: 'node-deleted', node: NODE, atMs: NOW_MS },
      events: [],
      notices: [{ type: 'node-removed', node: NODE }],
    },
  ]);
  t.deepEqual(step.effects, [
    { type: 'hang-up', session: session(1), code: 4003, reason: 'the node was deleted' },
    tell('cluster', CLUSTER, { type: 'count-changed', by: -1 }),
    answer(),
    { type: 'stop' },
  ] as never);
});

test('a node with a random id that nobody hears any more is forgotten; one that is there, or keeps its id, is not', (t) => {
  const gone = nodeState({ record: nodeRecord({ status: 'unreachable', idType: 'random' }) });
  const step = say({ type: 'forget' }, gone);

  t.deepEqual(step.changes, [
    {
      write: { kind: 'node-deleted', node: NODE, isForgotten: true, atMs: NOW_MS },
      events: [],
      notices: [{ type: 'node-removed', node: NODE }],
    },
  ]);
  t.deepEqual(step.effects, [tell('cluster', CLUSTER, { type: 'count-changed', by: -1 }), { type: 'stop' }] as never);
  for (const kept of [
    liveNode(),
    nodeState({ record: nodeRecord({ status: 'unreachable', idType: 'persistent' }) }),
    nodeState({ record: nodeRecord({ status: 'healthy', idType: 'random' }) }),
  ]) {
    t.deepEqual(say({ type: 'forget' }, kept), { state: kept, changes: [], effects: [] });
  }
});

test('a node that was enrolled again ends its older session, and starts again from its rows', (t) => {
  const revoked = { type: 'revoked', reason: 'enrolled again' } as const;

  t.deepEqual(say(revoked).effects, [
    { type: 'hang-up', session: session(1), code: 4003, reason: 'enrolled again' },
    { type: 'restart', live: { ...liveNode(), session: null } },
  ] as never);
  t.deepEqual(say(revoked, nodeState({ record: nodeRecord() })).effects, [
    { type: 'restart', live: nodeState({ record: nodeRecord() }) },
  ] as never);
});

test('what a node may still cost outlives its enrolment anew, and its move; what it waited for does not', (t) => {
  const spent = { tokens: 0, atMs: NOW_MS };
  const allowances = {
    sshAllowance: { attempts: spent, refusals: spent },
    lookUps: spent,
    vpnAllowances: { tries: spent, advertisements: spent, news: spent, isNewsWaiting: false },
    factsAllowance: spent,
  };
  const before = {
    ...liveNode(),
    ...allowances,
    vpnAllowances: { ...allowances.vpnAllowances, isNewsWaiting: true },
    loading: 'asked' as const,
    reads: 1,
  };
  const rows = nodeState({ record: nodeRecord({ version: '2.0.0' }) });
  for (const message of [
    { type: 'revoked', reason: 'enrolled again' },
    { type: 'change-cluster', replyTo: REPLY_TO, to: OTHER_CLUSTER, toName: 'harbour' },
  ] as const) {
    const restart = say(message, before).effects.find(({ type }) => type === 'restart') as
      | Extract<Effect, { type: 'restart' }>
      | undefined;

    t.deepEqual(nodeBehaviour(SETTINGS).refreshed(restart?.live as NodeState, rows), { ...rows, ...allowances });
  }
});
