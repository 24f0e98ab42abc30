/**
 * Calls that go over one connection: what crosses, what becomes of it when that is lost, and what does not go over it.
 */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { PeerAnswer } from '../../../../api/forwarding/ports.ts';
import { LINK_CALL_BYTES_MAX, LINK_CALLS_MAX } from '../../../../transport/admins/limits.ts';
import { decodeNumbered, encodeNumbered } from '../../../../transport/admins/protocol/call-link.ts';
import { CALL_PATH, CALLS_PATH, LINK_VERSION_CALLS } from '../../../../transport/admins/protocol/version.ts';
import { routeOf } from '../../../../transport/admins/sealed-connections.ts';
import {
  callLinked,
  callLinkedAdmins,
  callOf,
  DONE,
  keysOf,
  linkedAdmins,
  noSignal,
  type LinkedAdmin,
} from '../../../support/linked-admins.ts';
import { until } from '../../../support/until.ts';
import { upgradeTo } from '../../../support/net/written-calls.ts';

const call = (from: LinkedAdmin, to: LinkedAdmin, changed: Parameters<typeof callOf>[0] = {}) =>
  from.links.calls.call(to.id, callOf(changed), noSignal());

test('the first call goes as a request, and those after it over one connection, both ways and many at a time', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const first = await call(a, b);
  await callLinked(a, b);
  await callLinked(b, a);
  const before = [a, b].map(({ offered }) => offered.length);

  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? call(a, b) : call(b, a))),
  );

  t.deepEqual(first, DONE);
  t.deepEqual(new Set(outcomes.map(({ type }) => type)), new Set(['answered']));
  t.is(new Set([...a.calls, ...b.calls].map(({ call_id }) => call_id)).size, 201);
  t.true([a, b].every(({ offered }, index) => offered.length <= (before[index] ?? 0) + 2)); // pings may be among them
  t.deepEqual([a.upgraded.length, b.upgraded.length], [1, 1]);
});

test('calls and answers cross it as they are, and a handler that throws is a bug of that admin', async (t) => {
  const { a, b } = await callLinkedAdmins(t);
  const asked = callOf({ input: { text: 'ü, \u0000 and 🙂' }, idempotency: { scope: 's', key: 'k', body_hash: 'ab' } });
  const answers: readonly PeerAnswer[] = [
    { type: 'not_owner', owner: a.id, epoch: 9 },
    { type: 'busy' },
    { type: 'answered', result: { ok: true, value: { list: ['x'.repeat(100_000)] } } },
  ];

  const outcomes: unknown[] = [await a.links.calls.call(b.id, asked, noSignal())];
  for (const answer of answers) {
    b.handler = async () => Promise.resolve(answer);
    outcomes.push(await call(a, b));
  }
  b.handler = async () => Promise.reject(new Error('a cause that nobody may see'));
  const failed = await call(a, b);

  t.deepEqual(b.calls[0], asked);
  t.deepEqual(outcomes, [DONE, ...answers]);
  t.like(failed, { type: 'answered', result: { ok: false, refusal: { code: 'internal_error' } } });
  t.notRegex(JSON.stringify(failed), /nobody may see/u);
});

test('what was under way when it broke off may have been done, and gets its answer when it is asked again', async (t) => {
  const { a, b } = await callLinkedAdmins(t);
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const asked = callOf();
  const underWay = a.links.calls.call(b.id, asked, noSignal());
  await until('the call', () => b.calls.length === 1);

  for (const socket of b.upgraded) socket.destroy();
  const lost = await underWay;
  const again = a.links.calls.call(b.id, { ...asked, attempt: 2 }, noSignal());
  resolve(DONE);

  t.deepEqual(lost, { type: 'lost', sure: false, why: 'broke off (its connection was closed)' });
  t.deepEqual(await again, DONE);
  t.is(b.calls.length, 1);
  await callLinked(a, b); // it is dialled anew
});

