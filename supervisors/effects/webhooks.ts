/** Deliveries of webhooks: read from rows, posted, cut. */
import type { WebhookEffect } from '../../actors/webhook/effects.ts';
import type { Loader, WebhookSender } from '../ports.ts';
import type { Performers } from '../runtime/domain-effects.ts';

/** Performs them for the webhook that asks. */
export function webhookEffects(
  loader: Pick<Loader, 'deliveries'>,
  webhookSender: WebhookSender,
): Performers<WebhookEffect> {
  return {
    'load-deliveries': async ({ load, after, limit }, actor) => {
      const loaded = await actor.untilLoaded(() => loader.deliveries(actor.self.id, after, limit));
      if (loaded !== null)
        actor.report({ type: 'deliveries-loaded', load, deliveries: loaded.deliveries, more: loaded.more });
    },
    post: async ({ webhook, delivery }, actor) => {
      const attempt = await webhookSender.post(webhook, delivery);
      actor.report({ type: 'delivery-attempted', delivery: delivery.id, attempt, random: Math.random() });
    },
    'cut-posts': (_effect, { self }) => webhookSender.cut(self.id),
  };
}
