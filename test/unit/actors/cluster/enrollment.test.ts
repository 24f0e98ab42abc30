/** Who joins a cluster with which key. What the rows decide is tested with the committer. */
import test from 'ava';
import { NO_VPN } from '../../../../actors/cluster/state.ts';
import type { ClusterMessage } from '../../../../actors/cluster/messages.ts';
import { clusterBehaviour } from '../../../../actors/cluster/transition.ts';
import {
  REPLY_TO,
  CLUSTER,
  clusterRecord,
  id,
  keyRecord,
  MADE_MS,
  NODE,
  nodeRecord,
  NOW_MS,
  PORTS,
  SETTINGS,
} from '../../../support/actors.ts';

const behaviour = clusterBehaviour(SETTINGS);
type Enroll = Extract<ClusterMessage, { type: 'enroll' }>;

const CREDENTIALS = {
  apiToken: 'canary-token',
  tokenHash: Buffer.alloc(32, 1),
  proxyPassword: 'canary-password',
  sealedProxyPassword: 'sealed',
};
const RECOVERY = Buffer.alloc(32, 2);

function enroll(more: Partial<Enroll> = {}, record = clusterRecord({ nodeCount: 2 })) {
  const message: Enroll = {
    type: 'enroll',
    replyTo: REPLY_TO,
    key: keyRecord(),
    existing: null,
    recoveryKeyHash: null,
    machineSecretHash: null,
    credentials: CREDENTIALS,
    aliasIds: [id('1', 1)],
    request: {
      enrollment_key: 'canary-key',
      node_id: NODE,
      id_type: 'persistent',
      version: '1.0.0',
      ports: PORTS,
      self_update_enabled: true,
      aliases: ['press'],
    },
    ...more,
  };
  return behaviour.transition({ id: CLUSTER, record, vpn: NO_VPN }, message, NOW_MS);
}

const write = {
  kind: 'node-enrolled',
  node: NODE,
  cluster: CLUSTER,
  enrollmentKey: id('d', 1),
  spendsUse: true,
  existing: { type: 'none' },
  machineSecretHash: null,
  tokenHash: CREDENTIALS.tokenHash,
  sealedProxyPassword: 'sealed',
  version: '1.0.0',
  idType: 'persistent',
  ports: PORTS,
  selfUpdateEnabled: true,
  wireguardPublicKey: null,
  aliases: [{ id: id('1', 1), name: 'press' }],
  atMs: NOW_MS,
};
const verified = {
  enrollment_key_id: id('d', 1),
  cluster_name: 'factory',
  name: 'line 3',
  uses_remaining: 4,
  result: 'verified',
  verified_at: '2026-01-15T10:01:00.000Z',
};
const snapshot = {
  node_id: NODE,
  cluster_name: 'factory',
  status: 'unreachable',
  version: '1.0.0',
  id_type: 'persistent',
  ...PORTS,
  self_update_enabled: true,
  last_seen_at: null,
  inserted_at: '2026-01-15T10:01:00.000Z',
  updated_at: '2026-01-15T10:01:00.000Z',
};
const welcome = {
  type: 'answer',
  to: REPLY_TO,
  result: {
    ok: true,
    value: {
      node_id: NODE,
      api_token: 'canary-token',
      proxy_password: 'canary-password',
      cluster_name: 'factory',
      admin_urls: SETTINGS.agent.admin_urls,
      settings: SETTINGS.agent,
    },
  },
};

test('a new node spends a use, is told of, lives at once, and gets its secrets', (t) => {
  const step = enroll();

  t.deepEqual(step.changes, [
    {
      write,
      events: [
        { type: 'edge.enrollment_key.verified', subject: id('d', 1), atMs: NOW_MS, data: verified },
        { type: 'edge.node.registered', subject: NODE, atMs: NOW_MS, data: snapshot },
      ],
      notices: [{ type: 'node-changed', node: NODE }, { type: 'events-stored' }],
    },
  ] as never);
  t.deepEqual(step.effects, [{ type: 'revive', address: { kind: 'node', id: NODE } }, welcome] as never);
  t.is(step.state.record?.nodeCount, 3);
});

