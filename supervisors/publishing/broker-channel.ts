/**
 * The channel of the broker: it owns the one connection, publishes in order, and waits out an outage. The outbox is the
 * buffer.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { BATCH_EVENTS_MAX } from '../../actors/published-event.ts';
import type { Broker, PublishedEvent } from '../../actors/published-event.ts';
import { createChannel } from './channel.ts';
import type { Channel, ChannelLease, ChannelPorts, Outcome } from './channel.ts';

/** Events to publish, and where the channel stands after them. */
export interface Batch {
  readonly events: readonly PublishedEvent[];
  readonly tooOld: number;
  /** Null: there was nothing. */
  readonly to: string | null;
  readonly more: boolean;
  readonly unsettled: boolean;
  /** Up to where the events are settled: what is read behind this batch need not look again. */
  readonly horizon: string;
}

/** What the channel asks of the rows. */
export interface BrokerRows {
  /**
   * The next events behind a batch, or behind where the channel stands. Null: it is not held under this epoch any more.
   */
  next(epoch: number, after: Pick<Batch, 'to' | 'horizon'> | null, limit: number): Promise<Batch | null>;
  /** Moves the channel on. False: it is not held under this epoch any more. */
  advance(epoch: number, to: string): Promise<boolean>;
}

/** What it needs besides a channel. */
export interface BrokerChannelPorts extends Omit<ChannelPorts, 'name' | 'work' | 'lost'> {
  readonly rows: BrokerRows;
  /** Connects; rejects when that cannot be done. */
  open(): Promise<Broker>;
}

/** What was published so far, for metrics. */
export interface BrokerCounters {
  published: number;
  /** Not published, because they were older than EVENT_DELIVERY_MAX_AGE_SECONDS. */
  tooOld: number;
  connects: number;
  failures: number;
}

export interface BrokerChannel extends Channel {
  readonly counters: Readonly<BrokerCounters>;
  /** Why events do not go out now; null: they do, or another admin sees to it. */
  problem(): string | null;
}

/** The channel, not started. */
export function createBrokerChannel(ports: BrokerChannelPorts): BrokerChannel {
  const { rows, log } = ports;
  const counters: BrokerCounters = { published: 0, tooOld: 0, connects: 0, failures: 0 };
  let broker: Broker | null = null;
  let problem: string | null = 'the broker was not reached yet';
  /** Read while the batch before it was on its way. */
  let ahead: { readonly epoch: number; readonly batch: Promise<Batch | null> } | null = null;
  /** The cursor on its way into the database, while the next batch is on its way to the broker. */
  let moving: Promise<boolean> = Promise.resolve(true);

  /** Events in the next batch: half of one that failed, so that a slow broker gets on; twice one that got through. */
  let eventsMax = BATCH_EVENTS_MAX;

  async function work(epoch: number): Promise<Outcome> {
    try {
      broker ??= await connect();
      return await publishNext(epoch, broker);
    } catch (error) {
      ahead = null;
      await moving.catch(() => false);
      moving = Promise.resolve(true);
      if (error instanceof DatabaseUnavailable) throw error; // no reason to leave the broker
      counters.failures += 1;
      problem = (error as Error).message;
      await disconnect();
      throw error;
    }
  }

  async function connect(): Promise<Broker> {
    const opened = await ports.open();
    counters.connects += 1;
    if (problem !== null) log.info({}, 'the broker is reached');
    problem = null;
    void whenLost(opened);
    return opened;
  }

  async function whenLost(opened: Broker): Promise<void> {
    const reason = await opened.lost;
    if (broker !== opened) return;
    broker = null;
    problem = reason.message;
    log.warn({ error: reason.message }, 'the connection to the broker was lost');
    channel.wake(); // connects again
    await opened.close();
  }

  async function disconnect(): Promise<void> {
    const open = broker;
    broker = null;
    await open?.close();
  }

  async function publishNext(epoch: number, to: Broker): Promise<Outcome> {
    const batch = await (ahead?.epoch === epoch ? ahead.batch : rows.next(epoch, null, eventsMax));
    ahead = null;
    if (batch === null || !channel.holds()) return 'lost';
    if (batch.to === null) return batch.unsettled ? 'soon' : 'none';
    if (batch.more) ahead = readAhead(epoch, batch);
    if (batch.events.length > 0) await publish(to, batch.events);
    if (!(await hasMoved())) return 'lost';
    moving = rows.advance(epoch, batch.to);
    moving.catch(() => {}); // told when the next batch is through
    counters.published += batch.events.length;
    counters.tooOld += batch.tooOld;
    if (batch.tooOld > 0) log.warn({ events: batch.tooOld }, 'events were too old to be published');
    if (batch.more) return 'more';
    if (!(await hasMoved())) return 'lost';
    return batch.unsettled ? 'soon' : 'none';
  }

  async function publish(to: Broker, events: readonly PublishedEvent[]): Promise<void> {
    try {
      await to.publish(events);
    } catch (error) {
      eventsMax = Math.max(1, Math.floor(events.length / 2));
      throw error;
    }
    eventsMax = Math.min(BATCH_EVENTS_MAX, Math.max(eventsMax, events.length * 2));
  }

  /** False once, for whoever wrote it; what is published under another epoch has a cursor of its own. */
  async function hasMoved(): Promise<boolean> {
    const isMoved = await moving;
    moving = Promise.resolve(true);
    return isMoved;
  }

  function readAhead(epoch: number, after: Batch): NonNullable<typeof ahead> {
    const batch = rows.next(epoch, after, eventsMax);
    batch.catch(() => {}); // told when it is its turn
    return { epoch, batch };
  }

  /** What was published is stored before another admin may go on from there. */
  const lease: ChannelLease = {
    claim: () => ports.lease.claim(),
    renew: (epoch) => ports.lease.renew(epoch),
    async release(epoch) {
      await moving.catch(() => false);
      await ports.lease.release(epoch);
    },
  };
  const channel: Channel = createChannel({
    ...ports,
    lease,
    name: 'broker',
    work,
    lost: () => {
      problem = null;
      void disconnect();
    },
  });
  return {
    ...channel,
    counters,
    problem: () => (channel.holds() ? problem : null),
    async stop() {
      const stopping = channel.stop();
      await disconnect(); // a publish under way ends with it
      await stopping;
      await disconnect(); // one that was just being connected
    },
  };
}
