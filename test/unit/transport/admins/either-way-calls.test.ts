/** Calls by two ways at once: which answer counts, and whether anything was done. */
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import type { PeerCall, PeerOutcome } from '../../../../api/forwarding/ports.ts';
import { EitherWayCalls } from '../../../../transport/admins/either-way-calls.ts';
import { DETOUR_AFTER_MS } from '../../../../transport/admins/limits.ts';
import type { Peer } from '../../../../transport/admins/peers.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { callOf, DONE, noSignal } from '../../../support/linked-admins.ts';

const PEER: Peer = { id: 'b', name: 'b', instance: 'b1', url: 'http://127.0.0.1:1', version: 2 };
const BUSY: PeerOutcome = { type: 'busy' };
const UNSENT: PeerOutcome = { type: 'lost', sure: true, why: 'does not take connections' };
const UNHEARD: PeerOutcome = { type: 'lost', sure: true, why: 'does not hear this one' };
const LOST: PeerOutcome = { type: 'lost', sure: false, why: 'broke off' };
const NOT_OWNER: PeerOutcome = { type: 'not_owner', owner: 'c', epoch: 8 };

/** A call that went one way, to be answered by the test. */
interface Sent {
  readonly call: PeerCall;
  readonly signal: AbortSignal;
  readonly answer: (outcome: PeerOutcome) => void;
}

/** Both ways to one admin. */
class TwoWays {
  readonly clock = createFakeClock();
  readonly byLink: Sent[] = [];
  readonly byDatabase: Sent[] = [];
  /** What comes of the call. */
  outcome: Promise<PeerOutcome> = new Promise(() => {});
  isCallable = true;
  isUnreached = false;
  readonly calls = new EitherWayCalls({
    peers: { callable: () => (this.isCallable ? PEER : null), isUnreached: () => this.isUnreached },
    link: {
      call: (_admin, call, signal) => sent(this.byLink, call, signal),
      isLinked: () => false,
    },
    database: { call: (_peer, call, signal) => sent(this.byDatabase, call, signal) },
    clock: this.clock,
    monotonicMs: () => this.clock.nowMs(),
  });

  /** A call that went by the link. */
  async called(call = callOf(), signal = noSignal()): Promise<void> {
    this.outcome = this.calls.call('b', call, signal);
    await turns();
  }

  /** The same, after the link was silent for too long. */
  async silent(call = callOf(), signal = noSignal()): Promise<void> {
    await this.called(call, signal);
    this.clock.pass(DETOUR_AFTER_MS);
    await turns();
  }

  /** One way is over. */
  async answers(way: 'byLink' | 'byDatabase', outcome: PeerOutcome): Promise<void> {
    this[way][0]?.answer(outcome);
    await turns();
  }
}

function sent(all: Sent[], call: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
  const { promise, resolve } = Promise.withResolvers<PeerOutcome>();
  all.push({ call, signal, answer: resolve });
  return promise;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await aTurn();
}

test('what the link answers in time is the answer, and the database is not asked', async (t) => {
  for (const outcome of [DONE, BUSY, NOT_OWNER]) {
    const ways = new TwoWays();
    await ways.called();
    await ways.answers('byLink', outcome);

    t.is(await ways.outcome, outcome);
    t.deepEqual([ways.byDatabase.length, ways.calls.detoured, ways.clock.waiting()], [0, 0, 0]);
  }
});

test('an admin that is not known to be alive is asked by nothing but the link', async (t) => {
  const ways = new TwoWays();
  ways.isCallable = false;

  await ways.silent();
  await ways.answers('byLink', UNSENT);

  t.is(await ways.outcome, UNSENT);
  t.is(ways.byDatabase.length, 0);
});

test('one that answers by way of the database alone is waited for no longer by the link', async (t) => {
  const ways = new TwoWays();
  const call = callOf({ remaining_ms: 4_500, attempt: 2 });

  await ways.silent(call);
  const atOnce = ways.byLink[0]?.signal.aborted;
  await ways.answers('byDatabase', DONE);

  t.is(await ways.outcome, DONE);
  t.deepEqual([atOnce, ways.byLink[0]?.signal.aborted], [false, true]);
  t.deepEqual(ways.byDatabase[0]?.call, { ...call, remaining_ms: 4_500 - DETOUR_AFTER_MS });
  t.is(ways.calls.detoured, 1);
});

test('one that cannot be reached is asked both ways at once, and the link may be the first to answer', async (t) => {
  const ways = new TwoWays();
  ways.isUnreached = true;

  await ways.called();
  ways.clock.pass(0);
  await turns();
  const asked = [ways.byLink.length, ways.byDatabase.length];
  await ways.answers('byLink', DONE);

  t.is(await ways.outcome, DONE);
  t.deepEqual(asked, [1, 1]);
  t.true(ways.byDatabase[0]?.signal.aborted);
  t.is(ways.calls.detoured, 0);
});

test('one that is too busy for what came by one way may be doing it as it came by the other', async (t) => {
  const [full, first] = [new TwoWays(), new TwoWays()];

  await full.silent();
  await full.answers('byDatabase', BUSY);
  const isEnded = full.byLink[0]?.signal.aborted;
  await full.answers('byLink', DONE);
  await first.silent();
  await first.answers('byLink', BUSY);
  await first.answers('byDatabase', DONE);

  t.is(isEnded, false);
  t.deepEqual([await full.outcome, await first.outcome], [DONE, DONE]);
  t.deepEqual([full.calls.detoured, first.calls.detoured], [0, 1]);
});

for (const [link, database, outcome] of [
  [LOST, BUSY, LOST],
  [BUSY, LOST, LOST],
  [UNSENT, BUSY, BUSY],
  [BUSY, BUSY, BUSY],
  [LOST, UNHEARD, LOST],
  [UNSENT, LOST, LOST],
  [UNSENT, UNHEARD, UNSENT],
] as const)
  for (const firstWay of ['byLink', 'byDatabase'] as const)
    test(`nothing was done only where neither way did: ${nameOf(link)}, ${nameOf(database)}, ${firstWay}`, async (t) => {
      const ways = new TwoWays();

      await ways.silent();
      const both = [() => ways.answers('byLink', link), () => ways.answers('byDatabase', database)];
      for (const answer of firstWay === 'byLink' ? both : both.toReversed()) await answer();

      t.deepEqual(await ways.outcome, outcome);
      t.is(ways.calls.detoured, 0);
    });

test('whoever asked may end it, on both ways, and what was sent then may have been done', async (t) => {
  const [before, during] = [new TwoWays(), new TwoWays()];
  const [early, late] = [new AbortController(), new AbortController()];

  await before.called(callOf(), early.signal);
  early.abort();
  await before.answers('byLink', LOST);
  await during.silent(callOf(), late.signal);
  late.abort();
  const ended = [during.byLink[0]?.signal.aborted, during.byDatabase[0]?.signal.aborted];
  await during.answers('byLink', LOST);
  await during.answers('byDatabase', UNHEARD);

  t.deepEqual([await before.outcome, await during.outcome], [LOST, LOST]);
  t.is(before.byDatabase.length, 0);
  t.deepEqual(ended, [true, true]);
});

function nameOf(outcome: PeerOutcome): string {
  return outcome.type === 'lost' && outcome.sure ? 'unsent' : outcome.type;
}
