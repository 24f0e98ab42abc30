/** The channel of the webhooks: stored events become deliveries, and the webhooks that have new ones are told. */
import type { Directory } from '../runtime/directory.ts';
import { createChannel } from './channel.ts';
import type { Channel, ChannelPorts, Outcome } from './channel.ts';

/** What routing asks of the rows. */
export interface RoutingPort {
  /** Routes some events, in one transaction. Null: the channel is not held under this epoch any more. */
  route(
    epoch: number,
  ): Promise<{ readonly webhooks: readonly string[]; readonly more: boolean; readonly unsettled: boolean } | null>;
  /** Resolves when the tries that wait to be stored now are stored. */
  caughtUp(): Promise<void>;
  /** Webhooks with unfinished deliveries. */
  waiting(): Promise<readonly string[]>;
}

/** What it needs besides a channel. */
export interface WebhooksChannelPorts extends Omit<ChannelPorts, 'name' | 'work' | 'lost'> {
  readonly routing: RoutingPort;
  readonly directory: Pick<Directory, 'tell' | 'evictWebhooks'>;
}

/** The channel of the webhooks. */
export interface WebhooksChannel extends Channel {
  /**
   * It may have been missed that webhooks were deleted elsewhere: all start from their rows, and those that are gone
   * get nothing more (V2).
   */
  reread(): void;
}

/** The channel, not started. While it is held, webhooks are delivered from here. */
export function createWebhooksChannel(ports: WebhooksChannelPorts): WebhooksChannel {
  const { routing, directory } = ports;
  /** Told of deliveries, and too busy to hear. */
  let untold: readonly string[] = [];
  let workedUnder: number | null = null;

  async function work(epoch: number): Promise<Outcome> {
    // What the admin before us, or our own self before a crash or a pause, left unfinished. Who lives here already may
    // not know of it.
    if (workedUnder !== epoch) {
      directory.evictWebhooks();
      await routing.caughtUp(); // else a new actor could find a delivery as it was before its last try
      tell(await routing.waiting());
      workedUnder = epoch;
    }
    const routed = await routing.route(epoch);
    if (routed === null) return 'lost';
    tell([...new Set([...untold, ...routed.webhooks])]);
    if (routed.more) return 'more';
    return routed.unsettled || untold.length > 0 ? 'soon' : 'none';
  }

  function tell(webhooks: readonly string[]): void {
    untold = webhooks.filter(
      (id) => !directory.tell({ to: { kind: 'webhook', id }, message: { type: 'deliveries-stored' } }),
    );
  }

  const channel = createChannel({ ...ports, name: 'webhooks', work, lost: () => directory.evictWebhooks() });
  return {
    ...channel,
    reread() {
      workedUnder = null;
      channel.wake();
    },
  };
}
