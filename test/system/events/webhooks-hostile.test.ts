/**
 * Receivers that are slow, wrong or hostile, seen through a running admin: what is tried, what is recorded, and that
 * order is kept (V2).
 */
import test, { type ExecutionContext } from 'ava';
import type { EventType } from '../../../actors/events.ts';
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { WebhookDeliveryResource, WebhookResource } from '../../../actors/resources/webhook.ts';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import {
  answers,
  breaksOff,
  drips,
  envelopeOf,
  floods,
  hangsUp,
  isSilent,
  openReceiver,
  type Manner,
  type Receiver,
} from '../../support/webhooks/receiver.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';

/**
 * Timeout of one request, in ms, and tries: small, so that a test is quick, and enough for receivers that are well.
 */
const TIMEOUT_MS = scaled(2_000);
const ATTEMPTS = 3;

interface Fixture {
  readonly rest: Rest;
  readonly receiver: Receiver;
  readonly subscribe: (url: string, types?: readonly EventType[]) => Promise<WebhookResource>;
  /** The one delivery of a webhook once it is finished, with its tries. */
  readonly finished: (webhook: WebhookResource) => Promise<WebhookDeliveryResource>;
}

async function startFixture(t: ExecutionContext): Promise<Fixture> {
  const admin = await startTestAdmin(t, {
    WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
    WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
    WEBHOOK_MAX_ATTEMPTS: String(ATTEMPTS),
    WEBHOOK_RETRY_BASE_MS: '10',
  });
  const rest = restClient(() => admin.url, ADMIN_KEYS.MASTER_KEY);
  return {
    rest,
    receiver: await openReceiver(t),
    subscribe: (url, types = ['edge.core.test']) =>
      rest.post('/webhooks', { url, secret: 'secret-of-the-webhook', subscribed_events: types }),
    finished: (webhook) =>
      until(
        `the end of a delivery to ${webhook.url}`,
        async () => {
          const [row] = await rest.get<readonly WebhookDeliveryResource[]>(
            `/webhook_deliveries?webhook_id__in=${webhook.id}`,
          );
          return row === undefined || row.status === 'pending'
            ? null
            : rest.get<WebhookDeliveryResource>(`/webhook_deliveries/${row.id}`);
        },
        10 * ATTEMPTS * TIMEOUT_MS,
      ),
  };
}

/** Tries as the log has them, without their times. */
const triesOf = ({ attempts }: WebhookDeliveryResource) =>
  (attempts ?? []).map(({ number, status_code, error }) => ({ number, status_code, error }));
type Tries = ReturnType<typeof triesOf>;
const tries = (count: number, status_code: number | null, error: string | null = null): Tries =>
  Array.from({ length: count }, (_, index) => ({ number: index + 1, status_code, error }));

const NO_ANSWER = `No answer came within ${TIMEOUT_MS} ms.`;
const CLOSED = 'The connection was closed before an answer came.';

