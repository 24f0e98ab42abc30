/** What an admin does for others: only what it owns, once more only under the same lease, and never further. */
import test, { type ExecutionContext } from 'ava';
import type { Addressed } from '../../../../actors/messages.ts';
import type { ReplyTo } from '../../../../actors/reply-to.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { ok, refuse, STALE_EPOCH, type Result } from '../../../../actors/refusal.ts';
import { Forwarding } from '../../../../api/forwarding/forwarding.ts';
import type { Owner, PeerAnswer, PeerCall } from '../../../../api/forwarding/ports.ts';
import type { OperationPorts } from '../../../../api/ports.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import { serveApi, SOME_ID } from '../../../support/api/fakes.ts';
import { recordingLog } from '../../../support/log.ts';
import { callOf } from '../../../support/linked-admins.ts';
import { realClock } from '../../../support/api/served.ts';

const HERE: Owner = { type: 'here', epoch: 7 };

/** What an admin says to a call for a node's labels, and what it asked of actors. */
async function said(
  t: ExecutionContext,
  changed: Partial<PeerCall> = {},
  owner: Owner | Error = HERE,
  result: Result<unknown> = ok({ id: SOME_ID }),
): Promise<{ readonly answer: PeerAnswer; readonly asked: readonly unknown[]; readonly called: number }> {
  const asked: unknown[] = [];
  let called = 0;
  const { api, log } = await serveApi(t, {
    ports: {
      ask: (async (build: (replyTo: ReplyTo) => Addressed) => {
        asked.push(build(1 as never).message);
        return Promise.resolve(result);
      }) as OperationPorts['ask'],
    },
    forwarding: new Forwarding({
      owners: {
        hasPeers: () => true,
        of: async () => {
          if (owner instanceof Error) throw owner;
          return Promise.resolve(owner);
        },
        lately: () => null,
        changed: async () => Promise.resolve(),
      },
      calls: {
        call: async () => {
          called += 1;
          return Promise.resolve({ type: 'busy' });
        },
      },
      reads: { idempotencyRecord: async () => Promise.resolve(null) },
      clock: realClock,
      monotonicMs: () => performance.now(),
      newCallId: () => SOME_ID,
      log: recordingLog(),
    }),
  });
  const answer = await api.peerCalls(
    callOf({
      operation: 'set_node_labels',
      input: { id: SOME_ID, labels: { env: 'prod' } },
      target: { kind: 'node', id: NodeId.parse(SOME_ID) },
      ...changed,
    }),
    'b',
  );
  t.deepEqual(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  );
  return { answer, asked, called };
}

test('it does what it owns, and answers with what came of it', async (t) => {
  const { answer, asked } = await said(t);

  t.deepEqual(answer, { type: 'answered', result: ok({ id: SOME_ID }) });
  t.is(asked.length, 1);
});

test('it parses again', async (t) => {
  const { answer, asked } = await said(t, { input: { id: SOME_ID, labels: {} } });

  t.like(answer, { type: 'answered', result: { ok: false, refusal: { code: 'validation_failed' } } });
  t.deepEqual(asked, []);
});

test('what it does not own it does not do, and hands on to nobody', async (t) => {
  const elsewhere = await said(t, {}, { type: 'elsewhere', admin: 'c', epoch: 9 });
  const nobody = await said(t, {}, { type: 'nobody' });

  t.deepEqual(elsewhere, { answer: { type: 'not_owner', owner: 'c', epoch: 9 }, asked: [], called: 0 });
  t.deepEqual(nobody, { answer: { type: 'not_owner', owner: null, epoch: null }, asked: [], called: 0 });
});

test('what it finds out it does not own while it does it was not done', async (t) => {
  const { answer, called } = await said(t, {}, HERE, { ok: false, refusal: STALE_EPOCH });

  t.deepEqual(answer, { type: 'not_owner', owner: null, epoch: null });
  t.is(called, 0);
});

test('what may have been done under another lease is not done again: only the rows can say', async (t) => {
  const other = await said(t, { attempt: 2, epoch: 6 });
  const same = await said(t, { attempt: 2, epoch: 7 });
  const first = await said(t, { attempt: 1, epoch: 6 });

  t.deepEqual(other, { answer: { type: 'not_owner', owner: null, epoch: 7 }, asked: [], called: 0 });
  t.is(same.answer.type, 'answered');
  t.is(first.answer.type, 'answered');
});

test('what any admin can do, and what is not known, is no operation here', async (t) => {
  t.deepEqual((await said(t, { operation: 'create_command' })).answer, { type: 'unknown_operation' });
  t.deepEqual((await said(t, { operation: 'no_such_thing' })).answer, { type: 'unknown_operation' });
});

test('a refusal is the answer, and so is a database that is away', async (t) => {
  const refused = await said(t, {}, HERE, refuse('not_found', 'Resource not found'));
  const away = await said(t, {}, new DatabaseUnavailable('looking'));

  t.deepEqual(refused.answer, { type: 'answered', result: refuse('not_found', 'Resource not found') });
  t.like(away.answer, { type: 'answered', result: { ok: false, refusal: { code: 'service_unavailable' } } });
});
