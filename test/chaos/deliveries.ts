/** Receivers of a fixture's events, and the books of what was asked of its webhooks. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventType } from '../../actors/events.ts';
import type { AdminProgram } from '../support/fleet/admin-program.ts';
import { FLEET_KEYS } from '../support/fleet.ts';
import { restClient } from '../support/fleet/rest.ts';
import {
  answers,
  breaksOff,
  hangsUp,
  isMoody,
  isSilent,
  openReceiver,
  type Endpoint,
  type Manner,
  type Receiver,
} from '../support/webhooks/receiver.ts';
import type { Scope } from '../support/scope.ts';
import { until } from '../support/until.ts';
import {
  deliveryBreaches,
  EXPECTED_DELIVERIES,
  type ExpectedDelivery,
  type Subscribed,
} from './delivery-invariants.ts';
import type { Fixture } from './fixture.ts';

/**
 * Settings of admins whose deliveries are watched: retries that fit a round. The moody receiver makes some deliveries
 * fail for good.
 */
export const DELIVERY_ENV = {
  WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
  WEBHOOK_RETRY_BASE_MS: '20',
  WEBHOOK_TIMEOUT_MS: '500',
  WEBHOOK_MAX_ATTEMPTS: '4',
} as const;

/** What every webhook here gets. */
const TYPES: readonly EventType[] = [
  'edge.command_execution.created',
  'edge.command_execution.sent',
  'edge.command_execution.completed',
  'edge.command_execution.cancelled',
  'edge.core.test',
];

/** Longest until all that is owed was delivered or dropped, in ms, once everything is back. */
const SETTLED_MS_MAX = 60_000;

/** Pause before a client asks again that had no answer, in ms. */
const AGAIN_MS = 100;

/** A webhook in the books. */
export interface Subscription {
  readonly name: string;
  readonly endpoint: Endpoint;
  id: string;
  deletedMs: number | null;
  readonly redelivered: Map<string, number>;
}

/** Webhooks of a fixture. */
export interface Deliveries {
  readonly fixture: Fixture;
  readonly receiver: Receiver;
  /** One that always answers, and is there all the time. */
  readonly steady: Subscription;
  /** Asks for a webhook until it is there: without an answer the client asks again under its key. */
  subscribe(name: string, manner?: Manner): Promise<Subscription>;
  /** Asks for its deletion until it is gone. */
  remove(subscription: Subscription): Promise<void>;
  /** Asks for a delivered event once more. False: nobody answered, or not with 202. */
  redeliver(subscription: Subscription, event: string): Promise<boolean>;
  /** Stores a test event; resolves to its id, or to null without an answer. */
  event(at?: AdminProgram): Promise<string | null>;
  /** Resolves when nothing is owed any more. */
  settled(): Promise<void>;
  /** Settles, and looks at everything since the fixture began. */
  breaches(): Promise<readonly string[]>;
  counts(): Promise<{
    readonly events: number;
    readonly delivered: number;
    readonly dropped: number;
    readonly arrivals: number;
  }>;
}

