/** `events.watch` for one page: kept newest first, drawn once a frame, paused and resumed where it was. */
import { signal } from '@preact/signals';
import type { Envelope, EventType } from '../../actors/events.ts';
import { refusalOf, type Subscription } from '../../api/client/client.ts';
import { messageOf } from '../failure.ts';
import type { EventsMessage } from '../../api/feeds/events.ts';
import type { Live } from '../live.ts';
import { subscribeWhileSeen } from '../seen.ts';
import { EVENTS_DRAWN_MAX, keptWith } from './events.ts';

/** How it is. `failed`: the service refused, for the reason that is said. */
export type FeedState =
  | { readonly kind: 'connecting' | 'live' | 'paused' }
  | { readonly kind: 'failed'; readonly why: string };

/** How often a page that nobody sees takes note of what came, in ms. */
const HIDDEN_MS = 1_000;

/** The feed. `type`: only these; empty: all. */
export class EventFeed {
  readonly kept = signal<readonly Envelope[]>([]);
  readonly state = signal<FeedState>({ kind: 'connecting' });
  readonly #api: Live['api'];
  readonly #type: string;
  #subscription: Subscription | null = null;
  #latest = EVENTS_DRAWN_MAX;
  #lastId: string | undefined;
  #news: Envelope[] = [];

  constructor(api: Live['api'], type: string) {
    this.#api = api;
    this.#type = type;
  }

  /** With the latest, and from then on; or from where it was paused. */
  start(): void {
    if (this.#subscription !== null) return;
    this.state.value = { kind: 'connecting' };
    this.#subscription = subscribeWhileSeen<EventsMessage>(
      (handlers, lastEventId) =>
        this.#api.events.watch.subscribe(
          {
            // what an address names wrongly is the service's to refuse
            ...(this.#type !== '' && { types: [this.#type as EventType] }),
            ...(this.#latest > 0 && { latest: this.#latest }),
            lastEventId: lastEventId ?? this.#lastId,
          },
          {
            ...handlers,
            onData: (message: { readonly id: string; readonly data: EventsMessage }) => {
              this.#lastId = message.id;
              handlers.onData(message);
            },
          },
        ),
      { data: (message) => this.#told(message), failed: (error) => this.#failed(error) },
    );
  }

  pause(): void {
    this.stop();
    this.state.value = { kind: 'paused' };
  }

  stop(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = null;
  }

  clear(): void {
    this.kept.value = [];
  }

  #told(message: EventsMessage): void {
    if (this.state.peek().kind !== 'live') this.state.value = { kind: 'live' };
    if (message.type !== 'events' || message.events.length === 0) return;
    const isFirst = this.#news.length === 0;
    // what would be thrown away at once is not gathered either
    this.#news = [...keptWith([], [...this.#news, ...message.events])].toReversed();
    if (!isFirst) return;
    if (document.hidden) setTimeout(() => this.#draw(), HIDDEN_MS);
    else requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.kept.value = keptWith(this.kept.value, this.#news);
    this.#news = [];
  }

  #failed(error: unknown): void {
    this.#subscription = null;
    if (this.#latest > 0 && refusalOf(error)?.code === 'bad_request') {
      // an admin of the release before tells no latest; what else is wrong is refused again
      this.#latest = 0;
      return this.start();
    }
    this.state.value = { kind: 'failed', why: messageOf(error) };
  }
}
