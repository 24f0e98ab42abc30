/**
 * Two admins and one channel of webhooks: what the one that does not deliver says, and what happens when the one that
 * delivers dies or freezes.
 */
import type { ServerResponse } from 'node:http';
import test from 'ava';
import type { WebhookDeliveryResource } from '../../../actors/resources/webhook.ts';
import { deliverers } from '../../chaos/delivery-takeovers.ts';
import { BUSY_MS } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { answers, openReceiver, type Endpoint, type Receiver } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

/** Longest without deliveries, in ms: a lease of 3 s, a look each second, and a second for the rest of the way. */
const TAKEN_OVER_MS_MAX = 5_000;

/**
 * Timeout of one request of an admin, in ms: above what a busy machine takes to answer, so that none is sent again.
 */
const TIMEOUT_MS = 60_000;

/** Longest until the other admin has heard of a deletion, in ms: without that the requests last for TIMEOUT_MS. */
const HEARD_MS_MAX = 1_000 + BUSY_MS;

/** Requests that come at once. */
const CONCURRENCY = 2;

const scope = createScope();
let fleet: Fleet;
let receiver: Receiver;

test.before('two admins start', async () => {
  receiver = await openReceiver(scope);
  fleet = await startFleet(scope, {
    admins: 2,
    env: {
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      WEBHOOK_RETRY_BASE_MS: '50',
      WEBHOOK_CONCURRENCY: String(CONCURRENCY),
      WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
    },
  });
});
test.after.always('they end', () => scope.end());

const at = (admin: AdminProgram): Rest => restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
const event = async (admin: AdminProgram): Promise<string> => (await at(admin).post<{ id: string }>('/events/test')).id;
const events = (admin: AdminProgram, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => event(admin)));
const idsAt = ({ arrivals }: Endpoint): Set<string> => new Set(arrivals.map(({ id }) => id));

/**
 * Answers so many requests, and holds what comes after them until it is to go on: most events wait, however late that
 * is.
 */
function holdingAfter(requests: number): { readonly endpoint: Endpoint; readonly goOn: () => void } {
  const gate = Promise.withResolvers<void>();
  const endpoint: Endpoint = receiver.endpoint(async (response, arrival) => {
    if (endpoint.arrivals.length > requests) await gate.promise;
    return answers(204, { afterMs: 50 })(response, arrival);
  });
  return { endpoint, goOn: gate.resolve };
}

async function subscribe(admin: AdminProgram, url: string): Promise<string> {
  return (
    await at(admin).post<{ id: string }>('/webhooks', {
      url,
      secret: 'secret-of-the-webhook',
      subscribed_events: ['edge.core.test'],
    })
  ).id;
}

test.serial('a webhook and an event that either admin takes are delivered once', async (t) => {
  const { holder, other } = await deliverers(fleet);
  const endpoint = receiver.endpoint();
  const webhook = await subscribe(other, endpoint.url);

  const stored = [await event(holder), await event(other)];

  await until('both events', () => idsAt(endpoint).size === 2);
  t.deepEqual(endpoint.arrivals.map(({ id }) => id).toSorted(), stored.toSorted());
  t.is((await settledAnswer(() => at(holder).call('DELETE', `/webhooks/${webhook}`))).status, 204);
});

test.serial('a redelivery is done by the admin that delivers, wherever it is asked', async (t) => {
  const { holder, other } = await deliverers(fleet);
  const endpoint = receiver.endpoint();
  const webhook = await subscribe(holder, endpoint.url);
  await event(holder);
  const [delivery] = await until('the delivery', async () => {
    const rows = await at(other).get<readonly WebhookDeliveryResource[]>(
      `/webhook_deliveries?webhook_id__in=${webhook}&status__in=delivered`,
    );
    return rows.length === 1 ? rows : null;
  });

  const elsewhere = await settledAnswer(() => at(other).call('POST', `/webhook_deliveries/${delivery?.id}/redeliver`));
  await until('the second request', () => endpoint.arrivals.length === 2);
  const gone = await settledAnswer(() => at(other).call('POST', `/webhook_deliveries/${webhook}/redeliver`));

  t.is(elsewhere.status, 202, elsewhere.text);
  t.is(gone.status, 404);
  t.is(idsAt(endpoint).size, 1);
  t.is((await settledAnswer(() => at(other).call('DELETE', `/webhooks/${webhook}`))).status, 204);
});

