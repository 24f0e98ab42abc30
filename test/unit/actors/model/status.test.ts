/**
 * The status of a node against a world in which agents and admins come and go at any time: what must hold whatever the
 * order (V1, docs/health.md).
 */
import test from 'ava';
import * as fc from 'fast-check';
import { CALM_CHANGES_MAX, CHANGES_TOLD_MAX, DAMPING_WINDOW_MS } from '../../../../actors/node/damping.ts';
import { AGENT_RETURN_MS_MAX } from '../../../../actors/node/session.ts';
import { statusOf } from '../../../../actors/node/status.ts';
import { REPORT_INTERVAL_MS } from '../../../../transport/protocol/limits.ts';
import { StatusWorld } from './status-fixture.ts';

interface Happening {
  readonly happen: (world: StatusWorld) => void;
  /** Counterexamples are told in these words. */
  readonly toString: () => string;
}

const RANK = { healthy: 0, unhealthy: 1, unreachable: 2 } as const;

const named = (name: string, happen: (world: StatusWorld) => void): Happening => ({ happen, toString: () => name });
const bad = fc.constantFrom([], [], ['ssh'], ['ssh', 'disk']);

/** Agents and time as they come, mostly short after one another, so that statuses flap. */
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 5,
    arbitrary: bad.map((services) =>
      named(`connect with ${services.length} problems`, (world) => world.connect(services)),
    ),
  },
  {
    weight: 8,
    arbitrary: bad.map((services) => named(`report ${services.length} problems`, (world) => world.report(services))),
  },
  { weight: 2, arbitrary: fc.constant(named('late', (world) => world.late())) },
  { weight: 3, arbitrary: fc.constant(named('disconnect', (world) => world.disconnect())) },
  { weight: 6, arbitrary: fc.nat(5_000).map((ms) => named(`pass ${ms} ms`, (world) => world.pass(ms))) },
  {
    weight: 4,
    arbitrary: fc.integer({ min: 5_000, max: 60_000 }).map((ms) => named(`pass ${ms} ms`, (world) => world.pass(ms))),
  },
  { weight: 1, arbitrary: fc.constant(named('restart the admin', (world) => world.restart())) },
  { weight: 1, arbitrary: fc.constant(named('commit in doubt', (world) => world.doubt())) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 5_000, max: 120_000 })
      .map((ms) => named(`freeze for ${ms} ms`, (world) => world.freeze(ms))),
  },
);

const happenings = fc.array(happening, { minLength: 10, maxLength: 200 });
const runs = { numRuns: Number(process.env['EDGE_MODEL_RUNS'] ?? 300), includeErrorInReport: true };

function fail(problem: string): never {
  throw new Error(problem);
}

/** What holds at any time. */
function check(world: StatusWorld): void {
  const { session, record } = world.state;
  const [event] = world.events.slice(-1);
  if (record.status !== world.rows.status) fail(`the actor has ${record.status}, its row ${world.rows.status}`);
  if (session !== null && RANK[record.status] < RANK[statusOf(session)])
    fail(`told as ${record.status}, and shows ${statusOf(session)}`);
  if ((record.standing.reason === null) !== (record.status === 'healthy'))
    fail(`${record.status}, for ${record.standing.reason}`);
  if (event !== undefined && record.standing.sinceMs !== event.atMs)
    fail(`since ${record.standing.sinceMs}, told at ${event.atMs}`);
}

/** What holds of all that was told. */
function checkTold(world: StatusWorld, dampingMs: number): void {
  world.events.forEach((event, index) => {
    const before = world.events[index - 1]?.status ?? 'unreachable';
    if (event.previous !== before || event.status === before)
      fail(`told ${event.previous} to ${event.status} after ${before}`);
    const within = world.events.slice(0, index + 1).filter(({ atMs }) => atMs > event.atMs - DAMPING_WINDOW_MS).length;
    if (dampingMs > 0 && within > CHANGES_TOLD_MAX) fail(`${within} changes within a window`);
  });
  for (const [index, atMs] of world.refreshes.entries()) {
    const before = world.refreshes[index - 1];
    if (before !== undefined && atMs - before < REPORT_INTERVAL_MS)
      fail(`reasons were stored ${atMs - before} ms apart`);
  }
  const early = world.unreachables.find(({ atMs, notBeforeMs }) => atMs < notBeforeMs);
  if (early !== undefined) fail(`unreachable ${early.notBeforeMs - early.atMs} ms too early`);
}

for (const dampingMs of [30_000, 0]) {
  test(`whatever happens in whatever order, with ${dampingMs} ms of damping: each event goes on where the last one ended, none is too early, no window sees too many, and at rest the status is what the contract says`, (t) => {
    fc.assert(
      fc.property(happenings, fc.boolean(), (all, connected) => {
        const world = new StatusWorld(dampingMs);
        for (const { happen } of all) {
          const isCalm = dampingMs === 0 || world.changesWithin(DAMPING_WINDOW_MS) < CALM_CHANGES_MAX - 2;
          happen(world);
          check(world);
          const { session, record } = world.state;
          if (
            isCalm &&
            session !== null &&
            record.status !== statusOf(session) &&
            world.changesWithin(DAMPING_WINDOW_MS) < CALM_CHANGES_MAX
          )
            fail(`held back: ${record.status}, shows ${statusOf(session)}`);
        }

        if (connected && world.state.session === null) world.connect(['disk']);
        world.pass(DAMPING_WINDOW_MS + AGENT_RETURN_MS_MAX);
        check(world);
        checkTold(world, dampingMs);
        const { session, record } = world.state;
        const atRest = session === null ? 'unreachable' : statusOf(session);
        if (record.status !== atRest) fail(`at rest ${record.status}, not ${atRest}`);
      }),
      runs,
    );
    t.pass();
  });
}

test('a service that fails and recovers every second for an hour is news a few times, and in the end the truth is told', (t) => {
  const world = new StatusWorld(30_000);
  world.connect([]);

  for (let second = 0; second < 3_600; second += 1) {
    world.report(second % 2 === 0 ? ['ssh'] : []);
    world.pass(1_000);
  }
  const flapping = world.events.length;
  world.report([]);
  world.pass(DAMPING_WINDOW_MS);

  checkTold(world, 30_000);
  t.true(flapping <= 12 * CHANGES_TOLD_MAX, `${flapping} events in an hour`);
  t.is(world.state.record.status, 'healthy');
});

test('a service that is well for longer than the damping and then fails, again and again, is bounded too', (t) => {
  const world = new StatusWorld(30_000);
  world.connect([]);

  for (let batch = 0; batch < 100; batch += 1) {
    world.report(['ssh']);
    world.pass(1_000);
    world.report([]);
    world.pass(31_000);
  }
  world.pass(DAMPING_WINDOW_MS);

  checkTold(world, 30_000);
  t.is(world.state.record.status, 'healthy');
});
