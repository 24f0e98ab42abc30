/** A channel of webhooks over rows that are none. */
import { EventsAhead } from '../../../../supervisors/publishing/events-ahead.ts';
import type { AheadEvent } from '../../../../supervisors/publishing/kept-events.ts';
import { WebhooksChannel } from '../../../../supervisors/publishing/webhooks-channel.ts';
import { id } from '../../../support/actors.ts';
import { channelFixture } from './fixture.ts';

/** What becomes of an event that is there: webhooks that get rows. */
export interface Round {
  readonly webhooks: readonly string[];
  readonly unsettled?: boolean;
  /** The channel gets no further than behind so many events. */
  readonly to?: number;
}

/** What the beginning comes to where nobody has deliveries. */
export const STARTED = ['evict all', 'caught up', 'evict all', 'rows read'];

/** Nobody gets any. */
export const NOTHING: Round = { webhooks: [] };

/** A channel over events that are counted; `waiting`: webhooks with unfinished deliveries. */
export function openWebhooksChannel(waiting: readonly string[] | (() => readonly string[]) = []) {
  const fixture = channelFixture();
  const happened: string[] = [];
  const rounds: (Round | Error)[] = [];
  const followed: (readonly string[])[] = [];
  const subscribed: string[] = [];
  const busy = new Set<string>();
  let [place, storedEvents] = [0, 0];
  const isHeld = (epoch: number): boolean => fixture.row.holder === 'me' && fixture.row.epoch === epoch;
  const ahead = new EventsAhead(3, () => 0);
  const channel = new WebhooksChannel({
    ...fixture.ports,
    ahead,
    routing: {
      place: async (epoch) => (isHeld(epoch) ? placeAt(place) : null),
      async read({ txid }, limit) {
        const from = Number(txid);
        const events = Array.from({ length: Math.min(storedEvents - from, limit, 1) }, () => eventAt(from + 1));
        const unsettled = rounds.some((round) => !(round instanceof Error) && round.unsettled === true);
        const webhooks = events.length > 0 ? subscribed : [];
        return { events, webhooks, more: from + 1 < storedEvents, unsettled };
      },
      async route(epoch, { from, to, followers }) {
        if (!isHeld(epoch)) return null;
        if (Number(from.txid) !== place) return { place: placeAt(place), webhooks: [] };
        const round = rounds.shift() ?? NOTHING;
        if (round instanceof Error) throw round;
        place = Math.min(Number(to.txid), round.to ?? Infinity);
        followed.push(followers);
        return { place: placeAt(place), webhooks: round.webhooks };
      },
      caughtUp: async () => void happened.push('caught up'),
      waiting: async () => {
        happened.push('rows read');
        return typeof waiting === 'function' ? waiting() : waiting;
      },
    },
    directory: {
      tell: ({ to, message }) => {
        happened.push(`${message.type} ${to.id}`);
        return !busy.has(to.id);
      },
      evictWebhooks: (ids) => void happened.push(`evict ${ids?.join(' ') ?? 'all'}`),
    },
  });
  const route = (...news: readonly (Round | Error)[]): void => {
    rounds.push(...news);
    storedEvents += news.length;
    channel.wake();
  };
  const setBackTo = (to: number): void => void (place = to);
  return { ...fixture, setBackTo, ahead, channel, happened, followed, subscribed, busy, route };
}

/** Behind so many events. */
export const placeAt = (txid: number) => ({ txid: String(txid), seq: '0' });

function eventAt(txid: number): AheadEvent {
  return {
    ...placeAt(txid),
    cursor: `${txid}-0`,
    id: id('e', txid),
    type: 'edge.core.test',
    subject: id('b', txid),
    storedAtMs: 0,
  };
}
