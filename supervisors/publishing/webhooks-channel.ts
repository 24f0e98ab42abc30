/** The channel of the webhooks: stored events become deliveries, and the webhooks that have new ones are told. */
import { NothingWritten } from '../../actors/ports.ts';
import type { Directory } from '../runtime/directory.ts';
import { Channel, type ChannelPorts, type Outcome } from './channel.ts';

/** What routing asks of the rows. */
export interface RoutingPort {
  /**
   * Routes some events, in one transaction, after any before it has ended. Null: the channel is not held under this
   * epoch any more. Rejects with anything but NothingWritten where it may have been stored all the same.
   */
  route(
    epoch: number,
  ): Promise<{ readonly webhooks: readonly string[]; readonly more: boolean; readonly unsettled: boolean } | null>;
  /** Resolves when the tries that wait to be stored now are stored. */
  caughtUp(): Promise<void>;
  /** Webhooks with unfinished deliveries. */
  waiting(): Promise<readonly string[]>;
}

/** What it needs besides a channel. */
export interface WebhooksChannelPorts extends Omit<ChannelPorts, 'name' | 'work' | 'lost' | 'mayGiveWay'> {
  readonly routing: RoutingPort;
  readonly directory: Pick<Directory, 'tell' | 'evictWebhooks'>;
}

/** The channel of the webhooks, not started. While it is held, webhooks are delivered from here. */
export class WebhooksChannel {
  readonly #ports: WebhooksChannelPorts;
  readonly #channel: Channel;
  /** Told of deliveries, and too busy to hear. */
  #untold: readonly string[] = [];
  #workedUnder: number | null = null;
  /** Events may have been routed with an answer that was lost: no later round names their webhooks. */
  #isInDoubt = false;

  constructor(ports: WebhooksChannelPorts) {
    this.#ports = ports;
    this.#channel = new Channel({
      ...ports,
      name: 'webhooks',
      work: (epoch) => this.#work(epoch),
      lost: () => ports.directory.evictWebhooks(),
      mayGiveWay: () => false, // its work is in the database, which is the same everywhere
    });
  }

  /** Tries for the lease once, then goes on by itself. */
  start(): Promise<void> {
    return this.#channel.start();
  }

  /** Gives the lease back. Resolves when nothing is under way. */
  stop(): Promise<void> {
    return this.#channel.stop();
  }

  /** There may be events. */
  wake(): void {
    this.#channel.wake();
  }

  /** Whether this admin serves it, by its own lease clock (O1). */
  holds(): boolean {
    return this.#channel.holds();
  }

  /**
   * It may have been missed that webhooks were deleted elsewhere: all start from their rows, and those that are gone
   * get nothing more (V2).
   */
  reread(): void {
    this.#workedUnder = null;
    this.#channel.wake();
  }

  async #work(epoch: number): Promise<Outcome> {
    const { routing, directory } = this.#ports;
    // What the admin before us, or our own self before a crash or a pause, left unfinished. Who lives here already may
    // not know of it.
    if (this.#workedUnder !== epoch) {
      directory.evictWebhooks();
      await routing.caughtUp(); // else a new actor could find a delivery as it was before its last try
      this.#tell(await routing.waiting());
      this.#workedUnder = epoch;
    }
    const routed = await this.#route(epoch);
    if (routed === null) return 'lost';
    // Read after it: the transaction of which nothing was heard has ended by then.
    const waiting = this.#isInDoubt ? await routing.waiting() : [];
    this.#isInDoubt = false;
    this.#tell([...new Set([...this.#untold, ...routed.webhooks, ...waiting])]);
    if (routed.more) return 'more';
    return routed.unsettled || this.#untold.length > 0 ? 'soon' : 'none';
  }

  async #route(epoch: number): Promise<Awaited<ReturnType<RoutingPort['route']>>> {
    try {
      return await this.#ports.routing.route(epoch);
    } catch (error) {
      if (!(error instanceof NothingWritten)) this.#isInDoubt = true;
      throw error;
    }
  }

  #tell(webhooks: readonly string[]): void {
    this.#untold = webhooks.filter(
      (id) => !this.#ports.directory.tell({ to: { kind: 'webhook', id }, message: { type: 'deliveries-stored' } }),
    );
  }
}
