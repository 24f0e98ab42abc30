/** Who joins a cluster with which key. What the rows decide is tested with the committer. */
import test from 'ava';
import { ENROLLED_AGAIN_REASON } from '../../../../transport/protocol/close-codes.ts';
import {
  answer,
  FACTS,
  id,
  keyRecord,
  MADE_MS,
  NODE,
  nodeRecord,
  NOW_MS,
  SETTINGS,
  told,
} from '../../../support/actors.ts';
import { RECOVERY, REQUEST, enroll, write, verified, snapshot, MACHINE } from './enrollment-fixture.ts';
import { tell } from '../../../support/steps.ts';
import { column } from '../../../support/database/columns.ts';

const welcome = answer({
  node_id: NODE,
  api_token: 'canary-token',
  proxy_password: 'canary-password',
  cluster_name: 'factory',
  admin_urls: SETTINGS.agent.admin_urls,
  settings: SETTINGS.agent,
});

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
    existing: {
      node: nodeRecord({ lastSeenAtMs: null }),
      everConnected: false,
      machineSecretHash: null,
      recoveryKeyHash: null,
      aliases: [],
    },
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
  t.deepEqual(step.effects, [tell('node', NODE, { type: 'revoked', reason: ENROLLED_AGAIN_REASON }), welcome] as never);
  t.is(step.state.record?.nodeCount, 2);
});

test('the machine that enrolled a node enrols it again by any key and spends no use, as its secret identifies it', (t) => {
  const spent = keyRecord({ id: id('d', 9), usesRemaining: 0, expiredAtMs: MADE_MS });
  for (const more of [{ recoveryKeyHash: null }, { recoveryKeyHash: RECOVERY }]) {
    const step = enroll({
      ...more,
      key: spent,
      machineSecretHash: Buffer.from(MACHINE),
      existing: {
        node: nodeRecord(),
        everConnected: true,
        machineSecretHash: MACHINE,
        recoveryKeyHash: null,
        aliases: [],
      },
    });

    t.like(step.changes[0]?.write, {
      spendsUse: false,
      existing: { type: 'retry', machineSecretHash: MACHINE },
      machineSecretHash: MACHINE,
    } as never);
    t.deepEqual(step.effects.at(-1), welcome as never);
    t.deepEqual(column(step.changes[0]?.events, 'type'), ['edge.enrollment_key.verified', 'edge.node.reregistered']);
  }
  const newer = enroll({
    machineSecretHash: MACHINE,
    existing: {
      node: { ...nodeRecord(), version: '0.0.1' },
      everConnected: true,
      machineSecretHash: MACHINE,
      recoveryKeyHash: null,
      aliases: [],
    },
  });
  t.deepEqual(column(newer.changes[0]?.events, 'type'), [
    'edge.enrollment_key.verified',
    'edge.node.reregistered',
    'edge.node.version_changed',
  ]);
});

test('a caller with key and id but without the secret of the machine is refused, also before the first connection', (t) => {
  for (const machineSecretHash of [null, Buffer.alloc(32, 4), Buffer.alloc(31, 3)]) {
    for (const everConnected of [false, true]) {
      const step = enroll({
        machineSecretHash,
        existing: { node: nodeRecord(), everConnected, machineSecretHash: MACHINE, recoveryKeyHash: null, aliases: [] },
      });

      t.deepEqual(step.changes, []);
      t.like(step.effects[0], { type: 'answer', result: { ok: false, refusal: { code: 'conflict' } } });
    }
  }
});

test('an id that is enrolled is a conflict: once it connected, or with another key', (t) => {
  for (const existing of [
    { node: nodeRecord(), everConnected: true, machineSecretHash: null, recoveryKeyHash: null, aliases: [] },
    {
      node: nodeRecord({ enrollmentKeyId: id('d', 9) }),
      everConnected: false,
      machineSecretHash: null,
      recoveryKeyHash: null,
      aliases: [],
    },
    {
      node: nodeRecord({ enrollmentKeyId: null }),
      everConnected: false,
      machineSecretHash: null,
      recoveryKeyHash: null,
      aliases: [],
    },
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
      existing: {
        node: nodeRecord(),
        everConnected: true,
        machineSecretHash: null,
        recoveryKeyHash: RECOVERY,
        aliases: [],
      },
    }),
    enroll({ key: keyRecord({ usesRemaining: 0 }) }),
  ];

  t.false(
    JSON.stringify(steps.map((step) => step.changes.map((change) => [change.events, change.notices]))).includes(
      'canary',
    ),
  );
});

test('a new node has the labels of its machine, and over them those of its key', (t) => {
  const step = enroll({
    key: keyRecord({ labels: { env: 'prod', site: 'hall-3' } }),
    request: { ...REQUEST, labels: { env: 'dev', zone: 'a' }, facts: { ...FACTS, hostname: 'press 100.64.0.7' } },
  });

  const labels = { env: 'prod', zone: 'a', site: 'hall-3' };
  const facts = { ...FACTS, hostname: 'press (address)' };
  t.like(step.changes[0]?.write, { kind: 'node-enrolled', labels, facts } as never);
  t.deepEqual(told(step.changes[0]!.events[1]!, 'name', 'facts', 'labels'), ['press', facts, labels]);
});

test('labels that would be more than 64 together let nobody in, and spend no use', (t) => {
  const many = (from: number) => Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${from + index}`, '']));

  const step = enroll({ key: keyRecord({ labels: many(0) }), request: { ...REQUEST, labels: many(40) } });

  t.deepEqual(step.changes, []);
  t.like(step.effects[0], { result: { ok: false, refusal: { code: 'validation_failed' } } } as never);
});

test('a node that comes back keeps the labels that operators gave it', (t) => {
  const node = nodeRecord({ labels: { env: 'prod' } });

  const step = enroll({
    key: keyRecord({ labels: { env: 'dev' } }),
    recoveryKeyHash: RECOVERY,
    existing: { node, everConnected: true, machineSecretHash: null, recoveryKeyHash: RECOVERY, aliases: ['old'] },
  });

  t.deepEqual(told(step.changes[0]!.events[1]!, 'name', 'labels'), ['old', { env: 'prod' }]);
});
