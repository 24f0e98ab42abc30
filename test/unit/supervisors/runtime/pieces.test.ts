/** The parts of the kit that need no actor: mailbox, rounds, asks, bus. */
import test from 'ava';
import * as fc from 'fast-check';
import { createAsks } from '../../../../supervisors/runtime/asks.ts';
import type { ReplyTo } from '../../../../actors/reply-to.ts';
import type { Behaviour } from '../../../../actors/behaviour.ts';
import { createBus } from '../../../../actors/bus.ts';
import { ASK_MS_MAX, ASK_SWEEP_MS, MAILBOX_MESSAGES_MAX, BATCH_MESSAGES_MAX } from '../../../../actors/limits.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import { decideBatch, TransitionFailed } from '../../../../supervisors/runtime/batch.ts';
import { step, unchanged, type Change } from '../../../../actors/step.ts';
import type { Addressed } from '../../../../actors/messages.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { execution, NODE, NOW_MS } from '../../../support/actors.ts';

test('a mailbox is a queue: first in, first out, bounded, and what is put back comes first, whatever its number', (t) => {
  const push = fc.record({ type: fc.constant('push' as const), value: fc.nat() });
  const back = fc.record({ type: fc.constant('back' as const), values: fc.array(fc.nat(), { maxLength: 4 }) });
  const others = fc.constantFrom({ type: 'shift' as const }, { type: 'drain' as const }, { type: 'peek' as const });
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: push }, { weight: 3, arbitrary: others }, back), { maxLength: 60 }),
      (happenings) => {
        const mailbox = new Mailbox<number>(8);
        let model: number[] = [];
        for (const happening of happenings) {
          if (happening.type === 'push') {
            t.is(mailbox.push(happening.value), model.length < 8);
            if (model.length < 8) model.push(happening.value);
          } else if (happening.type === 'back') {
            mailbox.putBack(happening.values);
            model = [...happening.values, ...model];
          } else if (happening.type === 'shift') t.is(mailbox.shift(), model.shift());
          else if (happening.type === 'drain') t.deepEqual(mailbox.drain(), model.splice(0));
          t.is(mailbox.peek(), model[0]);
          t.is(mailbox.size(), model.length);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test(`a mailbox takes ${MAILBOX_MESSAGES_MAX} messages unless told otherwise`, (t) => {
  const mailbox = new Mailbox<number>();
  for (let index = 0; index < MAILBOX_MESSAGES_MAX; index += 1) t.true(mailbox.push(index));

  t.false(mailbox.push(0));
});

interface TestMessage {
  readonly type: 'add' | 'hot' | 'cold' | 'throw';
  readonly replyTo?: ReplyTo | null;
}

const hot: Change = { write: { kind: 'execution-sent', execution: execution(1), atMs: 0 }, events: [], notices: [] };
const cold: Change = { write: { kind: 'recovery-key-cleared', node: NODE }, events: [], notices: [] };

/** Counts its messages; each leaves an effect that says how many there were. */
const counter: Behaviour<number, TestMessage> = {
  transition(state, message) {
    if (message.type === 'throw') throw new Error('a bug');
    const effects = [{ type: 'look-up' as const, executions: [execution(state)], retry: { type: 'rescan' as const } }];
    return step(state + 1, message.type === 'hot' ? [hot] : message.type === 'cold' ? [cold] : [], effects);
  },
  recoveryEffects: () => [],
  refreshed: (_live, rows) => rows,
};

function batches(
  sent: readonly TestMessage[],
  messagesMax?: number,
): { readonly sizes: number[]; readonly alone: boolean[]; readonly state: number } {
  const mailbox = new Mailbox<TestMessage>(10_000);
  for (const message of sent) mailbox.push(message);
  const sizes: number[] = [];
  const alone: boolean[] = [];
  let state = 0;
  while (mailbox.size() > 0) {
    const batch = decideBatch(counter, state, mailbox, NOW_MS, messagesMax);
    t0(batch.effects.length === batch.messages.length);
    ({ state } = batch);
    sizes.push(batch.messages.length);
    alone.push(batch.alone);
  }
  return { sizes, alone, state };
}

function t0(holds: boolean): void {
  if (!holds) throw new Error('each message leaves its effect');
}

const ASKED: TestMessage = { type: 'hot', replyTo: 1 as ReplyTo };

test('a batch decides each message on the state of the last, up to a bound; an ask and a cold write stand alone', (t) => {
  t.deepEqual(batches([{ type: 'add' }, { type: 'hot' }, { type: 'hot' }]), { sizes: [3], alone: [false], state: 3 });
  t.deepEqual(batches([{ type: 'add' }, ASKED, { type: 'hot' }, ASKED, ASKED]), {
    sizes: [1, 1, 1, 1, 1],
    alone: [false, true, false, true, true],
    state: 5,
  });
  t.deepEqual(batches([{ type: 'hot' }, { type: 'cold' }, { type: 'hot' }, { type: 'hot', replyTo: null }]), {
    sizes: [1, 1, 2],
    alone: [false, true, false],
    state: 4,
  });
  t.deepEqual(batches(Array.from({ length: BATCH_MESSAGES_MAX + 1 }, () => ({ type: 'add' }))).sizes, [
    BATCH_MESSAGES_MAX,
    1,
  ]);
  t.deepEqual(batches([{ type: 'add' }, { type: 'add' }], 1).sizes, [1, 1]);
});

test('a message that throws is out of the mailbox, and the ones before it are given back', (t) => {
  const mailbox = new Mailbox<TestMessage>();
  for (const type of ['add', 'hot', 'throw', 'add'] as const) mailbox.push({ type });

  const error = t.throws(() => decideBatch(counter, 0, mailbox, NOW_MS), { instanceOf: TransitionFailed });

  t.deepEqual(
    [error?.poison, error?.before, mailbox.drain()],
    [{ type: 'throw' }, [{ type: 'add' }, { type: 'hot' }], [{ type: 'add' }]],
  );
});

test('nothing changed is the same state, no write and no effect', (t) => {
  const state = { some: 'thing' };

  t.deepEqual([unchanged(state).state === state, unchanged(state).changes, unchanged(state).effects], [true, [], []]);
});

test('who asks gets the first answer; later ones, and those to nobody, are lost', async (t) => {
  const clock = createFakeClock();
  const told: Addressed[] = [];
  const asks = createAsks(clock, (addressed) => void told.push(addressed));
  const asked = asks.ask((replyTo) => ({ to: { kind: 'node', id: NODE }, message: { type: 'delete', replyTo } }));
  const [{ message } = { message: null }] = told;
  const replyTo = (message as { replyTo: ReplyTo }).replyTo;

  asks.answer(replyTo, { ok: true, value: 1 });
  asks.answer(replyTo, { ok: true, value: 2 });
  asks.answer(99 as ReplyTo, { ok: true, value: 3 });

  t.deepEqual(await asked, { ok: true, value: 1 });
  t.is(asks.waiting(), 0);
});

test('who is not answered is refused after their timeout, in order, and no timer stays behind', async (t) => {
  const clock = createFakeClock();
  const asks = createAsks(clock, () => undefined);
  const ask = () => asks.ask((replyTo) => ({ to: { kind: 'node', id: NODE }, message: { type: 'delete', replyTo } }));
  const first = ask();
  clock.pass(2_000);
  const second = ask();
  clock.pass(ASK_MS_MAX - 2_000 + ASK_SWEEP_MS);
  t.is(asks.waiting(), 1);

  clock.pass(2_000);

  for (const refused of await Promise.all([first, second]))
    t.like(refused, { ok: false, refusal: { code: 'service_unavailable', retryAfterSeconds: 1 } });
  clock.pass(ASK_SWEEP_MS);
  t.deepEqual([asks.waiting(), clock.waiting()], [0, 0]);
});

test('everyone on the bus hears, also when a neighbour throws, until they leave', (t) => {
  const log = recordingLog();
  const bus = createBus(log);
  const heard: number[] = [];
  bus.subscribe(() => {
    throw new Error('a bug');
  });
  const leave = bus.subscribe((notices) => heard.push(notices.length));

  bus.publish([{ type: 'events-stored' }]);
  bus.publish([]);
  leave();
  bus.publish([{ type: 'events-stored' }]);

  t.deepEqual(heard, [1]);
  t.is(log.lines.filter((line) => line.level === 'error').length, 2);
});
