/** The channel of a broker, with events, connections and leases that a test holds. */
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { Broker, PublishedEvent } from '../../../../actors/published-event.ts';
import { BrokerChannel, type Batch } from '../../../../supervisors/publishing/broker-channel.ts';
import { channelFixture, settled } from './fixture.ts';

function event(number: number): PublishedEvent {
  return {
    id: String(number),
    type: 'edge.core.test',
    subject: 's',
    topic: 'edge-core-events',
    coreName: 'default',
    text: `event ${number}`,
  };
}

/** A connection that a test may break. */
interface Connection extends Broker {
  readonly break: (reason: string) => void;
  isClosed: boolean;
}

/** Events 1, 2, 3 … in a database, a broker that takes them, and the channel between. */
export function openBrokerChannel() {
  const fixture = channelFixture();
  const stored = {
    count: 0,
    place: 0,
    oldUntil: 0,
    reads: 0,
    isAway: false,
    isRefused: false,
    onAdvance: (_to: number): void => {},
  };
  const received: number[] = [];
  const connections: Connection[] = [];
  const trouble: {
    open: Error | null;
    /** There are other admins. */
    hasPeers: boolean;
    opened: ((connection: Connection) => void) | null;
    publish: ((events: readonly PublishedEvent[]) => Promise<void>) | null;
  } = { open: null, hasPeers: false, opened: null, publish: null };

  function checked(epoch: number): boolean {
    if (stored.isAway) throw new DatabaseUnavailable('away');
    return fixture.row.holder === 'me' && fixture.row.epoch === epoch;
  }

  const channel = new BrokerChannel({
    ...fixture.ports,
    hasPeers: () => trouble.hasPeers,
    rows: {
      async next(epoch, after, limit): Promise<Batch | null> {
        stored.reads += 1;
        await settled();
        if (!checked(epoch)) return null;
        const from = after === null ? stored.place : Number(after.to);
        const to = Math.min(stored.count, from + limit);
        const events = Array.from({ length: to - from }, (_, index) => from + index + 1);
        const fresh = events.filter((number) => number > stored.oldUntil);
        return {
          events: fresh.map((number) => event(number)),
          tooOld: events.length - fresh.length,
          to: to === from ? null : String(to),
          more: to - from === limit,
          unsettled: false,
          horizon: '0',
        };
      },
      async advance(epoch, to) {
        stored.onAdvance(Number(to));
        await settled();
        if (stored.isRefused || !checked(epoch)) return false;
        stored.place = Number(to);
        return true;
      },
    },
    async open() {
      await settled();
      if (trouble.open !== null) throw trouble.open;
      let lose = (_reason: Error): void => {};
      const lost = new Promise<Error>((resolve) => {
        lose = resolve;
      });
      const connection: Connection = {
        lost,
        isClosed: false,
        break: (reason) => lose(new Error(reason)),
        async publish(events) {
          await trouble.publish?.(events);
          await settled();
          if (connection.isClosed) throw new Error('it is closed');
          received.push(...events.map(({ id }) => Number(id)));
        },
        async close() {
          connection.isClosed = true;
        },
      };
      connections.push(connection);
      trouble.opened?.(connection);
      return connection;
    },
  });
  /** Stores so many events, and tells the channel. */
  const store = (count: number): void => {
    stored.count += count;
    channel.wake();
  };
  return { ...fixture, channel, stored, received, connections, trouble, store };
}

/** Numbers from `from` up to `count`. */
export const upTo = (count: number, from = 1): readonly number[] =>
  Array.from({ length: count - from + 1 }, (_, index) => from + index);

/** How many of the connections are open. */
export const open = (connections: readonly Connection[]): number =>
  connections.filter(({ isClosed }) => !isClosed).length;
