/**
 * The channel of the webhooks: all are told of events that are stored. They are sent to those that follow, and become
 * rows for the others.
 */
import { NothingWritten } from '../../actors/ports.ts';
import { isBehind } from '../../actors/webhook/window.ts';
import type { Directory } from '../runtime/directory.ts';
import { Channel, type ChannelPorts, type Outcome } from './channel.ts';
import { EVENTS_AHEAD_MAX, type EventsAhead, type Settled } from './events-ahead.ts';
import { cursorAt, type AheadEvent, type EventPlace } from './kept-events.ts';

/**
 * Between two moves of the channel so long passes while there is room for events, in ms: each is a transaction, and
 * what is ahead is sent without it.
 */
export const MOVES_APART_MS_MIN = 250;

/** Events as they are read. */
export interface Read {
  readonly events: readonly AheadEvent[];
  /** Who subscribed to any of them. */
  readonly webhooks: readonly string[];
  /** Others are there that can be read at once. */
  readonly more: boolean;
  /** Events are there behind a transaction that still runs: nobody will tell when it ends. */
  readonly unsettled: boolean;
}

/** How far the channel is to be moved. */
export interface Route extends Settled {
  readonly from: EventPlace;
}

/** What came of it. */
export interface Routed {
  /**
   * Where it is now: with many webhooks it is moved bit by bit; and it stays where it is when it was not where it was
   * thought to be.
   */
  readonly place: EventPlace;
  /** Webhooks that have new rows. */
  readonly webhooks: readonly string[];
}

/** What routing asks of the rows. */
export interface RoutingPort {
  /**
   * Where the channel is, after any move before it has ended. Null: it is not held under this epoch any more.
   */
  place(epoch: number): Promise<EventPlace | null>;
  /** Events behind a place, at most `limit`. */
  read(after: EventPlace, limit: number): Promise<Read>;
  /**
   * Makes rows for webhooks that do not follow, and moves the channel, in one transaction, after any before it has
   * ended. Null: the channel is not held under this epoch any more. Rejects with anything but NothingWritten where it
   * may have been stored all the same.
   */
  route(epoch: number, route: Route): Promise<Routed | null>;
  /** Resolves when the tries that wait to be stored now are stored. */
  caughtUp(): Promise<void>;
  /** Webhooks with unfinished deliveries. */
  waiting(): Promise<readonly string[]>;
}

/** What it needs besides a channel. */
export interface WebhooksChannelPorts extends Omit<ChannelPorts, 'name' | 'work' | 'lost' | 'mayGiveWay'> {
  readonly routing: RoutingPort;
  readonly ahead: EventsAhead;
  readonly directory: Pick<Directory, 'tell' | 'evictWebhooks'>;
}

/** The channel of the webhooks, not started. While it is held, webhooks are delivered from here. */
export class WebhooksChannel {
  readonly #ports: WebhooksChannelPorts;
  readonly #channel: Channel;
  /** Told of deliveries, and too busy to hear. */
  #untold: readonly string[] = [];
  #workedUnder: number | null = null;
  /** There may be events that were not read. */
  #hasNews = true;
  /** There are events behind those that were read. */
  #hasMore = false;
  #isUnsettled = false;
  /** A move of the channel may have been stored with an answer that was lost: until that is known. */
  #doubt: PromiseWithResolvers<void> | null = null;
  /** When it was moved last, by the lease clock. */
  #movedAtMs = -Infinity;
  /** Ends with the move of the channel that is under way. */
  #moving: Promise<unknown> | null = null;

