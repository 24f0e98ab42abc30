/** The feed behind the page of events, at admins of this release and of the one before. */
import { join } from 'node:path';
import test from 'ava';
import type { Handlers } from '../../../api/client/client.ts';
import type { EventsMessage } from '../../../api/feeds/events.ts';
import { EVENTS_DRAWN_MAX } from '../../../console/lists/events.ts';
import { refused } from '../../support/api/failures.ts';
import { ROOT } from '../../support/source/source-text.ts';

/** What is used of it: its types need those of a browser. */
interface Page {
  readonly EventFeed: new (
    api: object,
    type: string,
  ) => {
    readonly state: { readonly value: object & { readonly kind: string } };
    start(): void;
    pause(): void;
    stop(): void;
  };
}

const { EventFeed } = (await import(join(ROOT, 'console/lists/event-feed.ts'))) as Page;

/** A feed of one type, and what it subscribed to. */
function follow() {
  const subscriptions: { readonly input: object; readonly handlers: Handlers<EventsMessage> }[] = [];
  const watch = {
    subscribe(input: object, handlers: Handlers<EventsMessage>) {
      subscriptions.push({ input, handlers });
      return { unsubscribe: () => undefined };
    },
  };
  const feed = new EventFeed({ events: { watch } }, 'edge.core.test');
  feed.start();
  return { feed, subscriptions };
}

const TYPES = { types: ['edge.core.test'] };

test('it begins with the latest, and goes on where it was paused', (t) => {
  const { feed, subscriptions } = follow();
  subscriptions[0]!.handlers.onData({ id: '7', data: { type: 'started' } });
  t.is(feed.state.value.kind, 'live');

  feed.pause();
  feed.start();

  t.like(subscriptions[0]!.input, { ...TYPES, latest: EVENTS_DRAWN_MAX, lastEventId: undefined });
  t.like(subscriptions[1]!.input, { ...TYPES, lastEventId: '7' });
  feed.stop();
});

test('an admin that knows no latest is asked without, from where the feed was', (t) => {
  const { feed, subscriptions } = follow();
  subscriptions[0]!.handlers.onData({ id: '7', data: { type: 'started' } });

  subscriptions[0]!.handlers.onError(refused('bad_request', 'Malformed parameter'));

  t.deepEqual(subscriptions[1]!.input, { ...TYPES, lastEventId: '7' });
  t.is(feed.state.value.kind, 'connecting');
  feed.stop();
});

test('what is refused without the latest too is told', (t) => {
  const { feed, subscriptions } = follow();

  for (const n of [0, 1]) subscriptions[n]!.handlers.onError(refused('bad_request', 'Malformed parameter'));

  t.deepEqual(feed.state.value, { kind: 'failed', why: 'Malformed parameter' });
  t.is(subscriptions.length, 2);
});
