/** The output of one execution as it comes. What it keeps is bounded: its latest end. */
import { signal } from '@preact/signals';
import type { Subscription } from '../../api/client/client.ts';
import type { TailMessage } from '../../api/feeds/tail.ts';
import type { Api } from '../../api/client/api.ts';
import { subscribeWhileSeen } from '../seen.ts';
import { NO_TEXT, withPiece, type LiveText } from './live-text.ts';

/** Outputs that a page follows at a time. */
export const TAILS_MAX = 8;

/** An output that is followed. */
export class LiveOutput {
  readonly text = signal<LiveText>(NO_TEXT);
  readonly #subscription: Subscription;

  constructor(api: Api, execution: string) {
    this.#subscription = subscribeWhileSeen<TailMessage>(
      (handlers, lastEventId) => api.executions.tail.subscribe({ id: execution, lastEventId }, handlers),
      {
        data: (message) => {
          if (message.type === 'output') this.text.value = withPiece(this.text.value, message);
          // the stored output is told from its beginning where the live one was over too soon
          else if (message.type === 'snapshot' && message.offset === 0) this.text.value = NO_TEXT;
        },
        failed: () => {}, // it was deleted, which the page says
      },
    );
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }
}
