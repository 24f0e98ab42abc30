/** When an agent asks what may still start, and what it makes of an admin of a version that cannot be asked. */
import test, { type ExecutionContext } from 'ava';
import {
  GRANTS_CHECK_COST_MIN,
  LOOKED_UP_BURST_MAX,
  LOOKED_UP_PER_SECOND_MAX,
} from '../../../../actors/node/look-ups.ts';
import {
  ASKED_BURST_MAX,
  ASKED_DEBT_MAX,
  ASKED_PER_SECOND_MAX,
  Asking,
  GRANTS_COST_MIN,
  LookUpAllowance,
} from '../../../../agent/session/still-open.ts';
import type { SessionReach } from '../../../../agent/session/ports.ts';
import { StartGate } from '../../../../agent/execution/starts/start-gate.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { EXECUTIONS_PER_FRAME_MAX, PEERED_PING_MS, SSH_GRANTS_MAX } from '../../../../transport/protocol/limits.ts';
import { PROTOCOL_VERSION_ASKS } from '../../../../transport/protocol/version.ts';
import { liveNode, session } from '../../../support/actors.ts';
import { executionId, NotingRunner, sessionFixture, SETTINGS } from '../../../support/agent/session-fixture.ts';
import { say } from '../../actors/node/fixture.ts';

/** What was asked: about which executions, and when. */
interface Question {
  readonly ask: number;
  readonly executions: readonly ExecutionId[];
  readonly atMs: number;
}

/** The questions of one agent, in a session, over a real gate, at the time that is set. */
function opened(protocol = PROTOCOL_VERSION_ASKS, nowMs = 0) {
  const gate = new StartGate((): number => fixture.nowMs);
  const runner = Object.assign(new NotingRunner(), {
    bornMs: Number.NaN,
    arriving(bornMs: number) {
      runner.bornMs = bornMs;
    },
    held: () => gate.held(),
    release: (open: readonly { execution: ExecutionId; expiresInMs: number | null | undefined }[], askedMs: number) => {
      for (const { execution, expiresInMs } of open) gate.release(execution, askedMs, expiresInMs);
    },
  });
  const questions: Question[] = [];
  const allowance = new LookUpAllowance();
  const welcomed = (): Asking =>
    new Asking(runner, {
      aliveMs: (): number => fixture.nowMs,
      send(frame) {
        if (frame.type !== 'ask-open') throw new Error(`it says ${frame.type}`);
        questions.push({ ask: frame.ask, executions: frame.executions, atMs: fixture.nowMs });
      },
      protocol,
      helloMs: fixture.nowMs,
      allowance,
    });
  const fixture = { nowMs, gate, runner, questions, allowance, welcomed, asking: null as unknown as Asking };
  fixture.asking = welcomed();
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
  t.true(ASKED_BURST_MAX + 2 * (EXECUTIONS_PER_FRAME_MAX + SSH_GRANTS_MAX) <= LOOKED_UP_BURST_MAX);
  t.true(2 * ASKED_PER_SECOND_MAX <= LOOKED_UP_PER_SECOND_MAX);
  t.is(GRANTS_COST_MIN, GRANTS_CHECK_COST_MIN);
});

test('a path that breaks again and again while much waits costs no more questions than one that lasts', (t) => {
  const agent = opened();
  agent.gate.hold(some(EXECUTIONS_PER_FRAME_MAX));

  for (let sessions = 0; sessions < 40; sessions += 1) {
    agent.asking = agent.welcomed();
    agent.asking.ask();
    agent.nowMs += PEERED_PING_MS;
    agent.asking.pinging();
    agent.nowMs += 5_000 - PEERED_PING_MS;
  }

  areTaken(t, agent.questions);
  t.true(agent.questions.length > 40);
});

