/** A message that lingers waits for what may be stored with it, and for nothing else. */
import test from 'ava';
import { start, stop } from 'nact';
import type { Behaviour } from '../../../../actors/behaviour.ts';
import { step, type Change } from '../../../../actors/step.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import { spawnActor, type ActorPlan } from '../../../../supervisors/runtime/spawn.ts';
import { execution } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';

interface TestMessage {
  readonly type: 'lingering' | 'news';
}

const LINGER_MS = 20;
const change: Change = { write: { kind: 'execution-sent', execution: execution(1), atMs: 0 }, events: [], notices: [] };

/** Each message is a change; in every third state none lingers. */
const behaviour: Behaviour<number, TestMessage> = {
  transition: (state) => step(state + 1, [change]),
  recoveryEffects: () => [],
  refreshed: (_live, rows) => rows,
  lingerMs: (state, message) => (message.type === 'lingering' && state % 3 !== 2 ? LINGER_MS : 0),
};

/** An actor whose commits are counted by their changes. */
function running() {
  const clock = createFakeClock();
  const mailbox = new Mailbox<TestMessage>();
  const commits: number[] = [];
  const plan = {
    behaviour,
    mailbox,
    clock,
    committer: {
      async commit(_lease: unknown, changes: readonly Change[]) {
        commits.push(changes.length);
        return Promise.resolve([]);
      },
    },
    lease: () => null,
    perform: () => undefined,
  } as unknown as ActorPlan<number, TestMessage>;
  const system = start();
  const actor = spawnActor(plan, { parent: system, name: 'one' }, 0);
  return {
    clock,
    commits,
    actor,
    say: (...types: readonly TestMessage['type'][]): void => {
      for (const type of types) {
        mailbox.push({ type });
        actor.wake();
      }
    },
    end: () => stop(system),
  };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

test('one that is alone waits for its time, and is stored then', async (t) => {
  const { clock, commits, say, end } = running();

  say('lingering');
  clock.pass(LINGER_MS - 1);
  await turns();
  t.deepEqual(commits, []);
  clock.pass(1);
  await until('it is stored', () => commits.length === 1);

  t.deepEqual(commits, [1]);
  t.is(clock.waiting(), 0);
  end();
});

test('whatever comes ends the wait, and is stored with it', async (t) => {
  const { clock, commits, say, end } = running();

  say('lingering', 'news');
  await until('both are stored', () => commits.length === 1);
  t.deepEqual(commits, [2]);
  t.is(clock.waiting(), 0, 'nothing is waited for any more');
  say('lingering'); // in a state where none lingers
  await until('it is stored at once', () => commits.length === 2);
  say('lingering', 'lingering');
  await until('two hurry each other', () => commits.length === 3);

  t.deepEqual(commits, [2, 1, 2]);
  end();
});

test('an actor that is stopped waits for nothing', async (t) => {
  const { clock, commits, actor, say, end } = running();

  say('lingering');
  actor.stop();
  t.is(clock.waiting(), 0);
  clock.pass(LINGER_MS);
  await turns();

  t.deepEqual(commits, []);
  end();
});
