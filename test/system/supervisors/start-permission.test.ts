/** What an admin that stood still lets start: nothing by a time of before (C8, O2). */
import test from 'ava';
import { DatabaseClock } from '../../../persistence/database-clock.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import type { ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { session } from '../../support/actors.ts';
import { silentLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import type { Placed, SupervisorsFixture } from './actors-fixture.ts';
import { FaultyCommitter } from './faults.ts';
import { startOwner } from './fixture.ts';

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
