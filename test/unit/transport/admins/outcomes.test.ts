/** What comes of calls that do not go well: what was surely not done, what may have been, and what was done once. */
import { createServer } from 'node:http';
import test from 'ava';
import type { PeerAnswer, PeerOutcome } from '../../../../api/forwarding/ports.ts';
import { CALL_ROUTE } from '../../../../transport/admins/call-entrance.ts';
import { ANSWER_BYTES_MAX } from '../../../../transport/admins/limits.ts';
import { CALL_PATH } from '../../../../transport/admins/protocol/version.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { callOf, DONE, keysOf, linkedAdmins, noSignal, startLinked } from '../../../support/linked-admins.ts';
import { listening } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';

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
  await until('it is reached', () => {
    a.saw(a.row, b.row); // which asks once more where a busy machine had no time for the first
    return a.links.peers.isReached(b.id);
  });
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
    if (request.method !== 'POST') {
      response.destroy(); // a connection of calls, which it does not carry
      return;
    }
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
