/** When an agent asks what may still start, and what it makes of an admin of a version that cannot be asked. */
import test, { type ExecutionContext } from 'ava';
import { LOOKED_UP_BURST_MAX, LOOKED_UP_PER_SECOND_MAX } from '../../../../actors/node/look-ups.ts';
import { ASKED_BURST_MAX, ASKED_PER_SECOND_MAX, Asking } from '../../../../agent/session/still-open.ts';
import { StartGate } from '../../../../agent/execution/starts/start-gate.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX, PEERED_PING_MS } from '../../../../transport/protocol/limits.ts';
import { PROTOCOL_VERSION_ASKS } from '../../../../transport/protocol/version.ts';
import { liveNode, session } from '../../../support/actors.ts';
import { executionId, NotingRunner } from '../../../support/agent/session-fixture.ts';
import { say } from '../../actors/node/fixture.ts';

/** What was asked: about which executions, and when. */
interface Question {
  readonly ask: number;
  readonly executions: readonly ExecutionId[];
  readonly atMs: number;
}

/** The questions of one session, over a real gate, at the time that is set. */
function opened(protocol = PROTOCOL_VERSION_ASKS) {
  const gate = new StartGate((): number => fixture.nowMs);
  const runner = Object.assign(new NotingRunner(), {
    held: () => gate.held(),
    release: (open: readonly { execution: ExecutionId; expiresInMs: number | null | undefined }[], askedMs: number) => {
      for (const { execution, expiresInMs } of open) gate.release(execution, askedMs, expiresInMs);
    },
  });
  const questions: Question[] = [];
  const fixture = {
    nowMs: 0,
    gate,
    questions,
    asking: new Asking(runner, {
      aliveMs: (): number => fixture.nowMs,
      send(frame) {
        if (frame.type !== 'ask-open') throw new Error(`it says ${frame.type}`);
        questions.push({ ask: frame.ask, executions: frame.executions, atMs: fixture.nowMs });
      },
      protocol,
      helloMs: 0,
    }),
  };
  return fixture;
}

const some = (count: number) => Array.from({ length: count }, (_, index) => executionId(index + 1));

/** Fails if a node whose database is away hangs up on who asks this. */
function areTaken(t: ExecutionContext, questions: readonly Question[]): void {
  let state = liveNode();
  for (const { ask, executions, atMs } of questions) {
    const step = say(state, { type: 'executions-asked', session: session(1), ask, executions }, atMs);
    t.deepEqual(
      step.effects.map(({ type }) => type),
      ['look-up'],
      `at ${atMs} ms`,
    );
    state = step.state;
  }
}

test('what two sessions in a row may ask and say in their hellos is within what an admin allows, and so is the rate', (t) => {
  t.true(2 * (ASKED_BURST_MAX + EXECUTIONS_PER_FRAME_MAX) <= LOOKED_UP_BURST_MAX);
  t.true(2 * ASKED_PER_SECOND_MAX <= LOOKED_UP_PER_SECOND_MAX);
});

for (const count of [3, 256, EXECUTIONS_PER_FRAME_MAX])
  test(`${count} that wait are asked about with the pings while nobody answers, and no node hangs up for it`, (t) => {
    const agent = opened();
    agent.gate.hold(some(count));

    agent.asking.ask();
    for (let ping = 1; ping <= 100; ping += 1) {
      agent.nowMs += PEERED_PING_MS;
      agent.asking.pinging();
    }

    areTaken(t, agent.questions);
    const perQuestion = Math.ceil((count * 1_000) / ASKED_PER_SECOND_MAX / PEERED_PING_MS);
    t.true(agent.questions.length >= 100 / perQuestion, `asked ${agent.questions.length} times`);
    t.deepEqual(agent.questions.at(-1)?.executions, some(count));
  });

test('a machine that stands still again and again while much waits is not hung up, and asks about all of it in the end', (t) => {
  const agent = opened();
  const waiting = some(EXECUTIONS_PER_FRAME_MAX);

  for (let stalls = 0; stalls < 30; stalls += 1) {
    agent.nowMs += 2_500;
    agent.gate.hold(waiting);
    agent.asking.ask();
    agent.asking.pinging();
  }
  const lastMs = agent.nowMs;
  for (let ping = 0; ping < 15; ping += 1) {
    agent.nowMs += PEERED_PING_MS;
    agent.asking.pinging();
  }

  areTaken(t, agent.questions);
  const asked = agent.questions.filter(({ atMs }) => atMs >= lastMs).flatMap(({ executions }) => executions);
  t.deepEqual(new Set(asked), new Set(waiting));
});

test('what begins to wait is asked about at once and alone, and anew after a stall: an answer of before does not count', (t) => {
  const agent = opened();
  const [first, second] = [executionId(1), executionId(2)];
  const answer = (ask: number) =>
    agent.asking.answered({ type: 'still-open', seq: 1, ask, executions: [{ execution: first, expires_in_ms: null }] });

  agent.gate.hold([first]);
  agent.asking.ask();
  agent.nowMs = 10;
  agent.gate.hold([second]);
  agent.asking.ask();
  agent.asking.ask();
  agent.nowMs = 20; // it stood still
  agent.gate.hold([first]);
  agent.asking.ask();
  answer(1);
  const isHeld = agent.gate.isHeld(first);
  answer(3);
  agent.nowMs = 20_000;
  agent.asking.pinging();

  t.deepEqual(
    agent.questions.map(({ executions }) => executions),
    [[first], [second], [first], [second]],
  );
  t.deepEqual([isHeld, agent.gate.isHeld(first)], [true, false]);
});

test('an admin of an earlier version has said what ended during a stall once it answers a ping that came after it, and not when that ping goes out', (t) => {
  const agent = opened(PROTOCOL_VERSION_ASKS - 1);
  agent.asking.pinging();
  agent.nowMs = 15_000; // it stood still
  agent.gate.hold([executionId(1)]);
  const isHeld = [];

  agent.asking.pinging();
  isHeld.push(agent.gate.isHeld(executionId(1)));
  agent.asking.ponged(); // to the ping of before
  isHeld.push(agent.gate.isHeld(executionId(1)));
  agent.asking.ponged();
  isHeld.push(agent.gate.isHeld(executionId(1)));

  t.deepEqual(isHeld, [true, true, false]);
  t.deepEqual(agent.questions, [], 'it would not understand');
});