test('an unlimited key stays unlimited, and an unnamed one says null', (t) => {
  const [change] = enroll({ key: keyRecord({ name: null, usesRemaining: null }) }).changes;

  t.deepEqual(change?.events[0]?.data, { ...verified, name: null, uses_remaining: null });
});

test('a node whose answer was lost gets new secrets for the same key, spends nothing and is not registered again', (t) => {
  const step = enroll({
    existing: { node: nodeRecord({ lastSeenAtMs: null }), everConnected: false, machineSecretHash: null },
    key: keyRecord({ usesRemaining: 0, expiredAtMs: MADE_MS }),
  });

  t.deepEqual(step.changes, [
    {
      write: { ...write, spendsUse: false, existing: { type: 'retry', machineSecretHash: null } },
      events: [
        {
          type: 'edge.enrollment_key.verified',
          subject: id('d', 1),
          atMs: NOW_MS,
          data: { ...verified, uses_remaining: 0 },
        },
      ],
      notices: [{ type: 'node-changed', node: NODE }, { type: 'node-revoked', node: NODE }, { type: 'events-stored' }],
    },
  ] as never);
  t.deepEqual(step.effects, [
    {
      type: 'tell',
      told: { to: { kind: 'node', id: NODE }, message: { type: 'revoked', reason: 'the node was enrolled again' } },
    },
    welcome,
  ] as never);
  t.is(step.state.record?.nodeCount, 2);
});

const MACHINE = Buffer.alloc(32, 3);

test('the machine that enrolled it asks again, by whatever key and however often, and spends nothing: its secret shows that it is the same', (t) => {
  const spent = keyRecord({ id: id('d', 9), usesRemaining: 0, expiredAtMs: MADE_MS });
  for (const more of [{ recoveryKeyHash: null }, { recoveryKeyHash: RECOVERY }]) {
    const step = enroll({
      ...more,
      key: spent,
      machineSecretHash: Buffer.from(MACHINE),
      existing: { node: nodeRecord(), everConnected: true, machineSecretHash: MACHINE },
    });

    t.like(step.changes[0]?.write, {
      spendsUse: false,
      existing: { type: 'retry', machineSecretHash: MACHINE },
      machineSecretHash: MACHINE,
    } as never);
    t.deepEqual(step.effects.at(-1), welcome as never);
    t.deepEqual(
      step.changes[0]?.events.map(({ type }) => type),
      ['edge.enrollment_key.verified', 'edge.node.reregistered'],
    );
  }
  const newer = enroll({
    machineSecretHash: MACHINE,
    existing: { node: { ...nodeRecord(), version: '0.0.1' }, everConnected: true, machineSecretHash: MACHINE },
  });
  t.deepEqual(
    newer.changes[0]?.events.map(({ type }) => type),
    ['edge.enrollment_key.verified', 'edge.node.reregistered', 'edge.node.version_changed'],
  );
});

test('somebody who knows the key and the id, and not the secret of the machine, is turned away before the first connection as after it', (t) => {
  for (const machineSecretHash of [null, Buffer.alloc(32, 4), Buffer.alloc(31, 3)]) {
    for (const everConnected of [false, true]) {
      const step = enroll({
        machineSecretHash,
        existing: { node: nodeRecord(), everConnected, machineSecretHash: MACHINE },
      });

      t.deepEqual(step.changes, []);
      t.like(step.effects[0], { type: 'answer', result: { ok: false, refusal: { code: 'conflict' } } });
    }
  }
});

test('a recovery key that fits no node makes no new one', (t) => {
  const step = enroll({ recoveryKeyHash: RECOVERY });

  t.deepEqual(step.changes, []);
  t.deepEqual(step.effects, [
    {
      type: 'answer',
      to: REPLY_TO,
      result: { ok: false, refusal: { code: 'conflict', message: 'The recovery key fits no node.' } },
    },
  ] as never);
});

