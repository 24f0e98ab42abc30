/** A delivery that succeeds at its first try is one row, and who is slow holds up nobody who is not. */
import test from 'ava';
import type { WebhookDeliveryResource } from '../../../actors/resources/webhook.ts';
import { FOLLOWER_QUIET_MS_MAX } from '../../../supervisors/publishing/events-ahead.ts';
import { scaled } from '../../support/busy.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { answers, openReceiver, type Endpoint, type Receiver } from '../../support/webhooks/receiver.ts';

const scope = createScope();
let fleet: Fleet;
let receiver: Receiver;

test.before(async () => {
  receiver = await openReceiver(scope);
  fleet = await startFleet(scope, { env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' } });
});
test.after.always('it ends', () => scope.end());

/** A webhook to a receiver of its own. */
async function subscribe(endpoint: Endpoint): Promise<string> {
  const body = { url: endpoint.url, secret: 'secret-of-the-webhook', subscribed_events: ['edge.core.test'] };
  return (await fleet.rest.post<{ id: string }>('/webhooks', body)).id;
}

const event = async (): Promise<string> => (await fleet.rest.post<{ id: string }>('/events/test', {})).id;

const arrived = (endpoint: Endpoint, id: string): Promise<unknown> =>
  until('it arrives', () => endpoint.arrivals.some((arrival) => arrival.id === id));

/** The deliveries of a webhook, as a client is told of them. */
const deliveriesOf = (webhook: string): Promise<readonly WebhookDeliveryResource[]> =>
  fleet.rest.get(`/webhook_deliveries?webhook_id__in=${webhook}&sort=inserted_at`);

test.serial('of one that follows each delivery is written once, and tells of its try', async (t) => {
  const endpoint = receiver.endpoint(answers(200, { body: 'thank you' }));
  const webhook = await subscribe(endpoint);
  await arrived(endpoint, await event());
  await until('it is stored', async () => (await deliveriesOf(webhook)).some(({ status }) => status === 'delivered'));
  const events = [await event(), await event(), await event()];
  await until('all are stored', async () => (await deliveriesOf(webhook)).length === 4);

  const stored = await deliveriesOf(webhook);
  t.deepEqual(
    stored.slice(1).map(({ event_id: id }) => id),
    events,
  );
  t.true(stored.every(({ status, attempt_count: count }) => status === 'delivered' && count === 1));
  const { attempts = [] } = await fleet.rest.get<WebhookDeliveryResource>(`/webhook_deliveries/${stored[3]!.id}`);
  t.like(attempts, [{ number: 1, status_code: 200, error: null, response_body: 'thank you' }]);
  t.is(attempts.length, 1);
  t.deepEqual(await fleet.sql('select from webhook_attempt'), []);
});

test.serial(
  'a receiver that holds what it was sent delays neither another one nor its own rows for long',
  async (t) => {
    const [slow, well] = [receiver.endpoint(), receiver.endpoint()];
    const webhook = await subscribe(slow);
    await subscribe(well);
    for (const endpoint of [slow, well]) await arrived(endpoint, await event());
    const held = slow.hold();

    const first = await event();
    await held.caught;
    const beganMs = performance.now();
    await arrived(well, first);
    await arrived(well, await event());
    t.true(performance.now() - beganMs < scaled(FOLLOWER_QUIET_MS_MAX), 'it did not wait for the other one');
    const waiting = async () => (await deliveriesOf(webhook)).filter(({ status }) => status === 'pending').length;
    await until('what waits is in lists', async () => (await waiting()) === 2);
    held.release();

    await until('it arrives', async () => (await waiting()) === 0);
    const deliveries = await deliveriesOf(webhook);
    t.true(deliveries.every(({ status }) => status === 'delivered'));
    t.is(new Set(deliveries.map(({ event_id: id }) => id)).size, deliveries.length);
  },
);
