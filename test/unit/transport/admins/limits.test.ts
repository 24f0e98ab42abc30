/** How much admins take of each other. */
import { createServer } from 'node:http';
import test from 'ava';
import type { PeerAnswer } from '../../../../api/forwarding/ports.ts';
import { CallEntrance } from '../../../../transport/admins/call-entrance.ts';
import { Calls } from '../../../../transport/admins/calls.ts';
import {
  FORWARDS_OPEN_MAX,
  LINK_CALL_BYTES_MAX,
  LINK_CALLS_MAX,
  LINK_UNSENT_BYTES_MAX,
  NONCES_MAX,
  PEER_CALLS_MAX,
} from '../../../../transport/admins/limits.ts';
import { TakenCalls } from '../../../../transport/admins/taken-calls.ts';
import { PeerProofs } from '../../../../transport/admins/peer-proofs.ts';
import { Peers, type CheckedIn } from '../../../../transport/admins/peers.ts';
import { realClock } from '../../../support/api/served.ts';
import { callOf, DONE, keysOf, noSignal, startLinked } from '../../../support/linked-admins.ts';
import { listening } from '../../../support/net/listening.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';

/** An entrance and calls to it with limits of the test's own. */
async function limited(
  t: Parameters<typeof startLinked>[0],
  limits: { readonly noncesMax?: number; readonly callsMax?: number; readonly openMax?: number },
) {
  const [a, b] = [await startLinked(t, 'a'), await startLinked(t, 'b')];
  const clock = { nowMs: () => Date.now(), log: silentLog };
  const [atA, atB] = [new Peers(a.id, clock), new Peers(b.id, clock)];
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  const asked: string[] = [];
  const keys = keysOf(b);
  const time = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
  const proofs = new PeerProofs({ keys, peers: atB, ...time, log: silentLog, ...limits });
  const taken = new TakenCalls({
    peers: atB,
    handler: async (call) => {
      asked.push(call.call_id);
      return await promise;
    },
    monotonicMs: time.monotonicMs,
    log: silentLog,
    ...limits,
  });
  const entrance = new CallEntrance({ adminId: b.id, keys, proofs, taken, callBytesMax: 1_000_000 });
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => void entrance.take(request, response));
  const port = await listening(t, server);
  const row: CheckedIn = { ...b.row, peerUrl: `http://127.0.0.1:${port}` };
  for (const peers of [atA, atB]) peers.saw([a.row, row]);
  const calls = new Calls({ keys: keysOf(a), peers: atA, clock: realClock, monotonicMs: time.monotonicMs, ...limits });
  t.teardown(() => calls.close());
  return { b, calls, asked, resolve };
}

test('an admin does so many calls of another at once: more are told that it is busy', async (t) => {
  const { b, calls, asked, resolve } = await limited(t, { callsMax: 2 });
  const underWay = [callOf(), callOf()].map((call) => calls.call(b.id, call, noSignal()));
  await until('two calls', () => asked.length === 2);

  const third = await calls.call(b.id, callOf(), noSignal());
  resolve(DONE);

  t.deepEqual(third, { type: 'busy' });
  t.deepEqual(await Promise.all(underWay), [DONE, DONE]);
  t.deepEqual(await calls.call(b.id, callOf(), noSignal()), DONE);
});

test('so many calls are open to one admin: more are not made', async (t) => {
  const { b, calls, asked, resolve } = await limited(t, { openMax: 2 });
  const underWay = [callOf(), callOf()].map((call) => calls.call(b.id, call, noSignal()));
  await until('two calls', () => asked.length === 2);

  const third = await calls.call(b.id, callOf(), noSignal());
  const open = calls.open();
  resolve(DONE);

  t.deepEqual([third, open], [{ type: 'overloaded' }, 2]);
  t.deepEqual(await Promise.all(underWay), [DONE, DONE]);
  t.is(calls.open(), 0);
});

test('when no more proofs can be remembered, calls are told to wait, not taken unremembered', async (t) => {
  const { b, calls, asked, resolve } = await limited(t, { noncesMax: 2 });
  resolve(DONE);

  const types: string[] = [];
  for (let count = 0; count < 3; count += 1) types.push((await calls.call(b.id, callOf(), noSignal())).type);

  t.deepEqual(types, ['answered', 'answered', 'busy']);
  t.is(asked.length, 2);
});

test('the limits of links to admins as they come', (t) => {
  t.deepEqual([PEER_CALLS_MAX, FORWARDS_OPEN_MAX, NONCES_MAX], [512, 1_024, 131_072]);
  t.deepEqual([LINK_CALLS_MAX, LINK_CALL_BYTES_MAX, LINK_UNSENT_BYTES_MAX], [256, 65_536, 16_777_216]);
});