test.serial(
  'a deletion at the admin that does not deliver ends deliveries at the other at once, also those that are under way',
  async (t) => {
    const { holder, other } = await deliverers(fleet);
    let open = 0;
    const endpoint = receiver.endpoint((response) => {
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
    });
    const webhook = await subscribe(holder, endpoint.url);
    await events(holder, 10);
    await until('requests under way', () => open === CONCURRENCY);

    const answer = await settledAnswer(() => at(other).call('DELETE', `/webhooks/${webhook}`));
    await until('the end of those requests', () => open === 0, HEARD_MS_MAX);
    const witness = receiver.endpoint();
    const seen = await subscribe(holder, witness.url);
    await events(holder, 10);
    await until('as many requests to another', () => idsAt(witness).size === 10);

    t.is(answer.status, 204);
    t.is(endpoint.arrivals.length, CONCURRENCY);
    await at(holder).call('DELETE', `/webhooks/${seen}`);
  },
);

test.serial(
  'another admin delivers in time for one that freezes, which sends and stores nothing when it wakes',
  async (t) => {
    const { holder, other } = await deliverers(fleet);
    const { endpoint, goOn } = holdingAfter(4);
    const kept: ServerResponse[] = [];
    const patient = receiver.endpoint((response, arrival) =>
      kept.length < 2 ? kept.push(response) : answers(204)(response, arrival),
    ); // both requests of the first admin
    const webhook = await subscribe(holder, endpoint.url);
    const slow = await subscribe(holder, patient.url);
    const stored = await events(other, 60);
    await until('the first requests', () => endpoint.arrivals.length > 4 && kept.length === 2);

    holder.program.pause();
    const pausedMs = performance.now();
    const from = holder.program.output.length;
    const count = endpoint.arrivals.length;
    goOn();
    try {
      // up to two were on their way
      await until('requests from the other admin', () => endpoint.arrivals.length > count + 2, TAKEN_OVER_MS_MAX);
      t.log(`delivered again after ${Math.round(performance.now() - pausedMs)} ms`);
      await until(
        'all of them stored',
        async () =>
          (
            await fleet.sql(`select from webhook_delivery where webhook_id in ($1, $2) and status = 'delivered'`, [
              webhook,
              slow,
            ])
          ).length ===
          2 * stored.length,
      );
      for (const response of kept) response.writeHead(503).end(); // the frozen admin reads these when it wakes
    } finally {
      holder.program.resume();
    }
    const sent = receiver.log.length;
    await holder.program.logged('another admin publishes these events now', from);
    const later = await event(holder);
    await until('a later event', () => idsAt(endpoint).has(later) && idsAt(patient).has(later));

    t.deepEqual(column(receiver.log.slice(sent), 'id'), [later, later]);
    t.deepEqual(
      await fleet.sql(
        `select from webhook_delivery where webhook_id = $1 and (status <> 'delivered' or attempt_count <> 1) and event_id <> $2`,
        [slow, later],
      ),
      [],
    );
    t.deepEqual(
      await fleet.sql(
        `select a.status_code from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id where d.webhook_id = $1 and a.status_code <> 204`,
        [slow],
      ),
      [],
    );
    t.deepEqual(
      holder.program.lines(from).filter(({ level }) => level === 'error'),
      [],
    ); // a guard refused what it wanted to store
    t.is((await deliverers(fleet)).holder, other);
    for (const id of [webhook, slow]) await at(other).call('DELETE', `/webhooks/${id}`);
  },
);

test.serial(
  'the admin that delivers is killed: the other delivers what was stored, within the time of a lease',
  async (t) => {
    const { holder, other } = await deliverers(fleet);
    const { endpoint, goOn } = holdingAfter(2);
    await subscribe(holder, endpoint.url);
    const stored = await events(other, 40);
    await until('the first requests', () => endpoint.arrivals.length > 2);

    await holder.kill();
    const killedMs = performance.now();
    const count = endpoint.arrivals.length;
    goOn();
    stored.push(await event(other));
    await until('requests from the other admin', () => endpoint.arrivals.length > count + 2, TAKEN_OVER_MS_MAX);
    t.log(`delivered again after ${Math.round(performance.now() - killedMs)} ms`);

    await until('all events', () => idsAt(endpoint).size === stored.length);
    t.deepEqual([...idsAt(endpoint)].toSorted(), stored.toSorted());
  },
);
