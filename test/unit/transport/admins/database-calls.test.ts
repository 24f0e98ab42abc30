/** Calls by way of the database, between two admins of which one cannot reach the other by its address. */
import { createServer } from 'node:net';
import test from 'ava';
import { Pieces, piecesOf } from '../../../../transport/admins/admin-pieces.ts';
import {
  DATABASE_CALLS_OPEN_MAX,
  DATABASE_MESSAGE_BYTES_MAX,
  DATABASE_PROBE_GOOD_MS,
  DATABASE_PROBE_MS_MAX,
  PIECE_CHARS_MAX,
  PIECES_AGE_MS_MAX,
  UNFINISHED_MESSAGES_MAX,
} from '../../../../transport/admins/limits.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { listening } from '../../../support/net/listening.ts';
import { callOf, DONE, noSignal, sharedTexts, startLinked, type LinkedAdmin } from '../../../support/linked-admins.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

/** Longest text that PostgreSQL notifies of, in bytes. Source: PostgreSQL, NOTIFY. */
const NOTIFIED_BYTES_MAX = 7_999;

const resolved = (): Promise<void> => Promise.resolve();

/**
 * Two of one database, where nobody listens at the address of `b`. `told`: what was said by way of the database, each
 * time once `ready` lets it; where `taken` rejects, the database does not take it. `url`: whoever listens there in
 * place of `b`.
 */
async function cutOff(
  t: Scope,
  { ready = resolved, taken = resolved, url = '' } = {},
): Promise<{
  a: LinkedAdmin;
  b: LinkedAdmin;
  told: readonly string[];
  tell: (admin: string, all: readonly string[]) => Promise<void>;
}> {
  const textsOf = sharedTexts();
  const told: string[] = [];
  const heardBy = (id: string) => {
    const texts = textsOf(id);
    return {
      ...texts,
      tell: async (admin: string, all: readonly string[]) => {
        await taken();
        told.push(...all);
        void ready().then(() => texts.tell(admin, all)); // a database that is told has it, whoever listens
      },
    };
  };
  const [a, b] = [await startLinked(t, 'a', { textsOf: heardBy }), await startLinked(t, 'b', { textsOf: heardBy })];
  const row = { ...b.row, peerUrl: url === '' ? `http://127.0.0.1:${await freePort()}` : url };
  for (const admin of [a, b]) admin.saw(a.row, row);
  return { a, b, told, tell: async (...said) => textsOf('somebody else').tell(...said) };
}

test('an admin that cannot be reached does what it is asked by way of the database, once under an id', async (t) => {
  const { a, b, told } = await cutOff(t);
  const call = callOf({ input: { secret: 'a-word-that-nobody-reads' } });

  const first = await a.links.calls.call(b.id, call, noSignal());
  const again = await a.links.calls.call(b.id, { ...call, attempt: 2 }, noSignal());

  t.deepEqual([first, again], [DONE, DONE]);
  t.deepEqual(
    b.calls.map(({ call_id, input, attempt }) => ({ call_id, input, attempt })),
    [{ call_id: call.call_id, input: call.input, attempt: 1 }],
  );
  t.true(told.every((text) => Buffer.byteLength(text) <= NOTIFIED_BYTES_MAX));
  t.false(told.some((text) => Buffer.from(text.split(' ').at(-1) ?? '', 'base64').includes('nobody-reads')));
});

test('what an admin is asked both ways, and heard of once, is its first try', async (t) => {
  const port = await listening(t, createServer());
  const { a, b } = await cutOff(t, { url: `http://127.0.0.1:${port}` });

  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), DONE);

  t.deepEqual(
    b.calls.map(({ attempt }) => attempt),
    [1],
  );
});

test('what was said by way of the database is worth nothing a second time', async (t) => {
  const { a, b, told, tell } = await cutOff(t);
  await a.links.calls.call(b.id, callOf(), noSignal());

  await tell(
    b.id,
    told.filter((text) => text.includes(' call ')),
  );
  await new Promise((resolve) => setImmediate(resolve));

  t.is(b.calls.length, 1);
});

test('an admin that hears nothing by way of the database either was surely not asked', async (t) => {
  const [a, b] = [await startLinked(t, 'a'), await startLinked(t, 'b')];
  a.saw(a.row, { ...b.row, peerUrl: `http://127.0.0.1:${await freePort()}` });

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(outcome, { type: 'lost', sure: true });
});

test('a call that had no time to find out whether the other hears leaves the next one to find out', async (t) => {
  const outcomes = await until('a try that the machine did not hold up', async () => {
    const { promise: late, resolve: isLate } = Promise.withResolvers<void>();
    const { a, b } = await cutOff(t, { ready: () => late });
    const beganMs = performance.now();

    const hasty = await a.links.calls.call(b.id, callOf({ remaining_ms: 50 }), noSignal());
    isLate();
    const tookMs = performance.now() - beganMs;
    const other = await a.links.calls.call(b.id, callOf(), noSignal());
    // where the 50 ms were over before the connection was refused, nothing is sure
    return tookMs < DATABASE_PROBE_MS_MAX / 2 && hasty.type === 'lost' && hasty.sure ? { hasty, other } : null;
  });

  t.like(outcomes.hasty, { type: 'lost', sure: true });
  t.deepEqual(outcomes.other, DONE);
});

