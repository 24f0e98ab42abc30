/**
 * A webhook that is there from the beginning to the end, and what came to its receiver: whether that is all, in order
 * (V2).
 */
import type { EventType } from '../../../actors/events.ts';
import { answers, openReceiver } from '../../support/webhooks/receiver.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { deliveryBreaches, EXPECTED_DELIVERIES, type ExpectedDelivery } from '../delivery-invariants.ts';
import type { Fixture } from '../fixture.ts';

/** Settings of admins: a receiver near by, and tries that outlast what is done to them. */
export const SUBSCRIBER_ENV = {
  WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
  WEBHOOK_RETRY_BASE_MS: '50',
  WEBHOOK_TIMEOUT_MS: '2000',
  WEBHOOK_MAX_ATTEMPTS: '10',
} as const;

/** What it gets: all that happens to executions, and more of which the order matters. */
const TYPES: readonly EventType[] = [
  'edge.command_execution.created',
  'edge.command_execution.sent',
  'edge.command_execution.completed',
  'edge.command_execution.cancelled',
  'edge.command_execution.expired',
];

/** Longest until all was delivered, in ms, once everything is back. */
const SETTLED_MS_MAX = 30_000;

/** How things that clients ask for never are called. */
export const SUBSCRIBER = 'hook-1';

/**
 * Subscribes; the returned function says what was broken, once everything is back. `address`: where its receiver is.
 */
export async function subscribe(
  scope: Scope,
  { fleet }: Fixture,
  address: string | undefined,
): Promise<() => Promise<readonly string[]>> {
  const receiver = await openReceiver(scope, address);
  const { path, url } = receiver.endpoint(answers(204));
  const { id } = await fleet.rest.post<{ readonly id: string }>('/webhooks', {
    url,
    secret: 'a-secret-of-the-receiver-with-32-characters',
    subscribed_events: TYPES,
  });
  const pending = async (): Promise<number> => {
    const [row] = await fleet.sql<{ count: number }>(
      "select count(*)::int as count from event e left join webhook_delivery d on d.event_id = e.id and d.webhook_id = $1 where e.type = any($2) and e.txid > (select txid from webhook where id = $1) and coalesce(d.status, 'pending') = 'pending'",
      [id, TYPES],
    );
    return row?.count ?? 0;
  };
  return async () => {
    await until('the end of all deliveries', async () => (await pending()) === 0, SETTLED_MS_MAX).catch(() => null); // a line for each
    const expected = (await fleet.sql<ExpectedDelivery>(EXPECTED_DELIVERIES)).filter((one) => one.webhook_id === id);
    const webhook = { name: 'of the history', id, path, deletedMs: null, redelivered: new Map<string, number>() };
    return deliveryBreaches({ webhooks: [webhook], expected, arrivals: receiver.log });
  };
}
