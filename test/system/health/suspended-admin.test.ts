/**
 * An admin whose machine was suspended: its monotonic clock says that no time passed, and another admin does its work
 * (O1).
 */
import type { ServerResponse } from 'node:http';
import test from 'ava';
import { deliverers } from '../../chaos/delivery-takeovers.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { answers, openReceiver } from '../../support/webhooks/receiver.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

/** Longest without deliveries, in ms: a lease of 10 s and a look every 3 s, and two seconds for a busy machine. */
const TAKEN_OVER_MS_MAX = 15_000;

/** Requests on their way at once. */
const CONCURRENCY = 4;

/** How long the database takes to say whose the lease is, in ms: so long the one that wakes has only its own clock. */
const ANSWERED_AFTER_MS = 1_500;

/** As a program of a suspended machine sees the time: a stopped process stands for it. */
const SUSPENDED = new URL('../../support/suspended.ts', import.meta.url).pathname;

test('a suspended admin trusts none of its leases when it wakes: it sends nothing that another delivered meanwhile', async (t) => {
  const receiver = await openReceiver(t);
  const fleet = await startFleet(t, {
    admins: 2,
    env: {
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      WEBHOOK_RETRY_BASE_MS: '50',
      WEBHOOK_CONCURRENCY: String(CONCURRENCY),
      NODE_OPTIONS: `--import=${SUSPENDED}`,
    },
  });
  const { holder, other } = await deliverers(fleet);
  const at = restClient(() => other.url, FLEET_KEYS.MASTER_KEY);
  const held: ServerResponse[] = [];
  const endpoint = receiver.endpoint((response, arrival) =>
    held.length < CONCURRENCY ? held.push(response) : answers(204)(response, arrival),
  );
  await at.post('/webhooks', {
    url: endpoint.url,
    secret: 'secret-of-the-webhook',
    subscribed_events: ['edge.core.test'],
  });
  const stored = await Promise.all(Array.from({ length: 60 }, () => at.post<{ id: string }>('/events/test')));
  await until('the first requests', () => held.length === CONCURRENCY);

  holder.program.pause();
  const from = holder.program.output.length;
  await until(
    'all of them delivered by the other',
    async () => (await fleet.sql(`select from webhook_delivery where status = 'delivered'`)).length === stored.length,
    TAKEN_OVER_MS_MAX,
  );
  const posted = endpoint.arrivals.length;
  const asking = fleet.sql(
    `with lease as (select from event_channel where name = 'webhooks' for update) select pg_sleep($1) from lease`,
    [ANSWERED_AFTER_MS / 1_000],
  );
  await until(
    'a database that is slow to say whose the lease is',
    async () =>
      (await fleet.sql(`select from event_channel where name = 'webhooks' for update skip locked`)).length === 0,
  );
  // each makes room for a request that waits at the suspended one
  for (const response of held) response.writeHead(204).end();
  holder.program.resume();
  await asking;
  await holder.program.logged('another admin publishes these events now', from);

  t.deepEqual(column(endpoint.arrivals.slice(posted), 'id'), []);
});
