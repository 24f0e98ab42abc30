/** Nodes that come back to a cluster with a recovery key. What the rows decide is tested with the committer. */
import test from 'ava';
import { WRONG_RECOVERY_KEY } from '../../../../actors/cluster/enrollment.ts';
import { RECOVERED_REASON } from '../../../../transport/protocol/close-codes.ts';
import { keyRecord, MADE_MS, NODE, nodeRecord } from '../../../support/actors.ts';
import { RECOVERY, enroll, write, verified, snapshot, MACHINE } from './enrollment-fixture.ts';
import { refusal, tell, writesOf } from '../../../support/steps.ts';
import { column } from '../../../support/database/columns.ts';

test('a recovery key that fits no node makes no new one', (t) => {
  const step = enroll({ recoveryKeyHash: RECOVERY });

  t.deepEqual(step.changes, []);
  t.deepEqual(step.effects, [refusal('conflict', 'The recovery key fits no node.')] as never);
});

test('a recovery spends a use, keeps what the node was, ends its older session, and tells of a new version', (t) => {
  const step = enroll({
    recoveryKeyHash: RECOVERY,
    existing: {
      node: nodeRecord({ version: '0.9.0', status: 'healthy' }),
      everConnected: true,
      machineSecretHash: null,
      recoveryKeyHash: RECOVERY,
      aliases: [],
    },
  });

  const data = {
    ...snapshot,
    status: 'healthy',
    last_seen_at: '2026-01-15T10:00:00.000Z',
    inserted_at: '2026-01-15T10:00:00.000Z',
  };
  t.deepEqual(writesOf(step), [{ ...write, existing: { type: 'recovery', keyHash: RECOVERY } }] as never);
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
  t.deepEqual(step.effects[0], tell('node', NODE, { type: 'revoked', reason: RECOVERED_REASON }));
});

test('a recovery is judged by the rows, recovery key first: a key that is spent or over makes no other answer of it (E2)', (t) => {
  for (const more of [{ usesRemaining: 0 }, { expiredAtMs: MADE_MS }]) {
    const step = enroll({
      key: keyRecord(more),
      recoveryKeyHash: RECOVERY,
      existing: {
        node: nodeRecord(),
        everConnected: true,
        machineSecretHash: MACHINE,
        recoveryKeyHash: RECOVERY,
        aliases: [],
      },
      machineSecretHash: Buffer.alloc(32, 4),
    });

    t.like(step.changes[0]?.write, {
      kind: 'node-enrolled',
      spendsUse: true,
      existing: { type: 'recovery', keyHash: RECOVERY },
    } as never);
  }
});

test('a recovery key that is not the one of the node lets nobody in, whatever the rows say later (E2)', (t) => {
  for (const recoveryKeyHash of [null, Buffer.alloc(32, 9)]) {
    const step = enroll({
      recoveryKeyHash: RECOVERY,
      existing: { node: nodeRecord(), everConnected: true, machineSecretHash: MACHINE, recoveryKeyHash, aliases: [] },
    });

    t.deepEqual(step.changes, []);
    t.deepEqual(step.effects, [refusal('conflict', WRONG_RECOVERY_KEY)] as never);
  }
});

test('a recovery with the same version tells of no new one', (t) => {
  const [change] = enroll({
    recoveryKeyHash: RECOVERY,
    existing: {
      node: nodeRecord(),
      everConnected: true,
      machineSecretHash: null,
      recoveryKeyHash: RECOVERY,
      aliases: [],
    },
  }).changes;

  t.deepEqual(column(change?.events, 'type'), ['edge.enrollment_key.verified', 'edge.node.reregistered']);
});
