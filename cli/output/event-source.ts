/** Events as they happen, over a feed that outlives what passes by itself. */
import { refusalOf, subscribePatiently, type Subscription } from '../../api/client/client.ts';
import type { EventType } from '../names/event-types.ts';
import { isPassing } from '../problem.ts';
import type { LiveClient } from '../service/client.ts';
import type { Envelope } from './event-text.ts';
import { untilAborted } from './until-aborted.ts';

/** First that it has begun, which comes again after each cut; then events, of which there may be none. */
export type EventsMessage =
  | { readonly type: 'started' }
  | { readonly type: 'events'; readonly events: readonly Envelope[] };

/** Who hears. */
export interface EventsListener {
  readonly told: (message: EventsMessage) => void;
  /** The service refuses for a while to go on; it is asked again, from the last event on. */
  readonly refused: (error: unknown) => void;
}

/** What is asked for. */
export interface FollowedEvents {
  /** Null: all. */
  readonly types: readonly EventType[] | null;
  /** So many of before come first. */
  readonly latest: number;
}

/**
 * Tells these events until `signal` aborts, or the service ends the feed. Rejects with what
 * it refuses at the beginning, so that whoever asked hears of it; later with what does not pass by itself.
 */
export function followEvents(
  api: LiveClient['api'],
  { types, latest }: FollowedEvents,
  signal: AbortSignal,
  { told, refused }: EventsListener,
): Promise<void> {
  let hasBegun = false;
  let asked = latest;
  let lastId: string | undefined;
  return untilAborted(signal, (ended, failed) => {
    const begin = (): Subscription =>
      subscribePatiently<EventsMessage>(
        (handlers, lastEventId = lastId) =>
          api.events.watch.subscribe(
            {
              ...(types && { types: [...types] }),
              ...(asked > 0 && { latest: asked }),
              ...(lastEventId !== undefined && { lastEventId }),
            },
            {
              onData(message) {
                lastId = message.id;
                handlers.onData(message);
              },
              onError(error) {
                if (!hasBegun) return failed(error);
                if (isPassing(error)) refused(error);
                return handlers.onError(error);
              },
              onComplete: ended,
            },
          ),
        {
          data(message) {
            hasBegun = true;
            told(message);
          },
          failed(error) {
            if (asked === 0 || refusalOf(error)?.code !== 'bad_request') return failed(error);
            asked = 0; // an admin of the release before tells no latest, and the client asks it as it asked before
            current = begin();
          },
        },
      );
    let current = begin();
    return { unsubscribe: () => current.unsubscribe() };
  });
}
