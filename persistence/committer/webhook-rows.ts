/** Webhooks as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ColdWrite } from '../../actors/writes.ts';
import { Webhook } from '../entities/webhook.ts';
import { EVENTS_STORED, WEBHOOK_CHANGES, WEBHOOKS_CHANNEL } from '../publishing/names.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

type WebhookWrite = Extract<ColdWrite, { kind: `webhook-${string}` }>;

/** Webhooks in all. Each event is held against each of them, and each may have WEBHOOK_CONCURRENCY connections. */
export const WEBHOOKS_MAX = 1_000;

/** Deliveries that go in the transaction that deletes their webhook; what is beyond goes in the next sweep. */
const DELIVERIES_AT_ONCE_MAX = 10_000;

/** Writes one of them. `adminId` does it: the admin that delivers is told, if that is another one. */
export async function writeWebhook(em: EntityManager, write: WebhookWrite, adminId: string): Promise<Written> {
  switch (write.kind) {
    case 'webhook-created':
      return createWebhook(em, write);
    case 'webhook-deleted': {
      if ((await em.nativeDelete(Webhook, { id: write.id })) === 0)
        throw new GuardRefused({ code: 'not_found', message: 'Resource not found' });
      await em.execute(
        `with gone as (delete from webhook_delivery where id in (select id from webhook_delivery where webhook_id = ? limit ?) returning id)
        delete from webhook_attempt a using gone where a.delivery_id = gone.id`,
        [write.id, DELIVERIES_AT_ONCE_MAX],
      );
      await em.execute('select pg_notify(?, ?)', [WEBHOOK_CHANGES, `${adminId} ${write.id}`]);
      return NOTHING_TO_TELL;
    }
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

/**
 * Nobody followed the events while there was no webhook: the first one starts the channel at itself. The lock makes
 * those created at once wait for each other.
 */
async function createWebhook(
  em: EntityManager,
  write: Extract<WebhookWrite, { kind: 'webhook-created' }>,
): Promise<Written> {
  await em.execute('select 1 from event_channel where name = ? for update', [WEBHOOKS_CHANNEL]);
  const count = await em.count(Webhook);
  if (count >= WEBHOOKS_MAX)
    throw new GuardRefused({
      code: 'conflict',
      message: `There are ${WEBHOOKS_MAX} webhooks already. Delete some first.`,
    });
  if (count === 0)
    await em.execute('update event_channel set txid = event_transaction(), seq = 0 where name = ?', [WEBHOOKS_CHANNEL]);
  const at = new Date(write.atMs);
  await em.execute(
    'insert into webhook (id, url, subscribed_events, sealed_secret, sealed_headers, inserted_at, updated_at) values (?, ?, ?::text[], ?, ?, ?, ?)',
    [write.id, write.url, `{${write.subscribedEvents.join(',')}}`, write.sealedSecret, write.sealedHeaders, at, at],
  );
  // what was stored meanwhile, and told of, was looked at while there was nobody to send it to
  if (count === 0) await em.execute('select pg_notify(?, ?)', [EVENTS_STORED, '']);
  return NOTHING_TO_TELL;
}