test('a recovery spends a use, keeps what the node was, ends its older session, and tells of a new version', (t) => {
  const step = enroll({
    recoveryKeyHash: RECOVERY,
    existing: {
      node: nodeRecord({ version: '0.9.0', status: 'healthy' }),
      everConnected: true,
      machineSecretHash: null,
    },
  });

  const data = {
    ...snapshot,
    status: 'healthy',
    last_seen_at: '2026-01-15T10:00:00.000Z',
    inserted_at: '2026-01-15T10:00:00.000Z',
  };
  t.deepEqual(
    step.changes.map((change) => change.write),
    [{ ...write, existing: { type: 'recovery', keyHash: RECOVERY } }] as never,
  );
  t.deepEqual(
    step.changes[0]?.events.map((event) => [event.type, event.data]),
    [
      ['edge.enrollment_key.verified', verified],
      ['edge.node.reregistered', data],
      ['edge.node.version_changed', { ...data, previous_version: '0.9.0' }],
    ] as never,
  );
  // tunnels of the credential that is no more end also where no session is left
  t.true(step.changes[0]?.notices.some((notice) => notice.type === 'node-revoked'));
  t.is(step.effects[0]?.type, 'tell');
});

test('a recovery is judged by the rows, recovery key first: a key that is spent or over makes no other answer of it (E2)', (t) => {
  for (const more of [{ usesRemaining: 0 }, { expiredAtMs: MADE_MS }]) {
    const step = enroll({
      key: keyRecord(more),
      recoveryKeyHash: RECOVERY,
      existing: { node: nodeRecord(), everConnected: true, machineSecretHash: MACHINE },
      machineSecretHash: Buffer.alloc(32, 4),
    });

    t.like(step.changes[0]?.write, {
      kind: 'node-enrolled',
      spendsUse: true,
      existing: { type: 'recovery', keyHash: RECOVERY },
    } as never);
  }
});

test('a recovery with the same version tells of no new one', (t) => {
  const [change] = enroll({
    recoveryKeyHash: RECOVERY,
    existing: { node: nodeRecord(), everConnected: true, machineSecretHash: null },
  }).changes;

  t.deepEqual(
    change?.events.map((event) => event.type),
    ['edge.enrollment_key.verified', 'edge.node.reregistered'],
  );
});

test('an id that is enrolled is a conflict: once it connected, or with another key', (t) => {
  for (const existing of [
    { node: nodeRecord(), everConnected: true, machineSecretHash: null },
    { node: nodeRecord({ enrollmentKeyId: id('d', 9) }), everConnected: false, machineSecretHash: null },
    { node: nodeRecord({ enrollmentKeyId: null }), everConnected: false, machineSecretHash: null },
  ]) {
    const step = enroll({ existing });

    t.deepEqual(step.changes, []);
    t.like(step.effects[0], { type: 'answer', result: { ok: false, refusal: { code: 'conflict' } } });
  }
});

const TURNED_AWAY = [
  ['key_expired', keyRecord({ expiredAtMs: NOW_MS }), 5],
  ['key_spent', keyRecord({ usesRemaining: 0 }), 0],
] as const;

for (const [code, key, left] of TURNED_AWAY) {
  test(`${code}: nobody is let in, and the attempt is told with the uses that are left`, (t) => {
    const step = enroll({ key });

    t.deepEqual(step.changes, [
      {
        write: { kind: 'nothing' },
        events: [
          {
            type: 'edge.enrollment_key.verified',
            subject: id('d', 1),
            atMs: NOW_MS,
            data: { ...verified, uses_remaining: left, result: code },
          },
        ],
        notices: [{ type: 'events-stored' }],
      },
    ] as never);
    t.like(step.effects[0], { type: 'answer', result: { ok: false, refusal: { code } } });
    t.is(step.state.record?.nodeCount, 2);
  });
}

test('no event of an enrolment holds a secret (E4)', (t) => {
  const steps = [
    enroll(),
    enroll({
      recoveryKeyHash: RECOVERY,
      existing: { node: nodeRecord(), everConnected: true, machineSecretHash: null },
    }),
    enroll({ key: keyRecord({ usesRemaining: 0 }) }),
  ];

  t.false(
    JSON.stringify(steps.map((step) => step.changes.map((change) => [change.events, change.notices]))).includes(
      'canary',
    ),
  );
});
