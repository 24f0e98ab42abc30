/** What comes of calls that do not go well: what was surely not done, what may have been, and what was done once. */
import { createServer } from 'node:http';
import test from 'ava';
import type { PeerAnswer, PeerOutcome } from '../../../../api/forwarding-ports.ts';
import { CALL_ROUTE } from '../../../../transport/admins/call-entrance.ts';
import {
  ANSWER_BYTES_MAX,
  FORWARDS_OPEN_MAX,
  NONCES_MAX,
  PEER_CALLS_MAX,
} from '../../../../transport/admins/limits.ts';
import { CallEntrance } from '../../../../transport/admins/call-entrance.ts';
import { Calls } from '../../../../transport/admins/calls.ts';
import { Peers, type CheckedIn } from '../../../../transport/admins/peers.ts';
import { CALL_PATH, LINK_VERSION } from '../../../../transport/admins/protocol/version.ts';
import { freePort } from '../../../support/free-ports.ts';
import { callOf, DONE, keysOf, linkedAdmins, noSignal, startLinked } from '../../../support/linked-admins.ts';
import { listening } from '../../../support/listening.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { realClock } from '../../../support/api/served.ts';

test('where nobody listens nothing was done', async (t) => {
  const { a, b } = await linkedAdmins(t);
  a.saw(a.row, { ...b.row, peerUrl: `http://127.0.0.1:${await freePort()}` });

  t.like(await a.links.calls.call(b.id, callOf(), noSignal()), { type: 'lost', sure: true });
});

test('an admin that is not alive, or has not said where it is, is not asked', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const outcomes: PeerOutcome[] = [];
  for (const rows of [[a.row], [a.row, { ...b.row, peerUrl: null }]]) {
    a.saw(...rows);
    outcomes.push(await a.links.calls.call(b.id, callOf(), noSignal()));
  }

  t.deepEqual(
    outcomes.map(({ type }) => type),
    ['lost', 'lost'],
  );
  t.true(outcomes.every((outcome) => outcome.type === 'lost' && outcome.sure));
});

test('admins one version apart call each other, others and those of before calls are not asked', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const outcomes: Record<string, string> = {};
  for (const linkVersion of [null, LINK_VERSION - 1, LINK_VERSION, LINK_VERSION + 1, LINK_VERSION + 2]) {
    a.saw(a.row, { ...b.row, linkVersion });
    outcomes[String(linkVersion)] = (await a.links.calls.call(b.id, callOf(), noSignal())).type;
  }

  t.deepEqual(outcomes, {
    null: 'other_version',
    [LINK_VERSION - 1]: 'other_version', // 0: there is none yet
    [LINK_VERSION]: 'answered',
    [LINK_VERSION + 1]: 'answered',
    [LINK_VERSION + 2]: 'other_version',
  });
});

test('an admin of the next version says more in its calls and answers: what is known here is read', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const more = { ...callOf(), since: 'the next version', target: { ...callOf().target, region: 3 } };
  b.handler = async () => Promise.resolve(Object.assign({ cost_ms: 3 }, DONE));

  t.deepEqual(await a.links.calls.call(b.id, more, noSignal()), DONE);
  t.deepEqual(b.calls, [{ ...callOf(), call_id: more.call_id }]);
});

test('a refusal whose code only the next version knows reads as one that passes', async (t) => {
  const { a, b } = await linkedAdmins(t);
  b.handler = async () =>
    Promise.resolve({
      type: 'answered',
      result: { ok: false, refusal: { code: 'new_reason' as never, message: 'Why.' } },
    });

  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), {
    type: 'answered',
    result: { ok: false, refusal: { code: 'service_unavailable', message: 'Why.' } },
  });
});

test('a process that took the place of the one that was meant did nothing', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const before = { ...b.row, instanceId: '00000000-0000-4000-8000-000000000000' };
  a.saw(a.row, before);

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(outcome, { type: 'lost', sure: true, why: 'was started anew' });
  t.deepEqual(b.calls, []);
});

test('an address that leads to another admin is one line of the log, which names it, and nothing was done', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const c = await startLinked(t, 'c');
  const astray = { ...c.row, peerUrl: b.served.url };
  a.saw(a.row, b.row, astray);
  b.saw(a.row, b.row, astray);

  const outcomes = [1, 2, 3].map(() => a.links.calls.call(c.id, callOf(), noSignal()));

  for (const outcome of await Promise.all(outcomes))
    t.like(outcome, { type: 'lost', sure: true, why: 'has an address that leads to another admin (ADMIN_PEER_URL)' });
  t.deepEqual(
    a.log.lines
      .filter(({ message }) => message.startsWith('the address of an admin leads'))
      .map(({ fields }) => fields),
    [{ admin: 'c', url: b.served.url, setting: 'ADMIN_PEER_URL' }],
  );
  t.deepEqual([...b.calls, ...c.calls], []);
});

