/** Webhooks, what is delivered to them, and how that went. */
import { defineEntity, p } from '@mikro-orm/core';
import { DELIVERY_STATUSES } from '../../actors/resources/webhook.ts';
import type { EventType } from '../../actors/events.ts';
import { dates, instant } from './columns.ts';

/** Never leaves this process with its secret or headers (E4). Never changes. */
export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  properties: {
    id: p.uuid().primary(),
    url: p.text(),
    subscribedEvents: p.array().columnType('text[]').$type<readonly EventType[]>(),
    sealedSecret: p.text(),
    sealedHeaders: p.text(),
    txid: p.string().columnType('xid8').defaultRaw('event_transaction()'),
    ...dates,
  },
});

/** One event for one webhook. Written set-based (delivery-statements, routing). */
export const WebhookDelivery = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_delivery',
  properties: {
    id: p.uuid().primary().defaultRaw('uuid_v7()'),
    webhookId: p.uuid(),
    eventTxid: p.string().columnType('xid8'),
    eventSeq: p.bigint('string'),
    eventId: p.uuid(),
    eventType: p.text(),
    subject: p.uuid(),
    status: p.enum([...DELIVERY_STATUSES]).default('pending'),
    attemptCount: p.integer().default(0),
    attemptsMax: p.integer(),
    nextAttemptAt: instant().nullable(),
    lastStatusCode: p.integer().nullable(),
    lastError: p.text().nullable(),
    lastDurationMs: p.integer().nullable(),
    lastAttemptedAt: instant().nullable(),
    lastResponseBody: p.text().nullable(),
    ...dates,
  },
  indexes: [{ name: 'webhook_delivery_of_webhook', properties: ['webhookId', 'id'] }],
});

/** One try of a delivery. */
export const WebhookAttempt = defineEntity({
  name: 'WebhookAttempt',
  tableName: 'webhook_attempt',
  properties: {
    deliveryId: p.uuid().primary(),
    number: p.integer().primary(),
    attemptedAt: instant(),
    durationMs: p.integer(),
    statusCode: p.integer().nullable(),
    error: p.text().nullable(),
    responseBody: p.text().nullable(),
  },
});

/** How far a channel has come, and who serves it. */
export const EventChannel = defineEntity({
  name: 'EventChannel',
  tableName: 'event_channel',
  properties: {
    name: p.text().primary(),
    txid: p.string().columnType('xid8'),
    seq: p.bigint('string'),
    adminId: p.uuid().nullable(),
    epoch: p.bigint('string').defaultRaw('0'),
    leaseUntil: instant().nullable(),
  },
});
