/** What is not begun to be stored, since too much else is, is no reason to ask the database over and over. */
import test from 'ava';
import { start, stop } from 'nact';
import type { Behaviour } from '../../../../actors/behaviour.ts';
import { NothingWritten } from '../../../../actors/ports.ts';
import { step, type Change } from '../../../../actors/step.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import { spawnActor, type ActorPlan } from '../../../../supervisors/runtime/spawn.ts';
import { execution } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';

interface Fact {
  readonly type: 'fact';
}

const change: Change = { write: { kind: 'execution-sent', execution: execution(1), atMs: 0 }, events: [], notices: [] };

const behaviour: Behaviour<number, Fact> = {
  transition: (state) => step(state + 1, [change]),
  recoveryEffects: () => [],
  refreshed: (_live, rows) => rows,
};

test('a fact that is not begun to be stored is tried again after a pause, and its rows are read once a try', async (t) => {
  const clock = createFakeClock();
  const mailbox = new Mailbox<Fact>();
  const [tries, refusals] = [3, 2];
  let tried = 0;
  let read = 0;
  const plan = {
    behaviour,
    mailbox,
    clock,
    committer: {
      async commit() {
        tried += 1;
        return tried > refusals ? Promise.resolve([]) : Promise.reject(new NothingWritten('too many wait already'));
      },
      ready: () => Promise.resolve(),
    },
    lease: () => null,
    reload: () => {
      read += 1;
      return Promise.resolve(0);
    },
    isMoved: () => false,
    perform: () => undefined,
  } as unknown as ActorPlan<number, Fact>;
  const system = start();
  t.teardown(() => stop(system));
  const actor = spawnActor(plan, { parent: system, name: 'one' }, 0);

  mailbox.push({ type: 'fact' });
  actor.wake();
  for (let pauses = 0; pauses < refusals; pauses += 1) {
    await until('it waits', () => clock.waiting() === 1);
    t.deepEqual([tried, read], [pauses + 1, pauses]);
    clock.pass(1_000);
  }
  await until('it is stored', () => tried === tries && actor.state === 1);

  t.is(read, refusals);
});
