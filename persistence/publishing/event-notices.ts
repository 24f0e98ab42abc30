/** Hears that events were stored, and that webhooks changed at other admins. */
import { systemClock } from '../../transport/net/clock.ts';
import type { Database } from '../database.ts';
import { EVENTS_STORED, WEBHOOK_CHANGES } from './names.ts';

/** Who is told. Each returns at once. */
export interface EventNotices {
  /** There are events, or may be. */
  stored(): void;
  /** Another admin changed this webhook. */
  webhookChanged(id: string): void;
  /** It may have been missed which webhooks were changed, as nothing was heard for a while. */
  webhooksMissed(): void;
}

/** What listens. */
export interface EventListener {
  /** Who is told from now on. */
  onNotice(told: EventNotices): void;
  stop(): Promise<void>;
}

/** Listens until it is stopped. What this admin did itself it is not told. */
export function hearEvents(database: Pick<Database, 'listen'>, adminId: string): EventListener {
  const listener = database.listen([EVENTS_STORED, WEBHOOK_CHANGES], systemClock);
  let hasListened = false;
  return {
    onNotice(told) {
      listener.onNotice((channel, payload) => {
        if (channel === EVENTS_STORED) return told.stored();
        if (payload === null) {
          if (hasListened) told.webhooksMissed();
        } else {
          const [by, id] = payload.split(' ');
          if (id !== undefined && by !== adminId) told.webhookChanged(id);
        }
        hasListened = true;
      });
    },
    stop: () => listener.stop(),
  };
}