test('questions and SSH logins of all sessions of an agent count together', (t) => {
  const grants = some(64).map((id) => ({ ssh_username_id: id, ssh_public_key_id: null }));
  const held = new Map(some(EXECUTIONS_PER_FRAME_MAX).map((id) => [id, 0]));
  const { link, clock } = sessionFixture({}, () => 0, {
    runner: Object.assign(new NotingRunner(), { held: () => held }),
    reach: { grants: () => grants, unanswered: () => [] } as unknown as SessionReach,
  });
  const askedIn = (session: number): number => {
    link(session).open();
    link(session).hear({ type: 'welcome', protocol: PROTOCOL_VERSION_ASKS, cluster_name: 'c', settings: SETTINGS });
    link(session).hangUp(1006);
    const asked = link(session).frames.flatMap((frame) => (frame.type === 'ask-open' ? frame.executions : []));
    clock.pass(5_000);
    return asked.length;
  };

  t.deepEqual([askedIn(0), askedIn(1)], [ASKED_BURST_MAX, 5 * ASKED_PER_SECOND_MAX - grants.length]);
});

test('SSH logins that an agent tells of in each session hold up its questions, and no longer than half a minute', (t) => {
  const agent = opened();
  agent.gate.hold([executionId(1)]);

  for (let sessions = 0; sessions < 40; sessions += 1) agent.allowance.namedLogins(SSH_GRANTS_MAX, agent.nowMs);
  agent.asking.ask();
  agent.nowMs = ((ASKED_DEBT_MAX + 1) * 1_000) / ASKED_PER_SECOND_MAX - 1;
  agent.asking.ask();
  const before = agent.questions.length;
  agent.nowMs += 1;
  agent.asking.ask();

  t.deepEqual([before, agent.questions.length], [0, 1]);
  const other = opened();
  other.gate.hold(some(EXECUTIONS_PER_FRAME_MAX));
  other.allowance.namedLogins(1, 0);
  other.asking.ask();
  t.is(other.questions[0]?.executions.length, ASKED_BURST_MAX - GRANTS_COST_MIN, 'one costs as much as a few');
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

test('an older admin has reported what ended in a stall once it answers a ping of after the stall, and not before', (t) => {
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

test('a clock that went back has what waits asked about anew, and neither pongs nor answers of before say anything', (t) => {
  for (const protocol of [PROTOCOL_VERSION_ASKS, PROTOCOL_VERSION_ASKS - 1]) {
    const agent = opened(protocol, 864_000_000);
    const [before, after] = [executionId(1), executionId(2)];
    const answer = (ask: number) =>
      agent.asking.answered({
        type: 'still-open',
        seq: 1,
        ask,
        executions: (ask === 3 ? [after] : [before]).map((execution) => ({ execution, expires_in_ms: null })),
      });
    agent.gate.beat();
    agent.gate.hold([before]);
    agent.asking.ask();
    agent.asking.pinging();
    const heldAfter: number[] = [];
    const look = () => heldAfter.push(agent.gate.held().size);

    agent.nowMs = 60_000;
    t.true(agent.gate.beat());
    agent.asking.ask();
    agent.asking.arriving();
    agent.gate.arrived(after, agent.runner.bornMs, null);
    look();
    agent.asking.pinging();
    answer(1);
    agent.asking.ponged(); // to the ping of before
    look();
    answer(2);
    answer(3);
    agent.asking.ponged();
    look();

    t.deepEqual(heldAfter, [2, 2, 0], `protocol ${protocol}`);
    const asked = agent.questions.map(({ ask, executions }) => [ask, executions]);
    const wanted = [
      [1, [before]],
      [2, [before]],
      [3, [after]],
    ];
    t.deepEqual(asked, protocol < PROTOCOL_VERSION_ASKS ? [] : wanted);
  }
});

test('a clock that went back between a hello and its welcome holds nothing up', (t) => {
  const agent = opened(PROTOCOL_VERSION_ASKS, 864_000_000);

  agent.nowMs = 60_000;
  agent.gate.hold([executionId(1)]);
  agent.asking.arriving();
  for (let ping = 0; ping < 3; ping += 1) {
    agent.nowMs += PEERED_PING_MS;
    agent.asking.pinging();
    agent.asking.ponged();
  }

  t.is(agent.questions.length, 3);
  agent.asking.arriving();
  t.is(agent.runner.bornMs, agent.nowMs);
});