test('at its deadline, or when whoever asked ends it, a call is over here, and its answer is nobody else’s', async (t) => {
  const { a, b } = await callLinkedAdmins(t);
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const end = new AbortController();

  const late = await call(a, b, { remaining_ms: 100 });
  const ended = a.links.calls.call(b.id, callOf(), end.signal);
  await until('the call', () => b.calls.length === 2);
  end.abort();
  b.handler = async () => Promise.resolve({ type: 'answered', result: { ok: true, value: 'of the third' } });
  resolve(DONE);

  const lost = { type: 'lost', sure: false, why: 'did not answer in time' };
  t.deepEqual([late, await ended], [lost, lost] as never);
  t.deepEqual(await call(a, b), { type: 'answered', result: { ok: true, value: 'of the third' } });
  t.is(a.links.readings().adminLinks.callsOpen, 0);
});

test('an admin that stops answers what is under way and says that it is busy, and the connection ends then', async (t) => {
  const { a, b } = await callLinkedAdmins(t);
  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const underWay = call(a, b);
  await until('the call', () => b.calls.length === 1);

  b.links.dismiss();
  const late = await call(a, b);
  const closed = b.served.api.close();
  resolve(DONE);

  t.deepEqual(late, { type: 'busy' });
  t.deepEqual(await underWay, DONE);
  await until('its end', () => !a.links.calls.isLinked(b.id));
  await closed;
});

test('what is large, what is one too many, and what is about an admin itself goes as a request', async (t) => {
  const { a, b } = await callLinkedAdmins(t);
  const asked = async (changed: Parameters<typeof callOf>[0]): Promise<number> => {
    const before = b.offered.length;
    t.deepEqual(await call(a, b, changed), DONE);
    return b.offered.length - before;
  };
  const frame = LINK_CALL_BYTES_MAX - Buffer.byteLength(JSON.stringify(callOf({ input: '' })));

  t.is(await asked({ input: 'x'.repeat(frame) }), 0);
  t.is(await asked({ input: 'x'.repeat(frame + 1) }), 1);
  t.is(await asked({ target: { kind: 'admin', name: 'b' } }), 1);

  const { promise, resolve } = Promise.withResolvers<PeerAnswer>();
  b.handler = async () => await promise;
  const before = b.offered.length;
  const all = Array.from({ length: LINK_CALLS_MAX + 1 }, () => call(a, b));
  await until('one request', () => b.offered.length > before || b.offering.length > before);
  resolve(DONE);

  t.deepEqual(new Set((await Promise.all(all)).map(({ type }) => type)), new Set(['answered']));
  t.is(b.offered.length - before, 1);
});

test('an admin of before is called by requests alone, and is not dialled', async (t) => {
  const { a, b } = await linkedAdmins(t);
  a.saw(a.row, { ...b.row, linkVersion: LINK_VERSION_CALLS - 1 });

  for (let count = 0; count < 5; count += 1) t.deepEqual(await call(a, b), DONE);

  t.is(b.calls.length, 5);
  t.deepEqual(b.upgraded, []);
});

test('who cannot prove to be an admin finds no such connection', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const proof = (route: string, to = b.instanceId, keys = keysOf(a)): string => keys.header(route, to, Date.now()).text;

  t.is(await upgradeTo(b, CALLS_PATH, undefined), 404);
  t.is(await upgradeTo(b, CALLS_PATH, proof(routeOf(CALLS_PATH), b.instanceId, keysOf(a, Buffer.alloc(32, 9)))), 404);
  t.is(await upgradeTo(b, CALLS_PATH, proof(`POST ${CALL_PATH}`)), 404);
  t.is(await upgradeTo(b, CALLS_PATH, proof(routeOf(CALLS_PATH), randomUUID())), 421);
  t.is(await upgradeTo(b, CALLS_PATH, proof(routeOf(CALLS_PATH))), 101);
});

test('a number goes before a call, and what is too short to have one is none', (t) => {
  const message = encodeNumbered(2 ** 32 + 7, Buffer.from('{}'));

  t.deepEqual(decodeNumbered(message), { n: 2 ** 32 + 7, body: Buffer.from('{}') });
  t.is(decodeNumbered(Buffer.alloc(5)), null);
});