test('those who call at once ask once whether the other hears', async (t) => {
  const { promise: answers, resolve: goOn } = Promise.withResolvers<void>();
  const { a, b, told } = await cutOff(t, { ready: () => answers });

  const calls = Array.from({ length: 3 }, () => a.links.calls.call(b.id, callOf(), noSignal()));
  await until('all to take the other way', () => told.length > 0 && a.links.readings().adminLinks.callsOpen === 0);
  goOn();

  t.deepEqual(await Promise.all(calls), [DONE, DONE, DONE]);
  t.is(told.filter((text) => text.includes(' call ')).length, 1 + 3);
});

test('a call beyond those that may be open leaves the next one to find out whether the other hears', async (t) => {
  const { a, b } = await cutOff(t);
  const { promise, resolve } = Promise.withResolvers<typeof DONE>();
  b.handler = () => promise;
  const open = Array.from({ length: DATABASE_CALLS_OPEN_MAX }, () => a.links.calls.call(b.id, callOf(), noSignal()));
  await until('all of them', () => b.calls.length === DATABASE_CALLS_OPEN_MAX);
  const sinceMs = performance.now();
  await until('that it hears to be forgotten', () => performance.now() - sinceMs > DATABASE_PROBE_GOOD_MS);

  const more = await a.links.calls.call(b.id, callOf(), noSignal());
  resolve(DONE);
  await Promise.all(open);
  const next = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(more, { type: 'lost', sure: true });
  t.deepEqual(next, DONE);
});

test('a database that could not be told once leaves the next call to find out whether the other hears', async (t) => {
  let isAway = true;
  const { a, b } = await cutOff(t, {
    taken: () => (isAway ? Promise.reject(new Error('the database is away')) : resolved()),
  });

  const first = await a.links.calls.call(b.id, callOf(), noSignal());
  isAway = false;
  const next = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(first, { type: 'lost', sure: true });
  t.deepEqual(next, DONE);
});

test('a database that was told late leaves the next call to find out whether the other hears', async (t) => {
  const late = Promise.withResolvers<void>();
  const askedMs: number[] = [];
  let isSlow = true;
  const { a, b } = await cutOff(t, {
    taken: () => {
      askedMs.push(performance.now());
      return isSlow ? late.promise : resolved();
    },
  });

  const first = a.links.calls.call(b.id, callOf(), noSignal());
  await until(
    'the time of a probe to be over',
    () => performance.now() - (askedMs[0] ?? Infinity) > 1.5 * DATABASE_PROBE_MS_MAX, // its timer may be late
  );
  // After a standstill this one may be ahead of that timer, which was due before it.
  await new Promise((resolve) => setImmediate(resolve));
  isSlow = false;
  late.resolve();
  const lost = await first;
  const next = await a.links.calls.call(b.id, callOf(), noSignal());

  t.like(lost, { type: 'lost', sure: true });
  t.deepEqual(next, DONE);
});

test('a call that is too large for the database, and one too many, were surely not made', async (t) => {
  const { a, b } = await cutOff(t);
  const { promise, resolve } = Promise.withResolvers<typeof DONE>();

  const large = await a.links.calls.call(b.id, callOf({ input: 'x'.repeat(DATABASE_MESSAGE_BYTES_MAX) }), noSignal());
  b.handler = () => promise;
  const open = Array.from({ length: DATABASE_CALLS_OPEN_MAX }, () => a.links.calls.call(b.id, callOf(), noSignal()));
  await until('all of them', () => b.calls.length === DATABASE_CALLS_OPEN_MAX);
  const more = await a.links.calls.call(b.id, callOf(), noSignal());
  resolve(DONE);

  t.like(large, { type: 'lost', sure: true });
  t.like(more, { type: 'lost', sure: true });
  t.true((await Promise.all(open)).every(({ type }) => type === 'answered'));
  t.is(a.links.readings().adminLinks.callsDetoured, DATABASE_CALLS_OPEN_MAX);
});

test('an answer that is too large for the database is not known, and its call is not done again', async (t) => {
  const { a, b } = await cutOff(t);
  b.handler = async () =>
    Promise.resolve({ type: 'answered', result: { ok: true, value: 'x'.repeat(DATABASE_MESSAGE_BYTES_MAX) } });

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.deepEqual(outcome, { type: 'in_doubt' });
  t.is(b.calls.length, 1);
});

test('of unfinished messages the oldest is given up, and one whose pieces come too late', (t) => {
  let nowMs = 0;
  const pieces = new Pieces(() => nowMs);
  const body = Buffer.alloc(PIECE_CHARS_MAX);
  const [first = '', second = ''] = piecesOf({ type: 'answer', nonce: 'first', header: '', body });

  t.is(pieces.add(first), null);
  t.deepEqual(pieces.add(second)?.body, body);
  pieces.add(first);
  for (let count = 0; count < UNFINISHED_MESSAGES_MAX; count += 1)
    pieces.add(piecesOf({ type: 'answer', nonce: `other-${count}`, header: '', body })[0] ?? '');
  t.is(pieces.add(second), null);
  const [early = '', late = ''] = piecesOf({ type: 'answer', nonce: 'late', header: '', body });
  pieces.add(early);
  nowMs += PIECES_AGE_MS_MAX;
  t.is(pieces.add(late), null);
  for (const text of ['', 'a b c', '0 0 call n h x', '2 2 call n h x', '0 1000000 call n h x', '0.5 1 call n h x'])
    t.is(pieces.add(text), null);
});
