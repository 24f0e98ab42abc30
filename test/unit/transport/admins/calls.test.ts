/** Calls between two admins, over real HTTP servers. */
import test from 'ava';
import { refuse } from '../../../../actors/refusal.ts';
import type { PeerAnswer } from '../../../../api/forwarding/ports.ts';
import { encodeAnswer } from '../../../../transport/admins/protocol/call.ts';
import { callOf, DONE, linkedAdmins, noSignal, startLinked } from '../../../support/linked-admins.ts';

test('a call crosses, is done by the handler of the other admin, and its answer returns', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const call = callOf({
    input: { text: 'ü, \u0000 and 🙂', deep: [{ list: [1, null, false] }] },
    idempotency: { scope: 'create_node_alias:api', key: 'k', body_hash: 'ab'.repeat(32) },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  });
  const callers: string[] = [];
  b.handler = async (_call, from) => {
    callers.push(from);
    return Promise.resolve(DONE);
  };

  const outcome = await a.links.calls.call(b.id, call, noSignal());

  t.deepEqual(outcome, DONE);
  t.deepEqual(b.calls, [call]);
  t.deepEqual(callers, [a.id]);
});

test('refusals cross with their details and the time to wait, and without what only the owner is to know', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const refused = refuse('validation_failed', 'Validation failed', { name: ['is taken'] }).refusal;
  b.handler = async () =>
    Promise.resolve({
      type: 'answered',
      result: { ok: false, refusal: { ...refused, retryAfterSeconds: 3, notOwner: true } },
    });

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.deepEqual(outcome, { type: 'answered', result: { ok: false, refusal: { ...refused, retryAfterSeconds: 3 } } });
  const written = encodeAnswer({ type: 'answered', result: { ok: false, refusal: { ...refused, notOwner: true } } });
  t.notRegex(written.toString(), /notOwner/u);
});

test('every kind of answer crosses as it is', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const answers: readonly PeerAnswer[] = [
    { type: 'not_owner', owner: a.id, epoch: 9 },
    { type: 'not_owner', owner: null, epoch: null },
    { type: 'busy' },
    { type: 'unknown_operation' },
    { type: 'answered', result: { ok: true, value: null } },
  ];

  const outcomes: unknown[] = [];
  for (const answer of answers) {
    b.handler = async () => Promise.resolve(answer);
    outcomes.push(await a.links.calls.call(b.id, callOf(), noSignal()));
  }

  t.deepEqual(outcomes, answers);
});

test('both ways at once, and many at a time', async (t) => {
  const { a, b } = await linkedAdmins(t);

  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      index % 2 === 0 ? a.links.calls.call(b.id, callOf(), noSignal()) : b.links.calls.call(a.id, callOf(), noSignal()),
    ),
  );

  t.deepEqual(new Set(outcomes.map(({ type }) => type)), new Set(['answered']));
  t.is(new Set([...a.calls, ...b.calls].map(({ call_id }) => call_id)).size, 200);
});

test('a handler that throws is a bug of that admin: internal_error, logged there under the request id', async (t) => {
  const { a, b } = await linkedAdmins(t);
  b.handler = async () => Promise.reject(new Error('a cause that nobody may see'));

  const outcome = await a.links.calls.call(b.id, callOf({ request_id: 'the-request' }), noSignal());

  t.like(outcome, { type: 'answered', result: { ok: false, refusal: { code: 'internal_error' } } });
  t.notRegex(JSON.stringify(outcome), /nobody may see/u);
  t.like(
    b.log.lines.find(({ level }) => level === 'error'),
    { fields: { operation: 'update_cluster', request_id: 'the-request' }, message: 'a call of another admin failed' },
  );
});

test('an admin of another key answers as to anybody, and the caller knows that nothing was done', async (t) => {
  const a = await startLinked(t, 'a');
  const b = await startLinked(t, 'b', { key: Buffer.alloc(32, 1) });
  a.saw(a.row, b.row);
  b.saw(a.row, b.row);

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(outcome, { type: 'lost', sure: true });
  t.deepEqual(b.calls, []);
});