test('an address that leads back to whoever asks is told of in the same way', async (t) => {
  const { a, b } = await linkedAdmins(t);
  await a.log.seen(/an admin is reached now/u);
  a.saw(a.row, { ...b.row, peerUrl: a.served.url });

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(outcome, { type: 'lost', sure: true, why: 'has an address that leads to another admin (ADMIN_PEER_URL)' });
});

test('at the deadline the call is over here, and goes on there', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const call = callOf({ remaining_ms: 150 });

  const late = await a.links.calls.call(b.id, call, noSignal());
  const again = a.links.calls.call(b.id, { ...call, remaining_ms: 4_500, attempt: 2 }, noSignal());
  resolve(DONE);

  t.deepEqual(late, { type: 'lost', sure: false, why: 'did not answer in time' });
  t.deepEqual(await again, DONE);
  t.is(b.calls.length, 1);
});

test('whoever asked may end it, and what was sent then may have been done', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const end = new AbortController();

  const asked = a.links.calls.call(b.id, callOf(), end.signal);
  await until('the call', () => b.calls.length === 1);
  end.abort();

  t.like(await asked, { type: 'lost', sure: false });
  t.like(await a.links.calls.call(b.id, callOf(), end.signal), { type: 'lost', sure: true });
  resolve(DONE);
});

test('a call whose answer was lost on the way gets it when it is asked again, and was done once', async (t) => {
  const { a, b } = await linkedAdmins(t);
  let done = 0;
  b.handler = async () => {
    done += 1;
    return Promise.resolve({ type: 'answered', result: { ok: true, value: done } });
  };
  const lossy = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      void fetch(new URL(CALL_PATH, b.served.url), {
        method: 'POST',
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(pieces),
      }).then(() => response.destroy());
    });
  });
  const port = await listening(t, lossy);
  const call = callOf();
  a.saw(a.row, { ...b.row, peerUrl: `http://127.0.0.1:${port}` });

  const lost = await a.links.calls.call(b.id, call, noSignal());
  a.saw(a.row, b.row);
  const again = await a.links.calls.call(b.id, { ...call, attempt: 2 }, noSignal());

  t.like(lost, { type: 'lost', sure: false });
  t.deepEqual(again, { type: 'answered', result: { ok: true, value: 1 } });
  t.is(done, 1);
});

test('an answer of somebody else is none, whatever it says', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const keys = keysOf(b);
  const server = createServer((_request, response) => {
    const other = keys.header(CALL_ROUTE, a.instanceId, Date.now());
    response.end(keys.sealAnswer(other, Buffer.from(JSON.stringify(DONE))));
  });
  const port = await listening(t, server);
  a.saw(a.row, { ...b.row, peerUrl: `http://127.0.0.1:${port}` });

  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), {
    type: 'lost',
    sure: false,
    why: 'answered without the proof of an admin',
  });
});

test('an answer that is too large is a failure of that admin, which its log has', async (t) => {
  const { a, b } = await linkedAdmins(t);
  b.handler = async () =>
    Promise.resolve({ type: 'answered', result: { ok: true, value: 'x'.repeat(ANSWER_BYTES_MAX) } });

  t.like(await a.links.calls.call(b.id, callOf(), noSignal()), {
    type: 'answered',
    result: { ok: false, refusal: { code: 'internal_error' } },
  });
  t.like(
    b.log.lines.find(({ message }) => message === 'the answer to a call of another admin is too large'),
    { level: 'error', fields: { operation: 'update_cluster', bytes_max: ANSWER_BYTES_MAX } },
  );
});

test('an admin that stops says that it is busy, and answers what is under way', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const underWay = a.links.calls.call(b.id, callOf(), noSignal());
  await until('the call', () => b.calls.length === 1);

  b.links.dismiss();
  const late = await a.links.calls.call(b.id, callOf(), noSignal());
  const closed = b.served.api.close();
  resolve(DONE);

  t.deepEqual(late, { type: 'busy' });
  t.deepEqual(await underWay, DONE);
  await closed;
});

test('after its links were closed an admin asks nobody any more', async (t) => {
  const { a, b } = await linkedAdmins(t);
  await a.links.close();

  t.like(await a.links.calls.call(b.id, callOf(), noSignal()), { type: 'lost', sure: true });
});

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
  const entrance = new CallEntrance({
    adminId: b.id,
    keys: keysOf(b),
    peers: atB,
    handler: async (call) => {
      asked.push(call.call_id);
      return await promise;
    },
    callBytesMax: 1_000_000,
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    log: silentLog,
    ...limits,
  });
  const server = createServer((request, response) => void entrance.take(request, response));
  const port = await listening(t, server);
  const row: CheckedIn = { ...b.row, peerUrl: `http://127.0.0.1:${port}` };
  for (const peers of [atA, atB]) peers.saw([a.row, row]);
  const calls = new Calls({ keys: keysOf(a), peers: atA, clock: realClock, ...limits });
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

test('the limits as they come', (t) => {
  t.deepEqual([PEER_CALLS_MAX, FORWARDS_OPEN_MAX, NONCES_MAX], [512, 1_024, 131_072]);
});
