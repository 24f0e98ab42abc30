/** Two agents with one identity: when one of them knows, and for how long it leaves the node to the other. */
import test from 'ava';
import { SHARED_MS, SharedIdentity } from '../../../../agent/session/shared-identity.ts';
import { UNKNOWN_MS_MAX } from '../../../../agent/session/refusals.ts';
import { CLOSE, ENROLLED_AGAIN_REASON } from '../../../../transport/protocol/close-codes.ts';
import { RECONNECT_MS_MAX } from '../../../../transport/protocol/limits.ts';
import { sessionFixture } from '../../../support/agent/session-fixture.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

/** From a dial with a token that is taken until the machine has joined again, in ms. */
const REJOIN_MS = 3_000;

function sharedFixture() {
  const clock = createFakeClock(1_000);
  return { clock, shared: new SharedIdentity(() => clock.nowMs()) };
}

test('a session that another agent takes over is a problem for two minutes', (t) => {
  const { clock, shared } = sharedFixture();

  shared.lost();

  t.regex(shared.problem ?? '', /^Another agent runs with the identity of this machine/u);
  clock.pass(SHARED_MS);
  t.is(shared.problem, null);
});

test('two agents that share a token wait ever longer, up to 10 minutes, and have a problem from the second loss on', (t) => {
  const { clock, shared: original } = sharedFixture();
  const copy = new SharedIdentity(() => clock.nowMs());
  const turns = Array.from({ length: 7 }, () =>
    [original, copy].map((loser) => {
      const waitMs = loser.taken();
      const seen = [waitMs, loser.problem !== null];
      clock.pass(waitMs + REJOIN_MS);
      return seen;
    }),
  );

  const seen = [30_000, 60_000, 120_000, 240_000, 480_000, UNKNOWN_MS_MAX, UNKNOWN_MS_MAX].map((waitMs, turn) => [
    waitMs,
    turn > 0,
  ]);
  t.deepEqual(
    turns,
    seen.map((one) => [one, one]),
  );
});

test('a token that is taken once is no problem, and neither is the next one long after', (t) => {
  const { clock, shared } = sharedFixture();

  const waits = [0, 3_600_000].map((ms) => {
    clock.pass(ms);
    return shared.taken();
  });

  t.deepEqual(waits, [RECONNECT_MS_MAX, RECONNECT_MS_MAX]);
  t.is(shared.problem, null);
});

test('a token lost again is a problem until two minutes after the wait, and lengthens the next wait for far longer', (t) => {
  const { clock, shared } = sharedFixture();
  const waitMs = [0, 1, 2, 3, 4].map(() => shared.taken()).at(-1) ?? 0;

  const seen = [waitMs + SHARED_MS - 1, 1].map((ms) => {
    clock.pass(ms);
    return shared.problem !== null;
  });
  clock.pass(UNKNOWN_MS_MAX - 1);

  t.deepEqual(seen, [true, false]);
  t.is(waitMs, 480_000);
  t.is(shared.taken(), UNKNOWN_MS_MAX);
});

test('what one taking after the other told is forgotten once the other agent is stopped', (t) => {
  const { clock, shared } = sharedFixture();
  shared.taken();
  clock.pass(66_000);
  shared.taken();

  clock.pass(3_600_000);

  t.is(shared.problem, null);
  t.is(shared.taken(), RECONNECT_MS_MAX);
});

test('an agent that joined again and whose token is taken once more dials after a longer wait than the first time', (t) => {
  const { clock, shared } = sharedFixture();
  const waits = Array.from({ length: 2 }, () => {
    const { clock: own, link, links } = sessionFixture({ onTaken: () => shared.taken() });
    link().welcome();
    link().hangUp(CLOSE.revoked, ENROLLED_AGAIN_REASON);
    let waitMs = 0;
    for (; links.length === 1; waitMs += 1_000) own.pass(1_000);
    clock.pass(waitMs + REJOIN_MS);
    return waitMs;
  });

  t.deepEqual(waits, [30_000, 60_000]);
  t.regex(shared.problem ?? '', /^Another agent runs/u);
});
