/**
 * The status of a node while agents and admins come and go at any time: what must hold whatever the order (V1,
 * docs/health.md).
 */
import test from 'ava';
import * as fc from 'fast-check';
import { CALM_CHANGES_MAX, CHANGES_TOLD_MAX, DAMPING_WINDOW_MS } from '../../../../actors/node/damping.ts';
import { AGENT_RETURN_MS_MAX } from '../../../../actors/node/reachability.ts';
import { statusOf } from '../../../../actors/node/status.ts';
import { REPORT_INTERVAL_MS } from '../../../../transport/protocol/limits.ts';
import { StatusFixture } from './status-fixture.ts';

interface Happening {
  readonly happen: (fixture: StatusFixture) => void;
  /** Counterexamples are told in these words. */
  readonly toString: () => string;
}

const RANK = { healthy: 0, unhealthy: 1, unreachable: 2 } as const;

const named = (name: string, happen: (fixture: StatusFixture) => void): Happening => ({ happen, toString: () => name });
const bad = fc.constantFrom([], [], ['ssh'], ['ssh', 'disk']);

/** Agents and time as they come, mostly short after one another, so that statuses flap. */
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 5,
    arbitrary: bad.map((services) =>
      named(`connect with ${services.length} problems`, (fixture) => fixture.connect(services)),
    ),
  },
  {
    weight: 8,
    arbitrary: bad.map((services) =>
      named(`report ${services.length} problems`, (fixture) => fixture.report(services)),
    ),
  },
  { weight: 2, arbitrary: fc.constant(named('late', (fixture) => fixture.late())) },
  { weight: 3, arbitrary: fc.constant(named('disconnect', (fixture) => fixture.disconnect())) },
  { weight: 6, arbitrary: fc.nat(5_000).map((ms) => named(`pass ${ms} ms`, (fixture) => fixture.pass(ms))) },
  {
    weight: 4,
    arbitrary: fc
      .integer({ min: 5_000, max: 60_000 })
      .map((ms) => named(`pass ${ms} ms`, (fixture) => fixture.pass(ms))),
  },
  { weight: 1, arbitrary: fc.constant(named('restart the admin', (fixture) => fixture.restart())) },
  { weight: 1, arbitrary: fc.constant(named('commit in doubt', (fixture) => fixture.doubt())) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 5_000, max: 120_000 })
      .map((ms) => named(`freeze for ${ms} ms`, (fixture) => fixture.freeze(ms))),
  },
);

const happenings = fc.array(happening, { minLength: 10, maxLength: 200 });
const runs = { numRuns: Number(process.env['EDGE_MODEL_RUNS'] ?? 300), includeErrorInReport: true };

function fail(problem: string): never {
  throw new Error(problem);
}

/** What holds at any time. */
function check(fixture: StatusFixture): void {
  const { session, record } = fixture.state;
  const [event] = fixture.events.slice(-1);
  if (record.status !== fixture.rows.status) fail(`the actor has ${record.status}, its row ${fixture.rows.status}`);
  if (session !== null && RANK[record.status] < RANK[statusOf(session)])
    fail(`told as ${record.status}, and shows ${statusOf(session)}`);
  if ((record.standing.reason === null) !== (record.status === 'healthy'))
    fail(`${record.status}, for ${record.standing.reason}`);
  if (event !== undefined && record.standing.sinceMs !== event.atMs)
    fail(`since ${record.standing.sinceMs}, told at ${event.atMs}`);
}

/** What holds of all that was told. */
function checkTold(fixture: StatusFixture, dampingMs: number): void {
  fixture.events.forEach((event, index) => {
    const before = fixture.events[index - 1]?.status ?? 'unreachable';
    if (event.previous !== before || event.status === before)
      fail(`told ${event.previous} to ${event.status} after ${before}`);
    const within = fixture.events
      .slice(0, index + 1)
      .filter(({ atMs }) => atMs > event.atMs - DAMPING_WINDOW_MS).length;
    if (dampingMs > 0 && within > CHANGES_TOLD_MAX) fail(`${within} changes within a window`);
  });
  for (const [index, atMs] of fixture.refreshes.entries()) {
    const before = fixture.refreshes[index - 1];
    if (before !== undefined && atMs - before < REPORT_INTERVAL_MS)
      fail(`reasons were stored ${atMs - before} ms apart`);
  }
  const early = fixture.unreachables.find(({ atMs, notBeforeMs }) => atMs < notBeforeMs);
  if (early !== undefined) fail(`unreachable ${early.notBeforeMs - early.atMs} ms too early`);
}

for (const dampingMs of [30_000, 0]) {
  test(`with ${dampingMs} ms of damping, status events follow each other, keep their limits, and end at the right status`, (t) => {
    fc.assert(
      fc.property(happenings, fc.boolean(), (all, connected) => {
        const fixture = new StatusFixture(dampingMs);
        for (const { happen } of all) {
          const isCalm = dampingMs === 0 || fixture.changesWithin(DAMPING_WINDOW_MS) < CALM_CHANGES_MAX - 2;
          happen(fixture);
          check(fixture);
          const { session, record } = fixture.state;
          if (
            isCalm &&
            session !== null &&
            record.status !== statusOf(session) &&
            fixture.changesWithin(DAMPING_WINDOW_MS) < CALM_CHANGES_MAX
          )
            fail(`held back: ${record.status}, shows ${statusOf(session)}`);
        }

        if (connected && fixture.state.session === null) fixture.connect(['disk']);
        fixture.pass(DAMPING_WINDOW_MS + AGENT_RETURN_MS_MAX);
        check(fixture);
        checkTold(fixture, dampingMs);
        const { session, record } = fixture.state;
        const atRest = session === null ? 'unreachable' : statusOf(session);
        if (record.status !== atRest) fail(`at rest ${record.status}, not ${atRest}`);
      }),
      runs,
    );
    t.pass();
  });
}

test('a service that fails and recovers every second for an hour is news a few times, and in the end the truth is told', (t) => {
  const fixture = new StatusFixture(30_000);
  fixture.connect([]);

  for (let second = 0; second < 3_600; second += 1) {
    fixture.report(second % 2 === 0 ? ['ssh'] : []);
    fixture.pass(1_000);
  }
  const flapping = fixture.events.length;
  fixture.report([]);
  fixture.pass(DAMPING_WINDOW_MS);

  checkTold(fixture, 30_000);
  t.true(flapping <= 12 * CHANGES_TOLD_MAX, `${flapping} events in an hour`);
  t.is(fixture.state.record.status, 'healthy');
});

test('a service that is well for longer than the damping and then fails, again and again, is bounded too', (t) => {
  const fixture = new StatusFixture(30_000);
  fixture.connect([]);

  for (let batch = 0; batch < 100; batch += 1) {
    fixture.report(['ssh']);
    fixture.pass(1_000);
    fixture.report([]);
    fixture.pass(31_000);
  }
  fixture.pass(DAMPING_WINDOW_MS);

  checkTold(fixture, 30_000);
  t.is(fixture.state.record.status, 'healthy');
});
