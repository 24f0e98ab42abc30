/** Webhooks and deliveries for tests of their behaviour, with everything that a test does not speak of filled in. */
import type { Effect } from '../../../actors/step.ts';
import type { WebhookRecord } from '../../../actors/records.ts';
import type { Attempt, DeliveryRef } from '../../../actors/webhook/delivery.ts';
import type { WebhookMessage } from '../../../actors/webhook/messages.ts';
import { unloaded, type WebhookState, type Windowed } from '../../../actors/webhook/state.ts';
import { webhookBehaviour, type WebhookSettings } from '../../../actors/webhook/transition.ts';
import { decideBatch } from '../../../supervisors/runtime/batch.ts';
import { Mailbox } from '../../../supervisors/runtime/mailbox.ts';
import { id, MADE_MS, NOW_MS } from '../actors.ts';

/** Webhook 1. */
export const RECORD: WebhookRecord = {
  id: id('a', 9),
  url: 'https://receiver.test/hook',
  subscribedEvents: ['edge.core.test'],
  sealedSecret: 'sealed secret',
  sealedHeaders: 'sealed headers',
  insertedAtMs: MADE_MS,
};

/** Two requests at a time, and a second before the second try. */
export const SETTINGS: WebhookSettings = { concurrency: 2, retryBaseMs: 1_000 };

/** The behaviour under test. */
export const behaviour = webhookBehaviour(SETTINGS);

/** Delivery `number`, of a subject of its own, three tries. */
export function delivery(number: number, more: Partial<DeliveryRef> = {}): DeliveryRef {
  return {
    id: id('d', number),
    cursor: `100-${number}`,
    eventId: id('e', number),
    subject: id('b', number),
    attempts: 0,
    attemptsMax: 3,
    dueAtMs: null,
    unstored: null,
    ...more,
  };
}

/** A webhook that holds these, all it has. */
export function webhook(
  window: readonly (DeliveryRef | Windowed)[] = [],
  more: Partial<WebhookState> = {},
): WebhookState {
  return {
    ...unloaded(RECORD),
    supply: 'idle',
    loadedTo: '100-99',
    window: window.map((one) => ('ref' in one ? one : { ref: one, phase: 'ready', isRedelivery: false })),
    ...more,
  };
}

/** A delivery that is being sent. */
export function sending(ref: DeliveryRef): Windowed {
  return { ref, phase: 'sending', isRedelivery: false };
}

/** What the webhook does with messages one after another: its state, and what the last of them came to. */
export function after(state: WebhookState, ...messages: readonly WebhookMessage[]) {
  let last = decided(state, messages[0] as WebhookMessage);
  for (const message of messages.slice(1)) last = decided(last.state, message);
  return last;
}

/** What it does with one message that is a batch of its own. */
export function decided(state: WebhookState, message: WebhookMessage, nowMs = NOW_MS) {
  const mailbox = new Mailbox<WebhookMessage>();
  mailbox.push(message);
  const batch = decideBatch(behaviour, state, mailbox, nowMs);
  return { state: batch.state, changes: batch.changes, effects: batch.effects };
}

/** An answer with a status. */
export function answered(statusCode: number, more: Partial<Extract<Attempt, { type: 'answered' }>> = {}): Attempt {
  return {
    type: 'answered',
    atMs: NOW_MS - 5,
    durationMs: 5,
    statusCode,
    retryAfterMs: null,
    answer: 'thanks',
    ...more,
  };
}

/** A try that nobody answered. */
export const FAILED: Attempt = {
  type: 'failed',
  atMs: NOW_MS - 5,
  durationMs: 5,
  error: 'The connection was refused.',
};

/** What a try of a delivery came to, with the least jitter. */
export function attempted(ref: DeliveryRef, attempt: Attempt | null, random = 0): WebhookMessage {
  return { type: 'delivery-attempted', delivery: ref.id, attempt, random };
}

/** Ids of the deliveries that are sent by these effects. */
export function sentBy(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.type === 'send-delivery' ? [effect.delivery.id] : []));
}
