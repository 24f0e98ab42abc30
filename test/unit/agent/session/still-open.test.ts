/** What an agent makes of an admin of a version that cannot be asked what may still start. */
import test from 'ava';
import { Asking } from '../../../../agent/session/still-open.ts';
import { StartGate } from '../../../../agent/execution/starts/start-gate.ts';
import { PROTOCOL_VERSION_ASKS } from '../../../../transport/protocol/version.ts';
import { executionId, NotingRunner } from '../../../support/agent/session-fixture.ts';

test('an admin of an earlier version has said what ended during a stall once it answers a ping that came after it, and not when that ping goes out', (t) => {
  let nowMs = 0;
  const gate = new StartGate(() => nowMs);
  const runner = Object.assign(new NotingRunner(), {
    held: () => gate.held(),
    release: (
      open: readonly { execution: ReturnType<typeof executionId>; expiresInMs: number | null | undefined }[],
      askedMs: number,
    ) => {
      for (const { execution, expiresInMs } of open) gate.release(execution, askedMs, expiresInMs);
    },
  });
  const asking = new Asking(runner, {
    aliveMs: () => nowMs,
    send: () => t.fail('it would not understand'),
    protocol: PROTOCOL_VERSION_ASKS - 1,
    helloMs: 0,
  });
  asking.pinging();
  nowMs = 15_000; // it stood still
  gate.hold([executionId(1)]);
  const isHeld = [];

  asking.pinging();
  isHeld.push(gate.isHeld(executionId(1)));
  asking.ponged(); // to the ping of before
  isHeld.push(gate.isHeld(executionId(1)));
  asking.ponged();
  isHeld.push(gate.isHeld(executionId(1)));

  t.deepEqual(isHeld, [true, true, false]);
});
