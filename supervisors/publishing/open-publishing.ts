/** How events leave: the channels, and what wakes them. */
import type { Clock } from '../../actors/ports.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Unwind } from '../../transport/net/unwind.ts';
import type { Broker } from '../../actors/published-event.ts';
import type { Directory } from '../runtime/directory.ts';
import { BrokerChannel, type BrokerRows } from './broker-channel.ts';
import type { WebhookSupply } from '../ports.ts';
import type { TaskLease } from '../tasks/held-task.ts';
import { WebhookDeliveries, type DeliveryRows } from './deliveries.ts';
import { EventsAhead } from './events-ahead.ts';
import { WebhooksChannel, type RoutingPort } from './webhooks-channel.ts';

/** What the rows offer. */
export interface PublishingRows {
  /** What the database grants, in ms. */
  readonly leaseMs: number;
  readonly webhooks: {
    readonly lease: TaskLease;
    readonly routing: RoutingPort;
    readonly rows: DeliveryRows;
    /** Tries of a delivery, as set. */
    readonly attemptsMax: number;
  };
  readonly broker: { readonly lease: TaskLease; readonly rows: BrokerRows };
  /** Hears what other admins and this one store. */
  hear(told: StoredNotices): { stop(): void };
}

/** What is heard. Each returns at once. */
export interface StoredNotices {
  /** There are events, or may be. */
  stored(): void;
  /** Another admin changed this webhook. */
  webhookChanged(id: string): void;
  /** It may have been missed which webhooks were changed, as nothing was heard for a while. */
  webhooksMissed(): void;
}

/** What publishing needs. */
export interface PublishingPorts {
  readonly rows: PublishingRows;
  readonly directory: Pick<Directory, 'tell' | 'evictWebhooks'>;
  readonly ownership: { hasPeers(): boolean; takesTasks(): boolean };
  /** Connects to the broker. Null: none is configured. */
  readonly openBroker: (() => Promise<Broker>) | null;
  readonly clock: Clock;
  readonly leaseClockMs: () => number;
  readonly log: Log;
  /** Gets what is to be ended. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** The channels of this admin. */
export interface Publishing {
  /** Whether webhooks are delivered from here, and not by another admin. */
  readonly deliversWebhooks: () => boolean;
  /** What webhooks are sent. */
  readonly webhookSupply: WebhookSupply;
  /** Null: none is configured. */
  readonly broker: Pick<BrokerChannel, 'problem'> | null;
  /** For metrics. */
  readings(): { readonly broker: BrokerReadings | null };
  /** Tries for the leases once, then goes on by itself. Its end gives them back, once nothing is under way. */
  start(): Promise<void>;
}

/** What was published. */
export interface BrokerReadings {
  readonly published: number;
  readonly tooOld: number;
  readonly failures: number;
  /** Null: another admin publishes. */
  readonly isUp: boolean | null;
}

/** Not started. It is heard already what is stored, so that nothing of it is missed. */
export function openPublishing(ports: PublishingPorts): Publishing {
  const { rows, directory, ownership, openBroker, clock, leaseClockMs, log, ends } = ports;
  const takesTasks = (): boolean => ownership.takesTasks();
  const channel = { leaseMs: rows.leaseMs, clock, leaseClockMs, takesTasks, random: Math.random, log };
  const ahead = new EventsAhead(rows.webhooks.attemptsMax, monotonicMs);
  const webhooks = new WebhooksChannel({ ...channel, ...rows.webhooks, ahead, directory });
  const webhookSupply = new WebhookDeliveries({
    rows: rows.webhooks.rows,
    ahead,
    whenQuiet: (run) => webhooks.whenQuiet(run),
  });
  const hasPeers = (): boolean => ownership.hasPeers();
  const broker =
    openBroker === null ? null : new BrokerChannel({ ...channel, ...rows.broker, hasPeers, open: openBroker });
  const hearing = rows.hear(wakingBy(webhooks, broker, { directory, webhookSupply }));
  return {
    deliversWebhooks: () => webhooks.holds(),
    webhookSupply,
    broker,
    readings: () => ({ broker: broker === null ? null : readingsOf(broker) }),
    start: async () => {
      ends.add('publishing', async () => {
        hearing.stop();
        await Promise.all([webhooks.stop(), broker?.stop()]);
      });
      await Promise.all([webhooks.start(), broker?.start()]);
    },
  };
}

function wakingBy(
  webhooks: WebhooksChannel,
  broker: BrokerChannel | null,
  { directory, webhookSupply }: Pick<PublishingPorts, 'directory'> & Pick<Publishing, 'webhookSupply'>,
): StoredNotices {
  return {
    stored() {
      webhooks.wake();
      broker?.wake();
    },
    webhookChanged(id) {
      directory.evictWebhooks([id]);
      webhookSupply.ended(id);
    },
    webhooksMissed: () => webhooks.reread(),
  };
}

function readingsOf(broker: BrokerChannel): BrokerReadings {
  const { published, tooOld, failures } = broker.counters;
  return { published, tooOld, failures, isUp: broker.holds() ? broker.problem() === null : null };
}
