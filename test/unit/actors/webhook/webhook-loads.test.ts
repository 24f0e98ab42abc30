/** Which deliveries a webhook reads, and when. */
import test from 'ava';
import type { WebhookMessage } from '../../../../actors/webhook/messages.ts';
import { refuse } from '../../../../actors/refusal.ts';
import { REDELIVERIES_MAX, unloaded, WINDOW_DELIVERIES_MAX } from '../../../../actors/webhook/state.ts';
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
    {
      type: 'load-deliveries',
      subscribedEvents: RECORD.subscribedEvents,
      load: 0,
      after: null,
      limit: WINDOW_DELIVERIES_MAX,
    },
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
    subscribedEvents: RECORD.subscribedEvents,
    load: 1,
    after: full.at(-1)?.cursor,
    limit: WINDOW_DELIVERIES_MAX / 2,
  });
  t.is(after(state, { type: 'deliveries-stored' }).effects.length, 0); // one load at a time
});

test('what was stored while a load was under way is looked for again', (t) => {
  const loading = after(webhook(), { type: 'deliveries-stored' });
  t.deepEqual(loading.effects, [
    {
      type: 'load-deliveries',
      subscribedEvents: RECORD.subscribedEvents,
      load: 1,
      after: '100-99',
      limit: WINDOW_DELIVERIES_MAX,
    },
  ]);

  const { effects } = after(
    loading.state,
    { type: 'deliveries-stored' },
    { type: 'deliveries-stored' },
    loadedBy(1, [delivery(101)]),
  );

  t.deepEqual(effects.at(-1), {
    type: 'load-deliveries',
    subscribedEvents: RECORD.subscribedEvents,
    load: 2,
    after: '100-101',
    limit: WINDOW_DELIVERIES_MAX - 1,
  });
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

/**
 * A webhook whose window is full, with as many asked for by hand that are older, and what its rows hold. The tries of
 * the first `unsure` of the window were decided, and their write is refused.
 */
function refusedBehindRedeliveries(unsure: number) {
  const byHand = numbers(1, REDELIVERIES_MAX).map((number) => delivery(number, { cursor: `1-${number}` }));
  const inOrder = numbers(1_001, 1_000 + WINDOW_DELIVERIES_MAX).map((number, place) =>
    delivery(number, { cursor: `2-${number}`, subject: id<string>('b', 2_000 + (place % unsure)) }),
  );
  const redelivered = byHand.map((ref) => ({ ref, phase: 'sending', isRedelivery: true }) as const);
  const tried = inOrder.slice(0, unsure).map(sending);
  const full = webhook([...redelivered, ...tried, ...inOrder.slice(unsure)], { supply: 'more', loadedTo: '2-9999' });
  const { changes } = after(full, attempted(inOrder[0]!, answered(503)));
  const refusal = refuse('conflict', 'no').refusal;
  const refused = inOrder.slice(0, unsure).map(({ id: one }): WebhookMessage => {
    const write = { ...changes[0]!.write, delivery: one } as Extract<WebhookMessage, { type: 'refused' }>['write'];
    return { type: 'refused', write, refusal };
  });
  const { state } = after(behaviour.refreshed(full, unloaded(RECORD)), ...refused);
  return { state, rows: [...byHand, ...inOrder], unsure: () => state.window.filter(({ phase }) => phase === 'unsure') };
}

for (const unsure of [WINDOW_DELIVERIES_MAX, 50])
  test(`${unsure} deliveries of whose tries only the rows know are all read, however many older ones stand before them`, (t) => {
    const { state: begun, rows, unsure: before } = refusedBehindRedeliveries(unsure);
    t.is(before().length, unsure);

    let state = begun;
    let asked: { readonly load: number; readonly after: string | null; readonly limit: number } | undefined = {
      load: state.load,
      after: null,
      limit: WINDOW_DELIVERIES_MAX,
    };
    for (let loads = 0; asked !== undefined && loads < 5; loads += 1) {
      const { load, after: behind, limit } = asked;
      const from = behind === null ? 0 : rows.findIndex(({ cursor }) => cursor === behind) + 1;
      const more = rows.length > from + limit;
      const read = after(state, loadedBy(load, rows.slice(from, from + limit), more));
      state = read.state;
      asked = read.effects.find((effect) => effect.type === 'load-deliveries');
    }

    t.is(state.window.filter(({ phase }) => phase === 'unsure').length, 0);
    t.is(state.window.length, REDELIVERIES_MAX + WINDOW_DELIVERIES_MAX, 'nothing twice');
  });
