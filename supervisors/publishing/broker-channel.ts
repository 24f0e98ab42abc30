/**
 * The channel of the broker: it owns the one connection, publishes in order, and waits out an outage. The outbox is the
 * buffer.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { BATCH_EVENTS_MAX } from '../../actors/published-event.ts';
import type { Broker, PublishedEvent } from '../../actors/published-event.ts';
import type { TaskLease } from '../tasks/held-task.ts';
import { BACK_OFF_MS_MAX, Channel, type ChannelPorts, type Outcome } from './channel.ts';

/**
 * A connection that was lost sooner, and took no event, is a failure: a server that accepts it and hangs up would be
 * dialled without a pause. In ms: the longest wait after failures.
 */
export const CONNECTED_MS_MIN = BACK_OFF_MS_MAX;

const NOT_REACHED_YET = 'the broker was not reached yet';

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
export interface BrokerChannelPorts extends Omit<ChannelPorts, 'name' | 'work' | 'lost' | 'mayGiveWay'> {
  readonly rows: BrokerRows;
  /** Whether other admins live, as far as is known. */
  hasPeers(): boolean;
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

/** The channel of the broker, not started. */
export class BrokerChannel {
  readonly counters: Readonly<BrokerCounters>;
  readonly #ports: BrokerChannelPorts;
  readonly #counted: BrokerCounters = { published: 0, tooOld: 0, connects: 0, failures: 0 };
  readonly #channel: Channel;
  #broker: Broker | null = null;
  /** By the lease clock. */
  #connectedMs = 0;
  /** The connection there is has taken an event. */
  #isTried = false;
  /** Why the last connection was lost, if it was a failure that was not told yet. */
  #failedBy: Error | null = null;
  /** Told until events go out, or none wait: a broker may take connections and nothing else. */
  #problem: string | null = NOT_REACHED_YET;
  /** Read while the batch before it was on its way. */
  #ahead: { readonly epoch: number; readonly batch: Promise<Batch | null> } | null = null;
  /** The cursor on its way into the database, while the next batch is on its way to the broker. */
  #moving: Promise<boolean> = Promise.resolve(true);
  /** Events in the next batch: half of one that failed, so that a slow broker gets on; twice one that got through. */
  #eventsMax = BATCH_EVENTS_MAX;