/** Receivers for a fixture, and a webhook to each: a steady, a slow, a flapping and a moody one. */
export async function openDeliveries(scope: Scope, fixture: Fixture): Promise<Deliveries> {
  const receiver = await openReceiver(scope);
  const { fleet } = fixture;
  const subscriptions: Subscription[] = [];
  let asked = 0;

  async function subscribe(name: string, manner: Manner = answers(204)): Promise<Subscription> {
    const endpoint = receiver.endpoint(manner);
    const key = `webhook-${(asked += 1)}`;
    const body = { url: endpoint.url, secret: `secret of ${key}`, subscribed_events: TYPES };
    const id = await persist(async () => {
      const answer = await fleet.rest.call<{ id: string }>('POST', '/webhooks', {
        body,
        headers: { 'idempotency-key': key },
      });
      if (answer.status !== 201) throw new Error(`a webhook was answered ${answer.status}: ${answer.text}`);
      return answer.data.id;
    });
    const made: Subscription = {
      name: `${name} (${endpoint.path})`,
      endpoint,
      id,
      deletedMs: null,
      redelivered: new Map(),
    };
    subscriptions.push(made);
    return made;
  }

  async function expected(): Promise<readonly ExpectedDelivery[]> {
    return fleet.sql<ExpectedDelivery & Record<string, unknown>>(EXPECTED_DELIVERIES);
  }

  /** Cheaper than to read all that was ever owed. */
  async function isSettled(): Promise<boolean> {
    const [row] = await fleet.sql<{
      open: boolean;
    }>(`select exists (select from webhook_delivery d join webhook w on w.id = d.webhook_id where d.status = 'pending')
      or exists (select from event_channel c join event e on (e.txid, e.seq) > (c.txid, c.seq) join webhook w on e.type = any(w.subscribed_events) and e.txid > w.txid where c.name = 'webhooks') as open`);
    return row?.open === false;
  }

  const deliveries: Omit<Deliveries, 'steady'> = {
    fixture,
    receiver,
    subscribe,
    async remove(subscription) {
      await persist(async () => {
        const answer = await fleet.rest.call('DELETE', `/webhooks/${subscription.id}`);
        if (answer.status !== 204 && answer.status !== 404) throw new Error(`a deletion was answered ${answer.status}`);
      });
      subscription.deletedMs = Date.now();
    },
    async redeliver(subscription, event) {
      const [row] = await fleet.sql<{ id: string }>(
        'select id from webhook_delivery where webhook_id = $1 and event_id = $2',
        [subscription.id, event],
      );
      const before = subscription.endpoint.arrivals.filter(({ id }) => id === event).length;
      const answer = await fleet.rest.call('POST', `/webhook_deliveries/${row?.id}/redeliver`).catch(() => null);
      if (answer?.status === 202 || answer === null)
        // unanswered: it may be sent, and need not be
        subscription.redelivered.set(event, answer === null ? before - 1 : before);
      return answer?.status === 202;
    },
    event: (at) =>
      restClient(() => (at ?? fleet.admins[0])?.url ?? '', FLEET_KEYS.MASTER_KEY)
        .post<{ id: string }>('/events/test')
        .then(
          ({ id }) => id,
          () => null,
        ),
    settled: async () => {
      await until('the end of all deliveries', isSettled, SETTLED_MS_MAX);
    },
    async breaches() {
      const [late] = await Promise.allSettled([deliveries.settled()]);
      const webhooks: Subscribed[] = subscriptions.map(({ name, id, endpoint: { path }, deletedMs, redelivered }) => ({
        name,
        id,
        path,
        deletedMs,
        redelivered,
      }));
      return [
        ...(late.status === 'rejected' ? ['V2: deliveries did not come to an end'] : []),
        ...errorsOf(fleet.admins),
        ...deliveryBreaches({ webhooks, expected: await expected(), arrivals: receiver.log }),
      ];
    },
    async counts() {
      const [row] = await fleet.sql<{ events: number; delivered: number; dropped: number }>(
        `select (select count(*)::int from event) as events, count(*) filter (where status = 'delivered')::int as delivered, count(*) filter (where status = 'dropped')::int as dropped from webhook_delivery`,
      );
      return {
        events: row?.events ?? 0,
        delivered: row?.delivered ?? 0,
        dropped: row?.dropped ?? 0,
        arrivals: receiver.log.length,
      };
    },
  };
  const steady = await subscribe('steady');
  await subscribe('slow', answers(200, { afterMs: 60, body: 'in my own time' }));
  await subscribe('flapping', isMoody([answers(204), answers(204), answers(503)]));
  await subscribe(
    'moody',
    isMoody([
      answers(200),
      answers(200),
      answers(500),
      answers(429, { headers: { 'retry-after': '0' } }),
      hangsUp,
      breaksOff,
      isSilent,
    ]),
  );
  return { ...deliveries, steady };
}

/** What admins took for a bug: whatever is killed, nothing is one. */
function errorsOf(admins: readonly AdminProgram[]): string[] {
  return admins.flatMap(({ name, runs }) =>
    runs.flatMap((run) =>
      run
        .lines()
        .filter(({ level }) => level === 'error')
        .map((line) => `${name} logged an error: ${JSON.stringify(line)}`),
    ),
  );
}

/** Until it is answered as wanted: admins are killed meanwhile. */
async function persist<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + SETTLED_MS_MAX;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(AGAIN_MS);
    }
  }
}
