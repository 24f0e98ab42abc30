/** What an admin that stood still lets start: nothing by a time or a lease of before (C8, O1, O2). */
import test from 'ava';
import type { NodeState } from '../../../actors/node/state.ts';
import { DatabaseClock } from '../../../persistence/database-clock.ts';
import { LEASE_MS } from '../../../persistence/ownership/leases.ts';
import { createLeaseClock, systemClock } from '../../../transport/net/clock.ts';
import type { ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { session } from '../../support/actors.ts';
import { silentLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import type { Placed, SupervisorsFixture } from './actors-fixture.ts';
import { FaultyCommitter } from './faults.ts';
import { startOwner, startSupervisors } from './fixture.ts';
import { createFreezableClock } from './frozen.ts';

/** An admin stood still for so long, in ms: longer than any lease. */
const STOOD_STILL_MS = 600_000;

/** What an execution has left, in ms: less than that. */
const LEFT_MS = 300_000;

/** An execution on this node that expires in so long. */
async function expiring(fixture: SupervisorsFixture, placed: Placed, leftMs: number): Promise<ExecutionId> {
  const { executions } = await fixture.run([placed], Date.now() + leftMs);
  return executions[0] as ExecutionId;
}

function ask(fixture: SupervisorsFixture, node: NodeId, executions: readonly ExecutionId[]): void {
  fixture.tell('node', node, { type: 'executions-asked', session: session(1), ask: 1, executions });
}

/** Types of the frames that agents were sent, but for the welcome. */
const frameTypes = ({ sessions }: SupervisorsFixture) =>
  sessions.frames.map(({ frame }) => frame.type).filter((type) => type !== 'welcome');

test('an agent that asks is told what is left by the database, whatever time it is here', async (t) => {
  const clock = { ...systemClock, nowMs: () => Date.now() - STOOD_STILL_MS };
  const fixture = await startOwner(t, { clock });
  const placed = await fixture.createLiveNode();
  const over = await expiring(fixture, placed, -1_000);
  const left = await expiring(fixture, placed, LEFT_MS);
  const endless = await fixture.execution(placed);

  ask(fixture, placed.node, [over, left, endless]);
  const { executions } = await fixture.sent('still-open');

  const leftMs = executions[1]?.expires_in_ms ?? 0;
  t.true(leftMs > 0 && leftMs <= LEFT_MS, `${leftMs} ms`);
  t.deepEqual(executions, [
    { execution: over, expires_in_ms: 0 },
    { execution: left, expires_in_ms: leftMs },
    { execution: endless, expires_in_ms: null },
  ]);
});

for (const [what, stops] of [
  ['suspended', { isBootStopped: false }],
  ['stopped by its hypervisor', { isBootStopped: true }],
] as const)
  test(`an admin that was ${what} delivers nothing with the time that was left before`, async (t) => {
    let known: DatabaseClock | null = null;
    const clock = {
      nowMs: () => known?.nowMs() ?? Date.now(),
      after: systemClock.after,
      whenKnown: (run: () => void) => (known === null ? run() : known.whenKnown(run)),
    };
    const fixture = await startOwner(t, { clock });
    let missedMs = 0;
    const witnesses = {
      monotonicMs: () => performance.now() - missedMs,
      bootMs: () => performance.now() - (stops.isBootStopped ? missedMs : 0),
      wallMs: () => Date.now(),
    };
    const never = { nowMs: () => Date.now(), after: () => () => undefined };
    known = await DatabaseClock.start(fixture.database.pool, { clock: never, witnesses, log: silentLog });
    const placed = await fixture.createNode();
    const over = await expiring(fixture, placed, -LEFT_MS); // while it stood still

    missedMs = STOOD_STILL_MS;
    fixture.connect(placed.node, 1);
    const { deliveries } = await fixture.sent('deliver');

    t.deepEqual(
      deliveries.map(({ execution, expires_in_ms: leftMs }) => [execution, leftMs]),
      [[over, 0]],
    );
  });

test('what is left is counted when a delivery is sent, however long its commit took', async (t) => {
  const faults = new FaultyCommitter();
  let aheadMs = 0;
  const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs };
  const fixture = await startOwner(t, { clock, committer: faults.over });
  const placed = await fixture.createNode();
  await expiring(fixture, placed, STOOD_STILL_MS + LEFT_MS);

  faults.hold();
  fixture.connect(placed.node, 1);
  await until(
    'it is decided',
    () => fixture.tree.directory.find({ kind: 'node', id: placed.node })?.mailbox.size() === 0,
  );
  aheadMs = STOOD_STILL_MS;
  faults.release();
  const { deliveries } = await fixture.sent('deliver');

  const leftMs = deliveries[0]?.expires_in_ms ?? 0;
  t.true(leftMs > 0 && leftMs <= LEFT_MS, `${leftMs} ms`);
});

/** An admin whose machine was suspended beyond its leases when it is asked, and does not know yet whose these are. */
async function suspendedAtQuestion(t: Parameters<typeof startSupervisors>[0]) {
  const clock = createFreezableClock();
  let sleptMs = 0;
  const leaseClockMs = createLeaseClock({
    monotonicMs: () => performance.now(),
    bootMs: () => performance.now() + sleptMs,
    wallMs: () => Date.now() + sleptMs,
  });
  const fixture = await startSupervisors(t, { clock, leaseClockMs });
  const placed = await fixture.createLiveNode();
  const execution = await fixture.execution(placed);
  await fixture.sent('deliver');
  const acknowledged = { session: session(1), executions: [execution], atMs: Date.now() };
  fixture.tell('node', placed.node, { type: 'executions-acknowledged', ...acknowledged });
  await until('it is sent', async () => (await fixture.statusOf('command_execution', execution)) === 'sent');
  const state = () => fixture.tree.directory.find({ kind: 'node', id: placed.node })?.state as NodeState | undefined;
  return {
    fixture,
    placed,
    execution,
    clock,
    /** Its rounds of ownership stand still from now on, and its leases have run out by its own clock. */
    suspend: () => {
      clock.freeze();
      sleptMs += LEASE_MS;
    },
    /** It is asked, and has read the rows. */
    asked: async (): Promise<void> => {
      const before = state()?.lookUps;
      ask(fixture, placed.node, [execution]);
      await until('the rows are read', () => state()?.lookUps !== before && state()?.reads === 0);
    },
  };
}

test('an owner that wakes after a takeover lets nothing start: who owns the cluster now is asked (O1)', async (t) => {
  const { fixture, placed, clock, suspend, asked } = await suspendedAtQuestion(t);
  const other = await startSupervisors(t, { connection: fixture.connection });
  suspend();
  await until('the other owns it', () => other.tree.held.holds(placed.cluster));

  await asked();
  t.deepEqual(frameTypes(fixture), ['deliver']);
  clock.thaw();
  await until('it lets go', () => !fixture.tree.held.holds(placed.cluster));

  t.deepEqual(frameTypes(fixture), ['deliver']);
});

test('an owner that wakes and is the owner still reads again what may start: it may be unwanted by now (C8)', async (t) => {
  const { fixture, execution, clock, suspend, asked } = await suspendedAtQuestion(t);
  suspend();

  await asked();
  t.deepEqual(frameTypes(fixture), ['deliver']);
  await fixture.rows('update command_execution set cancel_requested_at = clock_timestamp() where id = $1', [execution]);
  clock.thaw();
  const { executions } = await fixture.sent('cancel');

  t.deepEqual(executions, [execution]);
  t.deepEqual(frameTypes(fixture), ['deliver', 'cancel']);
});
