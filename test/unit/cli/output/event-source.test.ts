/** `edge events tail` at a service that refuses to go on. */
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import type { Handlers } from '../../../../api/client/client.ts';
import { followEvents, type EventsMessage } from '../../../../cli/output/event-source.ts';
import type { LiveClient } from '../../../../cli/service/client.ts';
import { refused } from '../../../support/api/failures.ts';
import { until } from '../../../support/until.ts';

const FULL = refused('service_unavailable', 'Too many live feeds');

/** What somebody follows, and the subscriptions that this takes. */
function follow() {
  const leave = new AbortController();
  const subscriptions: { readonly input: object; readonly handlers: Handlers<EventsMessage> }[] = [];
  const told: EventsMessage[] = [];
  const refusals: unknown[] = [];
  let open = 0;
  const watch = {
    subscribe(input: object, handlers: Handlers<EventsMessage>) {
      subscriptions.push({ input, handlers });
      open += 1;
      return { unsubscribe: () => void (open -= 1) };
    },
  };
  const followed = followEvents(
    { events: { watch } } as unknown as LiveClient['api'],
    { types: ['edge.core.test'], latest: 3 },
    leave.signal,
    {
      told: (message) => told.push(message),
      refused: (error) => refusals.push(error),
    },
  );
  return { leave, subscriptions, told, refusals, followed, open: () => open };
}

const started: EventsMessage = { type: 'started' };
const none: EventsMessage = { type: 'events', events: [] };

test('a refusal that passes is waited for once events were followed, and no event is missed', async (t) => {
  const { leave, subscriptions, told, refusals, followed, open } = follow();

  subscriptions[0]!.handlers.onData({ id: '5', data: started });
  subscriptions[0]!.handlers.onData({ id: '7', data: none });
  subscriptions[0]!.handlers.onError(FULL);
  await until('it is asked again', () => subscriptions.length === 2);
  subscriptions[1]!.handlers.onData({ id: '9', data: none });
  leave.abort();
  await followed;

  t.deepEqual(
    subscriptions.map(({ input }) => input),
    [
      { types: ['edge.core.test'], latest: 3 },
      { types: ['edge.core.test'], latest: 3, lastEventId: '7' },
    ],
  );
  t.deepEqual(told, [started, none, none]);
  t.deepEqual(refusals, [FULL]);
  t.is(open(), 1, 'the one that was refused is over by itself');
});

test('the same refusal at the beginning is told to whoever asked', async (t) => {
  const { subscriptions, followed, refusals } = follow();

  subscriptions[0]!.handlers.onError(FULL);

  await t.throwsAsync(followed, { message: 'Too many live feeds' });
  await setImmediate();
  t.deepEqual([subscriptions.length, refusals], [1, []]);
});

test('a refusal that stays ends it', async (t) => {
  const { subscriptions, followed } = follow();

  subscriptions[0]!.handlers.onData({ id: '5', data: started });
  subscriptions[0]!.handlers.onError(refused('unauthorized', 'No key'));

  await t.throwsAsync(followed, { message: 'No key' });
});

test('an admin of the release before that knows no latest is asked without, from the last event on', async (t) => {
  const { leave, subscriptions, followed } = follow();
  subscriptions[0]!.handlers.onData({ id: '7', data: started });

  subscriptions[0]!.handlers.onError(refused('bad_request', 'Malformed parameter'));
  leave.abort();
  await followed;

  t.deepEqual(subscriptions[1]!.input, { types: ['edge.core.test'], lastEventId: '7' });
});