  constructor(ports: BrokerChannelPorts) {
    this.#ports = ports;
    this.counters = this.#counted;
    this.#channel = new Channel({
      ...ports,
      lease: this.#lease(),
      name: 'broker',
      work: (epoch) => this.#work(epoch),
      mayGiveWay: () => ports.hasPeers(),
      lost: () => {
        this.#problem = NOT_REACHED_YET;
        this.#failedBy = null;
        void this.#disconnect();
      },
    });
  }

  /** Tries for the lease once, then goes on by itself. */
  start(): Promise<void> {
    return this.#channel.start();
  }

  /** Ends a publish under way, and gives the lease back. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    const stopping = this.#channel.stop();
    await this.#disconnect(); // a publish under way ends with it
    await stopping;
    await this.#disconnect(); // one that was just being connected
  }

  /** There may be events. */
  wake(): void {
    this.#channel.wake();
  }

  /** Whether this admin serves it, by its own lease clock (O1). */
  holds(): boolean {
    return this.#channel.holds();
  }

  /** Why events do not go out now; null: they do, or another admin sees to it. */
  problem(): string | null {
    return this.#channel.holds() ? this.#problem : null;
  }

  /** What was published is stored before another admin may go on from there. */
  #lease(): TaskLease {
    const { lease } = this.#ports;
    return {
      claim: () => lease.claim(),
      renew: (epoch) => lease.renew(epoch),
      release: async (epoch) => {
        await this.#moving.catch(() => false);
        await lease.release(epoch);
      },
    };
  }

  async #work(epoch: number): Promise<Outcome> {
    try {
      if (this.#failedBy !== null) throw this.#failedBy;
      return await this.#publishNext(epoch, this.#broker ?? (await this.#connect()));
    } catch (error) {
      this.#failedBy = null;
      this.#ahead = null;
      await this.#moving.catch(() => false);
      this.#moving = Promise.resolve(true);
      if (error instanceof DatabaseUnavailable) throw error; // no reason to leave the broker
      this.#counted.failures += 1;
      this.#problem = (error as Error).message;
      await this.#disconnect();
      throw error;
    }
  }

  async #connect(): Promise<Broker> {
    const opened = await this.#ports.open();
    this.#counted.connects += 1;
    this.#broker = opened;
    this.#connectedMs = this.#ports.leaseClockMs();
    this.#isTried = false;
    void this.#whenLost(opened);
    return opened;
  }

  async #whenLost(opened: Broker): Promise<void> {
    const reason = await opened.lost;
    if (this.#broker !== opened) return;
    this.#broker = null;
    this.#problem = reason.message;
    if (this.#isProven()) this.#ports.log.warn({ error: reason.message }, 'the connection to the broker was lost');
    else this.#failedBy = reason;
    this.#channel.wake(); // connects again, or waits as after any failure
    await opened.close();
  }

  /** Whether the connection there is, or was until now, has shown that the broker keeps it. */
  #isProven(): boolean {
    return this.#isTried || this.#ports.leaseClockMs() - this.#connectedMs >= CONNECTED_MS_MIN;
  }

  async #disconnect(): Promise<void> {
    const open = this.#broker;
    this.#broker = null;
    await open?.close();
  }

  async #publishNext(epoch: number, to: Broker): Promise<Outcome> {
    const { rows, log } = this.#ports;
    const batch = await (this.#ahead?.epoch === epoch ? this.#ahead.batch : rows.next(epoch, null, this.#eventsMax));
    this.#ahead = null;
    if (batch === null || !this.#channel.holds()) return 'lost';
    if (batch.more) this.#readAhead(epoch, batch);
    if (batch.events.length > 0) await this.#publish(to, batch.events);
    if (batch.events.length > 0 || !batch.more) this.#isWell();
    if (batch.to === null) return batch.unsettled ? 'soon' : this.#isProven() ? 'none' : 'untried';
    if (!(await this.#hasMoved())) return 'lost';
    this.#moving = rows.advance(epoch, batch.to);
    this.#moving.catch(() => {}); // told when the next batch is through
    this.#counted.published += batch.events.length;
    this.#counted.tooOld += batch.tooOld;
    if (batch.tooOld > 0) log.warn({ events: batch.tooOld }, 'events were too old to be published');
    if (batch.more) return 'more';
    if (!(await this.#hasMoved())) return 'lost';
    return batch.unsettled ? 'soon' : 'none';
  }

  #isWell(): void {
    if (this.#problem !== null) this.#ports.log.info({}, 'the broker is reached');
    this.#problem = null;
  }

  async #publish(to: Broker, events: readonly PublishedEvent[]): Promise<void> {
    try {
      await to.publish(events);
      this.#isTried = true;
    } catch (error) {
      this.#eventsMax = Math.max(1, Math.floor(events.length / 2));
      throw error;
    }
    this.#eventsMax = Math.min(BATCH_EVENTS_MAX, Math.max(this.#eventsMax, events.length * 2));
  }

  /** False once, for whoever wrote it; what is published under another epoch has a cursor of its own. */
  async #hasMoved(): Promise<boolean> {
    const isMoved = await this.#moving;
    this.#moving = Promise.resolve(true);
    return isMoved;
  }

  #readAhead(epoch: number, after: Batch): void {
    const batch = this.#ports.rows.next(epoch, after, this.#eventsMax);
    batch.catch(() => {}); // told when it is its turn
    this.#ahead = { epoch, batch };
  }
}
