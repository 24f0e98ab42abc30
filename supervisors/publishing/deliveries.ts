/** Where webhooks get their deliveries from: rows, and behind those the events that have none yet. */
import type { DeliveryRef } from '../../actors/webhook/delivery.ts';
import { isBehind } from '../../actors/webhook/window.ts';
import type { DeliveriesAsked, WebhookSupply } from '../ports.ts';
import type { EventsAhead } from './events-ahead.ts';
import { cursorAt } from './kept-events.ts';

/** Deliveries that have rows. */
export interface DeliveryRows {
  /**
   * Unfinished ones of a webhook behind a cursor in the order of their events, at most `limit`; `more` when there are
   * others. `since`: the transaction of the webhook, events of older ones are not for it; null: there is no such
   * webhook.
   */
  unfinished(
    webhook: string,
    after: string | null,
    limit: number,
  ): Promise<{
    readonly deliveries: readonly DeliveryRef[];
    readonly more: boolean;
    readonly since: string | null;
  }>;
  /** Those of these ids that there are, with what is to be sent; null: nothing, it is finished. */
  stored(ids: readonly string[]): Promise<ReadonlyMap<string, DeliveryRef | null>>;
}

/** What they are made of. */
export interface WebhookDeliveriesPorts {
  readonly rows: DeliveryRows;
  readonly ahead: EventsAhead;
  /** Calls this while no rows are being made, and it is known where the channel is. */
  readonly whenQuiet: (run: () => void) => Promise<void>;
}

type Deliveries = Awaited<ReturnType<WebhookSupply['next']>>;

/** Another load of the same webhook began meanwhile, and knows more. */
const OUTDATED: Deliveries = { deliveries: [], more: true };

/** Of the webhooks that are delivered from here. */
export class WebhookDeliveries implements WebhookSupply {
  readonly #ports: WebhookDeliveriesPorts;

  constructor(ports: WebhookDeliveriesPorts) {
    this.#ports = ports;
  }

  async next(webhook: string, asked: DeliveriesAsked): Promise<Deliveries> {
    const { ahead } = this.#ports;
    const { after, limit } = asked;
    if (after !== null && ahead.knowsAllRows(webhook)) return this.#ahead(webhook, asked);
    for (;;) {
      const { deliveries, more, since, bound, turn } = await this.#rows(webhook, asked);
      if (bound !== null && !ahead.isTurn(webhook, turn)) return OUTDATED;
      const behind = bound === null ? deliveries : deliveries.filter(({ cursor }) => !isBehind(cursor, bound));
      if (since === null || bound === null || (more && behind.length > 0)) {
        ahead.unfollow(webhook); // it is gone, is not delivered from here, or has enough to do
        return { deliveries: behind, more };
      }
      if (!ahead.follows(webhook)) continue; // it took too long
      ahead.rowsRead(webhook, turn, { since, areAll: false });
      const news = await this.#ahead(webhook, asked);
      // Rows of events that are not read yet come with these: there may be others before them.
      const there = deliveries.filter(({ cursor }) => !isBehind(cursor, news.to));
      const known = new Map([...news.deliveries, ...there].map((one) => [one.id, one]));
      const sorted = [...known.values()].toSorted((one, other) => (isBehind(one.cursor, other.cursor) ? 1 : -1));
      const next = sorted.slice(0, limit);
      const areAll = there.length < deliveries.length ? !news.more : !more;
      ahead.rowsRead(webhook, turn, { since, areAll: areAll && sorted.length <= limit });
      return { deliveries: next, more: !areAll || news.more || sorted.length > limit };
    }
  }

  stored(webhook: string, cursor: string): void {
    this.#ports.ahead.stored(webhook, cursor);
  }

  ended(webhook: string): void {
    this.#ports.ahead.unfollow(webhook);
  }

  /**
   * Its rows, from when it followed. `bound`: where the channel was then, up to which it has all of its rows; null: it
   * is not held.
   */
  async #rows(webhook: string, { subscribedEvents, after, limit }: DeliveriesAsked) {
    const { ahead, rows, whenQuiet } = this.#ports;
    let bound: string | null = null;
    let turn = 0;
    // Before they are read, so that none are made for it that are not seen then.
    await whenQuiet(() => {
      turn = ahead.follow(webhook, subscribedEvents);
      bound = ahead.place && cursorAt(ahead.place);
    });
    return { ...(await rows.unfinished(webhook, after, limit)), bound: bound as string | null, turn };
  }

  /** Of events ahead, up to a cursor. Whether some have rows is seen by the rows alone. */
  async #ahead(webhook: string, { after, limit }: DeliveriesAsked): Promise<Deliveries & { readonly to: string }> {
    const { ahead, rows } = this.#ports;
    for (let at = after; ;) {
      const taken = ahead.take(webhook, { after: at, limit, isFirst: after === null });
      const doubtful = taken.deliveries.filter(({ id }) => taken.doubtful.has(id));
      if (doubtful.length === 0) return taken;
      const stored = await rows.stored(doubtful.map(({ id }) => id));
      for (const { id, cursor } of doubtful) if (stored.has(id)) ahead.stored(webhook, cursor);
      const deliveries = taken.deliveries.flatMap((one) => (stored.has(one.id) ? (stored.get(one.id) ?? []) : one));
      if (deliveries.length > 0 || !taken.more) return { deliveries, more: taken.more, to: taken.to };
      at = taken.deliveries.at(-1)?.cursor ?? at;
    }
  }
}
