/**
 * The id of a delivery: whoever makes the delivery of an event to a webhook makes the same, so that there is never a
 * second one. Pure. In SQL: persistence/publishing/routing.ts.
 */

/** Of a UUID: what is left of its last 64 bits behind the variant. Source: RFC 9562, 4.1. */
const LOW_MASK = (1n << 62n) - 1n;
const VARIANT = 1n << 63n;

/** Of the place of an event, as many bits as there are between version and variant. Source: RFC 9562, 5.7. */
const PLACE_MASK = 0xfffn;

/** What an event gives to the ids of its deliveries. */
export interface DeliveredEvent {
  readonly id: string;
  readonly seq: string;
  /** When it was stored, by the database's clock, Unix ms. */
  readonly storedAtMs: number;
}

/**
 * A UUID of version 7 by the time at which the event was stored, and its place; behind it the sum of what is random in
 * both ids: one webhook cannot have another one's for the same event.
 */
export function deliveryId(webhook: string, { id, seq, storedAtMs }: DeliveredEvent): string {
  const time = BigInt(storedAtMs).toString(16).padStart(12, '0');
  const place = (BigInt(seq) & PLACE_MASK).toString(16).padStart(3, '0');
  const low = (((lowOf(webhook) + lowOf(id)) & LOW_MASK) | VARIANT).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-${low.slice(0, 4)}-${low.slice(4)}`;
}

function lowOf(uuid: string): bigint {
  return BigInt(`0x${uuid.slice(19, 23)}${uuid.slice(24)}`) & LOW_MASK;
}
