/** The way out to webhooks: the guard that says which URLs may be called, and the requests through it. */
import type { Clock } from '../../../actors/ports.ts';
import type { Log } from '../../net/log.ts';
import type { UrlGuard } from '../../../api/ports.ts';
import { monotonicMs } from '../../net/clock.ts';
import { createGuard } from '../../net/outbound-guard/guard.ts';
import { deliveriesOf } from './counters.ts';
import { HttpWebhookSender, type WebhookSenderOptions } from './sender.ts';

/** The settings for it, under their names. */
export interface WebhookSettings {
  readonly WEBHOOK_ALLOW_PRIVATE_IPS: boolean;
  readonly WEBHOOK_TIMEOUT_MS: number;
  readonly WEBHOOK_CONCURRENCY: number;
}

/** What it needs. */
export interface WebhookOutPorts extends Pick<WebhookSenderOptions, 'vault' | 'bodyOf' | 'version'> {
  /** Whether webhooks are delivered from here, and not by another admin. */
  readonly deliversWebhooks: WebhookSenderOptions['mayDeliver'];
  readonly clock: Clock;
  readonly log: Log;
}

/** The way out. */
export interface WebhooksOut {
  readonly sender: HttpWebhookSender;
  readonly urlGuard: UrlGuard;
  /** For metrics: tries by what they came to. */
  readings(): { readonly webhookDeliveries: Readonly<Record<string, number>> };
}

/** Nothing is sent yet. */
export function openWebhooks(settings: WebhookSettings, ports: WebhookOutPorts): WebhooksOut {
  const { vault, bodyOf, version, deliversWebhooks, clock, log } = ports;
  const guard = createGuard({ allowPrivate: settings.WEBHOOK_ALLOW_PRIVATE_IPS });
  const sender = new HttpWebhookSender({
    vault,
    bodyOf,
    version,
    mayDeliver: deliversWebhooks,
    connect: guard.connector(),
    timeoutMs: settings.WEBHOOK_TIMEOUT_MS,
    connectionsMax: settings.WEBHOOK_CONCURRENCY,
    random: Math.random,
    monotonicMs,
    nowMs: () => clock.nowMs(),
    log,
  });
  return {
    sender,
    urlGuard: {
      async problem(url) {
        const verdict = await guard.check(url);
        return verdict.ok ? null : verdict.reason;
      },
    },
    readings: () => ({ webhookDeliveries: deliveriesOf(sender.counters) }),
  };
}
