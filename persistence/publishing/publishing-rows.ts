/** By which events leave, as the channels of this admin ask for it. */
import type { GroupCommitter } from '../committer/committer.ts';
import type { Database } from '../connections/database.ts';
import type { Listener } from '../connections/listening.ts';
import { storedDeliveries, unfinishedDeliveries } from '../loader/webhooks.ts';
import type { TaskTaker } from '../ownership/task-leases.ts';
import { advanceBroker, nextForBroker } from './broker-rows.ts';
import { CHANNEL_LEASE_MS, channelLeases, placeOf, type Place } from './channels.ts';
import { hearEvents, type EventNotices } from './event-notices.ts';
import { BROKER_CHANNEL, WEBHOOKS_CHANNEL } from './names.ts';
import { eventsToRoute, routeEvents, webhooksWithDeliveries, type Route } from './routing.ts';

/** The settings that say how events are kept and called, under their names. */
export interface PublishingSettings {
  readonly CORE_NAME: string;
  readonly WEBHOOK_MAX_ATTEMPTS: number;
  readonly EVENT_DELIVERY_MAX_AGE_SECONDS: number;
}

/** Of which admin, and over which connections. */
export interface PublishingPlace extends TaskTaker {
  readonly database: Pick<Database, 'pool' | 'writes'>;
  readonly listener: Pick<Listener, 'hear'>;
  readonly committer: Pick<GroupCommitter, 'caughtUp'>;
}

/** Leases of both channels, what they read and write, and what wakes them. */
export function publishingRows(
  settings: PublishingSettings,
  { adminId, instanceId, database, listener, committer }: PublishingPlace,
) {
  const { pool } = database;
  const leases = channelLeases(database.writes, { adminId, instanceId });
  const leaseOf = (name: string) => ({
    claim: () => leases.claim(name),
    renew: (epoch: number) => leases.renew(name, epoch),
    release: (epoch: number) => leases.release(name, epoch),
  });
  return {
    leaseMs: CHANNEL_LEASE_MS,
    webhooks: {
      lease: leaseOf(WEBHOOKS_CHANNEL),
      attemptsMax: settings.WEBHOOK_MAX_ATTEMPTS,
      rows: {
        unfinished: (webhook: string, after: string | null, limit: number) =>
          unfinishedDeliveries(pool, webhook, after, limit),
        stored: (ids: readonly string[]) => storedDeliveries(pool, ids),
      },
      routing: {
        place: (epoch: number) => placeOf(pool, WEBHOOKS_CHANNEL, epoch, true),
        read: (after: Place, limit: number) => eventsToRoute(pool, after, limit),
        route: (epoch: number, route: Route) => routeEvents(pool, epoch, route, settings.WEBHOOK_MAX_ATTEMPTS),
        caughtUp: () => committer.caughtUp(),
        waiting: () => webhooksWithDeliveries(pool),
      },
    },
    broker: {
      lease: leaseOf(BROKER_CHANNEL),
      rows: {
        next: (epoch: number, after: Parameters<typeof nextForBroker>[2], limit: number) =>
          nextForBroker(pool, epoch, after, limit, settings.EVENT_DELIVERY_MAX_AGE_SECONDS * 1_000, settings.CORE_NAME),
        advance: (epoch: number, to: string) => advanceBroker(pool, epoch, to),
      },
    },
    hear: (told: EventNotices) => hearEvents(listener, adminId, told),
  };
}