test('whatever a receiver does, the log says what came of each try, and the deliveries end as promised', async (t) => {
  const { rest, receiver, subscribe, finished } = await startFixture(t);
  const elsewhere = receiver.endpoint();
  const wantsItSoon = answers(429, { headers: { 'retry-after': '0' } });
  const redirects = answers(307, { headers: { location: elsewhere.url } });
  const cases: readonly (readonly [name: string, manner: Manner, status: string, tries: Tries])[] = [
    ['at once', answers(204), 'delivered', tries(1, 204)],
    ['slow, and in time', answers(200, { afterMs: 500 }), 'delivered', tries(1, 200)],
    ['never', isSilent, 'dropped', tries(3, null, NO_ANSWER)],
    ['with 500s', answers(500), 'dropped', tries(3, 500)],
    ['with 429, and wants it soon', wantsItSoon, 'dropped', tries(3, 429)],
    ['with a redirect', redirects, 'dropped', tries(3, 307)],
    ['a byte now and then', drips(TIMEOUT_MS / 20), 'dropped', tries(3, null, NO_ANSWER)],
    ['closing at once', hangsUp, 'dropped', tries(3, null, CLOSED)],
    ['closing in the middle of its answer', breaksOff, 'dropped', tries(3, null, CLOSED)],
    ['with a body without end', floods, 'delivered', tries(1, 200)],
    ['with 410', answers(410), 'dropped', tries(1, 410)],
  ];
  const made = await Promise.all(
    cases.map(async (one) => {
      const endpoint = receiver.endpoint(one[1]);
      return [...one, endpoint, await subscribe(endpoint.url)] as const;
    }),
  );

  const event = await rest.post<{ readonly id: string }>('/events/test', {});

  for (const [name, , status, wanted, endpoint, webhook] of made) {
    const delivery = await finished(webhook);
    t.like(
      delivery,
      {
        status,
        event_id: event.id,
        attempt_count: wanted.length,
        last_status_code: wanted.at(-1)?.status_code ?? null,
        next_attempt_at: null,
      },
      name,
    );
    t.deepEqual(triesOf(delivery), wanted, name);
    t.deepEqual(delivery.event, event as WebhookDeliveryResource['event'], name);
    t.true(
      (delivery.attempts ?? []).every(({ duration_ms: ms }) => ms >= 0 && ms < 10 * TIMEOUT_MS),
      name,
    );
    t.deepEqual(
      endpoint.arrivals.map((arrival) => [arrival.id, envelopeOf(arrival).id]),
      wanted.map(() => [event.id, event.id]),
      name,
    );
  }
  t.deepEqual(elsewhere.arrivals, []);
});

test('of an answer without end the first 4 KiB are kept', async (t) => {
  const { rest, receiver, subscribe, finished } = await startFixture(t);
  const webhook = await subscribe(receiver.endpoint(floods).url);

  await rest.post('/events/test', {});

  const [attempt] = (await finished(webhook)).attempts ?? [];
  t.is(attempt?.response_body, 'x'.repeat(4_096));
});

test('a flapping receiver gets the events of an entity in order, each after the one before and under one id', async (t) => {
  const { rest, receiver, subscribe } = await startFixture(t);
  let turn = 0;
  const moods = [answers(503), answers(204), hangsUp, answers(204), answers(204, { afterMs: 30 })];
  const endpoint = receiver.endpoint((response, arrival) => moods[(turn += 1) % moods.length]?.(response, arrival));
  await rest.post('/clusters', { name: 'flapping' });
  const nodes = await Promise.all(
    [1, 2, 3].map(() =>
      enrollRaw(t, {
        rest,
        key: () => rest.post<EnrollmentKeyResource>('/clusters/flapping/enrollment_keys', {}),
        admins: [],
      }),
    ),
  );
  const types: readonly EventType[] = ['edge.command_execution.created', 'edge.command_execution.cancelled'];
  const webhook = await subscribe(endpoint.url, types);

  for (let index = 0; index < 5; index += 1) {
    const command = await rest.post<CommandResource>('/commands', { command_text: 'true', targeting: { type: 'all' } });
    await rest.call('POST', `/commands/${command.id}/cancel`);
  }
  const total = 5 * nodes.length * types.length;
  const finished = await until('all deliveries', async () => {
    const rows = await rest.get<readonly WebhookDeliveryResource[]>(
      `/webhook_deliveries?webhook_id__in=${webhook.id}&page_size=100`,
    );
    return rows.length === total && rows.every(({ status }) => status !== 'pending') ? rows : null;
  });

  const tries = Map.groupBy(endpoint.arrivals.map(envelopeOf), ({ data }) => String(data['command_execution_id']));
  for (const [execution, told] of tries) {
    const names = told.map(({ type }) => type);
    t.deepEqual(
      names,
      names.toSorted((a, b) => types.indexOf(a) - types.indexOf(b)),
      execution,
    );
  }
  t.is(tries.size, 5 * nodes.length);
  for (const { event_id: event, status, attempt_count: count } of finished) {
    const came = endpoint.arrivals.filter(({ id }) => id === event);
    t.is(came.at(-1)?.status === 204 ? 'delivered' : 'dropped', status);
    t.true(came.length >= count && count <= ATTEMPTS);
  }
});
