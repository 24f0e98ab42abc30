/** What tells of nothing that its step changes waits for no commit. All else does. */
import test from 'ava';
import { start, stop } from 'nact';
import type { Behaviour } from '../../../../actors/behaviour.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { step, type Change, type Effect } from '../../../../actors/step.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import { spawnActor, type ActorPlan } from '../../../../supervisors/runtime/spawn.ts';
import type { RefusedChange } from '../../../../supervisors/ports.ts';
import { execution, session, SETTINGS } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

interface Hello {
  readonly type: 'hello';
}

const change: Change = { write: { kind: 'execution-sent', execution: execution(1), atMs: 0 }, events: [], notices: [] };

const welcome = (index: number): Effect => ({
  type: 'send',
  isEarly: true,
  session: session(index),
  frame: { type: 'welcome', protocol: 1, cluster_name: 'factory', settings: SETTINGS.agent },
});
const hangUp = (index: number): Effect => ({ type: 'hang-up', session: session(index), code: 4001, reason: '' });
const confirm: Effect = { type: 'send', session: session(1), frame: { type: 'confirm', executions: [execution(1)] } };

/** Each hello is of a newer session, whose agent is let in, told something, and stored as connected. */
const behaviour: Behaviour<number, Hello> = {
  transition: (state) =>
    step(state + 1, [change], [...(state === 0 ? [] : [hangUp(state)]), welcome(state + 1), confirm]),
  recoveryEffects: () => [],
  refreshed: (_live, rows) => rows,
};

/** An actor that hears so many hellos at once, and what it performs; its commits come to what `commits` say in turn. */
function running(t: Scope, hellos: number, commits: readonly (() => Promise<readonly RefusedChange[]>)[]) {
  const mailbox = new Mailbox<Hello>();
  const performed: Effect[] = [];
  let tried = 0;
  const plan = {
    behaviour,
    mailbox,
    clock: createFakeClock(),
    committer: {
      async commit() {
        tried += 1;
        return commits[tried - 1]?.() ?? [];
      },
      ready: () => Promise.resolve(),
    },
    lease: () => null,
    reload: () => Promise.resolve(0),
    isMoved: () => false,
    perform: (effects: readonly Effect[]) => performed.push(...effects),
  } as unknown as ActorPlan<number, Hello>;
  const system = start();
  t.teardown(() => stop(system));
  for (let count = 0; count < hellos; count += 1) mailbox.push({ type: 'hello' });
  spawnActor(plan, { parent: system, name: 'one' }, 0);
  return { performed, tried: () => tried };
}

test('an agent is welcomed while its status waits to be stored, and is told all else once it is', async (t) => {
  const { promise, resolve } = Promise.withResolvers<readonly RefusedChange[]>();
  const { performed, tried } = running(t, 1, [() => promise]);

  await until('it is being stored', () => tried() === 1);
  t.deepEqual(performed, [welcome(1)]);
  resolve([]);
  await until('it is stored', () => performed.length > 1);

  t.deepEqual(performed, [welcome(1), confirm]);
});

test('of two sessions that are decided together both are welcomed, and the older one is hung up once that is stored', async (t) => {
  const { promise, resolve } = Promise.withResolvers<readonly RefusedChange[]>();
  const { performed, tried } = running(t, 2, [() => promise]);

  await until('they are being stored', () => tried() === 1);
  t.deepEqual(performed, [welcome(1), welcome(2)]);
  resolve([]);
  await until('they are stored', () => performed.length > 2);

  t.deepEqual(performed, [welcome(1), welcome(2), confirm, hangUp(1), confirm]);
});

test('nothing but the welcome goes out of a step whose commit is in doubt, until it was decided again', async (t) => {
  const { performed, tried } = running(t, 1, [() => Promise.reject(new DatabaseUnavailable('it went away'))]);

  await until('it is stored at the second try', () => performed.includes(confirm));

  t.is(tried(), 2);
  t.deepEqual(performed, [welcome(1), welcome(1), confirm]);
});
