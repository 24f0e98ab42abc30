/** How a webhook is created, recovered and deleted. */
import test from 'ava';
import { unloaded } from '../../../../actors/webhook/state.ts';
import { answer, REPLY_TO, NOW_MS } from '../../../support/actors.ts';
import {
  after,
  answered,
  attempted,
  behaviour,
  delivery,
  sending,
  RECORD,
  webhook,
} from '../../../support/webhooks/webhook-actor.ts';
import { loadedBy } from './fixture.ts';
import { writesOf } from '../../../support/steps.ts';

test('creating it stores it sealed, and answers without secret and headers', (t) => {
  const { type: _type, ...sealed } = {
    type: 'create',
    replyTo: REPLY_TO,
    url: RECORD.url,
    subscribedEvents: RECORD.subscribedEvents,
    sealedSecret: 's',
    sealedHeaders: 'h',
    id: RECORD.id,
  } as const;
  const initialState = { ...unloaded(RECORD), record: null, supply: 'idle' as const };

  const { state, changes, effects } = after(initialState, { type: 'create', ...sealed, idempotency: null });

  t.like(changes[0]?.write, {
    kind: 'webhook-created',
    url: RECORD.url,
    sealedSecret: 's',
    sealedHeaders: 'h',
    atMs: NOW_MS,
  });
  t.like(state.record, { url: RECORD.url, sealedSecret: 's', insertedAtMs: NOW_MS });
  const at = new Date(NOW_MS).toISOString();
  t.deepEqual(effects, [
    {
      type: 'answer',
      to: REPLY_TO,
      result: {
        ok: true,
        value: {
          id: RECORD.id,
          url: RECORD.url,
          subscribed_events: RECORD.subscribedEvents,
          inserted_at: at,
          updated_at: at,
        },
      },
    },
  ]);
  t.like(after(state, { type: 'create', ...sealed, idempotency: null }), {
    changes: [],
    effects: [{ result: { ok: false, refusal: { code: 'conflict' } } }],
  });
});

test('deleting it cuts what is under way before it answers, and nothing is sent any more (V2)', (t) => {
  const [first, second] = [delivery(1), delivery(2, { subject: delivery(1).subject })];

  const { state, changes, effects } = after(webhook([sending(first), second]), { type: 'delete', replyTo: REPLY_TO });

  t.deepEqual(writesOf({ changes }), [{ kind: 'webhook-deleted', id: RECORD.id }]);
  t.deepEqual(effects, [{ type: 'abort-deliveries' }, answer(), { type: 'stop' }]);
  t.deepEqual(after(state, attempted(first, answered(200))), { state, changes: [], effects: [] });
  t.deepEqual(after(state, { type: 'deliveries-stored' }, loadedBy(1, [second])).effects, []);
});

test('one whose creation was in doubt, and stored after all, takes its record from the rows', (t) => {
  const initialState = { ...unloaded(RECORD), record: null, supply: 'idle' as const };

  const found = behaviour.refreshed(initialState, unloaded(RECORD));

  t.deepEqual(found.record, RECORD);
  t.is(behaviour.recoveryEffects(found, NOW_MS).length, 1);
});

test('a live one has nothing to recover but what is to be read', (t) => {
  for (const supply of ['idle', 'more', 'loading', 'loading-again'] as const)
    t.deepEqual(behaviour.recoveryEffects(webhook([sending(delivery(1))], { supply }), NOW_MS), []);
});