  constructor(ports: WebhooksChannelPorts) {
    this.#ports = ports;
    this.#channel = new Channel({
      ...ports,
      name: 'webhooks',
      work: (epoch) => this.#work(epoch),
      lost: () => {
        ports.ahead.begin(null);
        this.#certain();
        ports.directory.evictWebhooks();
      },
      mayGiveWay: () => false, // its work is in the database, which is the same everywhere
    });
  }

  /** Tries for the lease once, then goes on by itself. */
  start(): Promise<void> {
    return this.#channel.start();
  }

  /** Gives the lease back. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    await this.#channel.stop();
    this.#certain(); // nobody looks any more
  }

  /** There may be events. */
  wake(): void {
    this.#hasNews = true;
    this.#channel.wake();
  }

  /** Whether this admin serves it, by its own lease clock (O1). */
  holds(): boolean {
    return this.#channel.holds();
  }

  /** As WebhookDeliveriesPorts'. */
  async whenQuiet(run: () => void): Promise<void> {
    for (;;) {
      const unrest = this.#moving ?? this.#doubt?.promise;
      if (unrest === undefined) return run();
      await unrest;
    }
  }

  /**
   * It may have been missed that webhooks were deleted elsewhere: all start from their rows, and those that are gone
   * get nothing more (V2).
   */
  reread(): void {
    this.#workedUnder = null;
    this.wake();
  }

  async #work(epoch: number): Promise<Outcome> {
    const { ahead } = this.#ports;
    if (this.#doubt !== null && !(await this.#lookAgain(epoch))) return 'lost';
    if (this.#workedUnder !== epoch && !(await this.#begin(epoch))) return 'lost';
    this.#untold = [...this.#untold, ...(await this.#read())]; // also where the rest fails
    const routed = await this.#route(epoch);
    if (routed === null) return 'lost';
    this.#tell([...new Set([...this.#untold, ...routed.webhooks])]);
    if (routed.more || (this.#hasMore && ahead.room > 0)) return 'more';
    return ahead.isOpen || this.#isUnsettled || this.#untold.length > 0 ? 'soon' : 'none';
  }

  /**
   * Rows may have been made with an answer that was lost: nobody was told of them. False: the channel is not held any
   * more.
   */
  async #lookAgain(epoch: number): Promise<boolean> {
    const { routing } = this.#ports;
    const place = await routing.place(epoch); // the transaction of which nothing was heard has ended by then
    if (place === null) return false;
    this.#untold = [...new Set([...this.#untold, ...(await routing.waiting())])];
    this.#isAt(place);
    this.#certain();
    return true;
  }

  #certain(): void {
    this.#doubt?.resolve();
    this.#doubt = null;
  }

  /** Events before it are not ahead any more. Where it was set back, all begin anew. */
  #isAt(place: EventPlace): void {
    const { ahead } = this.#ports;
    if (ahead.place === null || isBehind(cursorAt(ahead.place), cursorAt(place))) this.#workedUnder = null;
    else ahead.moved(place);
  }

  /**
   * What the admin before us, or our own self before a crash or a pause, left unfinished. Who lives here already may
   * not know of it. False: it is not held.
   */
  async #begin(epoch: number): Promise<boolean> {
    const { routing, directory, ahead } = this.#ports;
    ahead.begin(null);
    directory.evictWebhooks();
    await routing.caughtUp(); // else a new actor could find a delivery as it was before its last try
    const place = await routing.place(epoch);
    if (place === null) return false;
    directory.evictWebhooks(); // who began meanwhile knows rows of events that are not read
    ahead.begin(place);
    this.#hasNews = true;
    this.#movedAtMs = -Infinity;
    this.#workedUnder = epoch;
    this.#tell(await routing.waiting());
    return true;
  }

  /** Events are read where there may be some. Answers the webhooks that are to hear of them. */
  async #read(): Promise<readonly string[]> {
    const { routing, ahead } = this.#ports;
    const after = ahead.readTo;
    const isWanted = this.#hasNews || this.#hasMore || this.#isUnsettled || !ahead.isOpen;
    if (after === null || ahead.room === 0 || !isWanted) return [];
    this.#hasNews = false;
    try {
      const { events, webhooks, more, unsettled } = await routing.read(after, ahead.room);
      this.#hasMore = more;
      this.#isUnsettled = unsettled;
      ahead.read(events, !more);
      return webhooks;
    } catch (error) {
      this.#hasNews = true;
      throw error;
    }
  }

  /** Null: it is not held any more. */
  async #route(epoch: number): Promise<{ readonly webhooks: readonly string[]; readonly more: boolean } | null> {
    const { routing, ahead, leaseClockMs } = this.#ports;
    const nowMs = leaseClockMs();
    if (ahead.room > EVENTS_AHEAD_MAX / 2 && nowMs - this.#movedAtMs < MOVES_APART_MS_MIN) return NOT_MOVED;
    const [from, settled] = [ahead.place, ahead.settled()];
    if (from === null || settled === null || isSame(from, settled.to)) return NOT_MOVED;
    this.#movedAtMs = nowMs;
    const moving = routing.route(epoch, { from, ...settled });
    this.#moving = moving.catch(() => {}); // who waits wants its end; what went wrong is thrown below
    try {
      const routed = await moving;
      if (routed === null) return null;
      this.#isAt(routed.place);
      const more = !isSame(routed.place, settled.to);
      if (more) this.#movedAtMs = -Infinity; // with many webhooks it is moved bit by bit, and goes on at once
      return { webhooks: routed.webhooks, more };
    } catch (error) {
      if (!(error instanceof NothingWritten)) this.#doubt ??= Promise.withResolvers();
      throw error;
    } finally {
      this.#moving = null;
    }
  }

  #tell(webhooks: readonly string[]): void {
    this.#untold = webhooks.filter(
      (id) => !this.#ports.directory.tell({ to: { kind: 'webhook', id }, message: { type: 'deliveries-stored' } }),
    );
  }
}

const NOT_MOVED = { webhooks: [], more: false };

function isSame(one: EventPlace, other: EventPlace): boolean {
  return one.txid === other.txid && one.seq === other.seq;
}
