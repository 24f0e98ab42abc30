/** Calls that were let in: what comes by a second way was done once, or is in doubt. */
import test from 'ava';
import type { PeerCall } from '../../../../api/forwarding/ports.ts';
import { ANSWERS_KEPT_MAX } from '../../../../transport/admins/limits.ts';
import { decodeAnswer, encodeCall } from '../../../../transport/admins/protocol/call.ts';
import { TakenCalls } from '../../../../transport/admins/taken-calls.ts';
import { callOf, DONE } from '../../../support/linked-admins.ts';
import { silentLog } from '../../../support/log.ts';

/** An admin that notes what it did, and what it says to a call of a process. */
function taking() {
  const done: PeerCall[] = [];
  const taken = new TakenCalls({
    peers: { nameOf: () => 'a' },
    handler: async (call) => {
      done.push(call);
      return Promise.resolve(DONE);
    },
    monotonicMs: () => 0,
    log: silentLog,
  });
  const from = { fromAdmin: 'a', fromInstance: 'a1' } as never;
  const answer = async (call: PeerCall, isDetour = false): Promise<unknown> =>
    decodeAnswer(await taken.answered(from, encodeCall(call), isDetour));
  return { done, answer };
}

test('a call that comes by a second way is done once, and as a first try where only that way came through', async (t) => {
  const { done, answer } = taking();
  const [both, one] = [callOf(), callOf()];

  const answers = [await answer(both), await answer(both, true), await answer(one, true)];

  t.deepEqual(answers, [DONE, DONE, DONE]);
  t.deepEqual(
    done.map(({ call_id, attempt }) => [call_id, attempt]),
    [
      [both.call_id, 1],
      [one.call_id, 1],
    ],
  );
});

test('a call that comes by a second way after answers were forgotten early is in doubt, and not done again', async (t) => {
  const { done, answer } = taking();
  const first = callOf();
  await answer(first);
  for (let count = 0; count < ANSWERS_KEPT_MAX; count += 1) await answer(callOf());
  done.length = 0;

  t.deepEqual(await answer(first, true), { type: 'in_doubt' });
  t.deepEqual(done, []);
});
