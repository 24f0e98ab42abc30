/** A step whose lease was lost while it was stored promises nothing: it is decided again. */
import test from 'ava';
import { start, stop } from 'nact';
import type { Behaviour } from '../../../../actors/behaviour.ts';
import { STALE_EPOCH, type Refusal } from '../../../../actors/refusal.ts';
import { step, type Change, type Effect } from '../../../../actors/step.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import type { RefusedChange } from '../../../../supervisors/ports.ts';
import { spawnActor, type ActorPlan } from '../../../../supervisors/runtime/spawn.ts';
import { execution, session } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';

interface TestMessage {
  readonly type: 'results' | 'refused';
}

const ALREADY: Refusal = { code: 'conflict', message: 'It has already finished.' };
const executions = [execution(1), execution(2)];
const confirm: Effect = { type: 'send', session: session(1), frame: { type: 'confirm', executions } };
const changes = executions.map((one): Change => ({
  write: { kind: 'execution-sent', execution: one, atMs: 0 },
  events: [],
  notices: [],
}));

/** Results are confirmed once they are stored. */
const behaviour: Behaviour<number, TestMessage> = {
  transition: (state, message) => step(state + 1, message.type === 'results' ? changes : [], [confirm]),
  recoveryEffects: () => [],
  refreshed: (_live, rows) => rows,
};

test('nothing is confirmed of a step that is stale in part, whatever was refused before that, until it is stored', async (t) => {
  const clock = createFakeClock();
  const mailbox = new Mailbox<TestMessage>();
  const performed: Effect[] = [];
  const answers: (readonly Refusal[])[] = [[ALREADY, STALE_EPOCH], []];
  let tried = 0;
  const plan = {
    behaviour,
    mailbox,
    clock,
    committer: {
      async commit(_lease: unknown, asked: readonly Change[]): Promise<readonly RefusedChange[]> {
        const refusals = answers[tried] ?? [];
        tried += 1;
        return Promise.resolve(
          asked.flatMap((change, index) => {
            const refusal = refusals[index];
            return refusal === undefined ? [] : [{ change, refusal }];
          }),
        );
      },
      ready: () => Promise.resolve(),
    },
    lease: () => null,
    reload: () => Promise.resolve(0),
    isMoved: () => false,
    refused: () => ({ type: 'refused' }),
    perform: (effects: readonly Effect[]) => performed.push(...effects),
  } as unknown as ActorPlan<number, TestMessage>;
  const system = start();
  t.teardown(() => stop(system));
  const actor = spawnActor(plan, { parent: system, name: 'one' }, 0);

  mailbox.push({ type: 'results' });
  actor.wake();
  await until('it was refused', () => clock.waiting() === 1 || performed.length > 0);
  t.deepEqual(performed, []);
  t.is(mailbox.size(), 1, 'it waits to be decided again');
  clock.pass(1_000);
  await until('it is stored', () => tried === 2 && performed.length > 0);

  t.deepEqual(performed, [confirm]);
});
