/** Which deliveries a webhook reads, and when. */
import test from 'ava';
import { refuse } from '../../../../actors/refusal.ts';
import { unloaded, WINDOW_DELIVERIES_MAX } from '../../../../actors/webhook/state.ts';
import { id, NOW_MS } from '../../../support/actors.ts';
import {
  after,
  answered,
  attempted,
  behaviour,
  delivery,
  sentBy,
  sending,
  RECORD,
  webhook,
} from '../../../support/webhooks/webhook-actor.ts';
import { SAME, loadedBy, numbers } from './fixture.ts';
import { column } from '../../../support/database/columns.ts';

test('the window takes so many, and is filled up behind its last one when it runs low', (t) => {
  const full = numbers(1, WINDOW_DELIVERIES_MAX).map((number) =>
    delivery(number, { subject: SAME, cursor: `100-${1_000 + number}` }),
  );
  const fresh = unloaded(RECORD);
  t.deepEqual(behaviour.recoveryEffects(fresh, NOW_MS), [
    { type: 'load-deliveries', load: 0, after: null, limit: WINDOW_DELIVERIES_MAX },
  ]);

  let { state, effects } = after(fresh, loadedBy(0, full, true));
  const finished: number[] = [];
  for (const [index, ref] of full.entries()) {
    ({ state, effects } = after(state, attempted(ref, answered(200))));
    if (effects.some(({ type }) => type === 'load-deliveries')) finished.push(index + 1);
    if (finished.length > 0) break;
  }

  t.deepEqual(finished, [WINDOW_DELIVERIES_MAX / 2]);
  t.deepEqual(effects.at(-1), {
    type: 'load-deliveries',
    load: 1,
    after: full.at(-1)?.cursor,
    limit: WINDOW_DELIVERIES_MAX / 2,
  });
  t.is(after(state, { type: 'deliveries-stored' }).effects.length, 0); // one load at a time
});

test('what was stored while a load was under way is looked for again', (t) => {
  const loading = after(webhook(), { type: 'deliveries-stored' });
  t.deepEqual(loading.effects, [{ type: 'load-deliveries', load: 1, after: '100-99', limit: WINDOW_DELIVERIES_MAX }]);

  const { effects } = after(
    loading.state,
    { type: 'deliveries-stored' },
    { type: 'deliveries-stored' },
    loadedBy(1, [delivery(101)]),
  );

  t.deepEqual(effects.at(-1), { type: 'load-deliveries', load: 2, after: '100-101', limit: WINDOW_DELIVERIES_MAX - 1 });
  t.is(after(loading.state, loadedBy(1, [])).effects.length, 0);
});

test('a fresh one that is told before its first load is through looks again behind it', (t) => {
  const { effects } = after(unloaded(RECORD), { type: 'deliveries-stored' }, loadedBy(0, [delivery(1)]));

  t.deepEqual(column(effects, 'type'), ['send-delivery', 'load-deliveries']);
});

test('a load that overlaps with what is there, or with what was finished meanwhile, adds nothing twice', (t) => {
  const [first, second] = [delivery(1), delivery(2)];
  const reading = behaviour.refreshed(webhook([sending(first), sending(second)]), unloaded(RECORD));

  const { state, effects } = after(reading, attempted(first, answered(200)), loadedBy(1, [first, second, delivery(3)]));

  t.deepEqual(
    state.window.map(({ ref, phase }) => [ref.id, phase]),
    [
      [second.id, 'sending'],
      [id('d', 3), 'sending'],
    ],
  );
  t.deepEqual(sentBy(effects), [id('d', 3)]);
});

test('what an earlier load brings is ignored', (t) => {
  const reading = behaviour.refreshed(webhook([], { load: 4, supply: 'loading' }), unloaded(RECORD));

  const { state, effects } = after(reading, loadedBy(4, [delivery(1)]));

  t.is(state, reading);
  t.deepEqual(effects, []);
});

test('news of a delivery that is not there changes nothing', (t) => {
  const state = webhook([delivery(1)]);

  for (const message of [
    attempted(delivery(2), answered(200)),
    attempted(delivery(1), answered(200)),
    { type: 'delivery-due', delivery: delivery(1).id },
    { type: 'delivery-due', delivery: delivery(2).id },
  ] as const) {
    t.is(after(state, message).state, state, message.type);
  }
});

test('one that is read once more takes its place in the order of events', (t) => {
  const [first, second, third] = [9, 10, 11].map((number) => delivery(number, { subject: SAME })) as [
    ReturnType<typeof delivery>,
    ReturnType<typeof delivery>,
    ReturnType<typeof delivery>,
  ];
  const decided = after(webhook([sending(first), second, third]), attempted(first, answered(200)));
  const reread = behaviour.refreshed(decided.state, unloaded(RECORD));
  t.deepEqual(sentBy(decided.effects), [second.id]);

  const { state } = after(
    reread,
    { type: 'refused', write: decided.changes[0]!.write, refusal: refuse('conflict', 'no').refusal },
    loadedBy(1, [first, second, third]),
  );

  t.deepEqual(
    state.window.map(({ ref, phase }) => [ref.id, phase]),
    [
      [first.id, 'ready'],
      [second.id, 'sending'],
      [third.id, 'ready'],
    ],
  );
});
