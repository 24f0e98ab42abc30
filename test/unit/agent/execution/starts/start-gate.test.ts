/** What may start without asking an admin, on a clock that does not always go forward (C8). */
import test from 'ava';
import { StartGate } from '../../../../../agent/execution/starts/start-gate.ts';
import { executionId } from '../../../../support/agent/session-fixture.ts';

/** A gate that beat on a clock which went far ahead, and is back. */
function gateOnTwoClocks() {
  let nowMs = 100;
  const gate = new StartGate(() => nowMs);
  const beatAt = (atMs: number) => {
    nowMs = atMs;
    return gate.beat();
  };
  return { gate, beatAt };
}

test('what was held by a clock that ran ahead is released by an answer to what is asked since it is back', (t) => {
  const { gate, beatAt } = gateOnTwoClocks();
  gate.arrived(executionId(1), 100, 60_000);
  beatAt(100);
  t.true(beatAt(1_000_000));
  gate.hold([executionId(1)]);

  t.true(beatAt(101), 'nothing of before says anything: what waits is to be held');
  t.deepEqual([...gate.held()], [[executionId(1), 101]]);
  gate.release(executionId(1), 1_000_000, 60_000);
  t.true(gate.isHeld(executionId(1)), 'asked on the clock that is gone');
  gate.release(executionId(1), 101, 60_000);

  t.false(gate.isHeld(executionId(1)));
  t.deepEqual([beatAt(60_100), gate.isOver(executionId(1))], [true, false]);
  beatAt(60_101);
  t.true(gate.isOver(executionId(1)));
});

test('nothing is believed that was sent on a clock that is gone', (t) => {
  const { gate, beatAt } = gateOnTwoClocks();
  beatAt(100);
  beatAt(1_000_000);
  beatAt(101);

  t.deepEqual(
    [1_000_000, 100, 101].map((bornMs) => gate.isCurrent(bornMs)),
    [false, false, true],
  );
});
