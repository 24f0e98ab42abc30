/** What must be true of deliveries when everything is back (V2). The receiver's own log is the truth. */
import { scaled } from '../support/busy.ts';
import type { Arrival } from '../support/webhooks/receiver.ts';

/** A webhook that was asked for. */
export interface Subscribed {
  readonly name: string;
  readonly id: string;
  /** Where its deliveries arrive. */
  readonly path: string;
  /** When its deletion was answered, in Unix ms; null: it is there. */
  readonly deletedMs: number | null;
  /** Events whose redelivery was answered with 202, with the arrivals that there were then. */
  readonly redelivered: ReadonlyMap<string, number>;
}

/** An event that a webhook is to get, as rows have it, with what they say became of it; null: there is no delivery. */
export interface ExpectedDelivery {
  readonly webhook_id: string;
  readonly event_id: string;
  readonly type: string;
  readonly subject: string;
  readonly status: string | null;
  readonly attempt_count: number;
  readonly attempts_max: number;
  /** Numbers of the recorded tries, in order. */
  readonly tries: readonly number[];
  /** How many of them have a status code. */
  readonly answered: number;
}

/** Everything that the checks look at. */
export interface DeliveryEvidence {
  readonly webhooks: readonly Subscribed[];
  /** In the order of the commits. */
  readonly expected: readonly ExpectedDelivery[];
  /** In the order in which they came. */
  readonly arrivals: readonly Arrival[];
}

/** Statement that reads what is owed. */
export const EXPECTED_DELIVERIES = `select w.id as webhook_id, e.id as event_id, e.type, e.subject, d.status, coalesce(d.attempt_count, 0) as attempt_count, coalesce(d.attempts_max, 0) as attempts_max,
  coalesce(a.numbers, case d.attempt_count when 1 then '{1}'::int[] else '{}' end) as tries, case when a.numbers is null then num_nonnulls(d.last_status_code) else a.answered end as answered
  from webhook w join event e on e.type = any(w.subscribed_events) and e.txid > w.txid
  left join webhook_delivery d on d.webhook_id = w.id and d.event_id = e.id
  left join lateral (select array_agg(number order by number) as numbers, count(status_code)::int as answered from webhook_attempt where delivery_id = d.id) a on true
  order by e.txid, e.seq`;

/**
 * How long after an answered deletion a request may still be read that was sent before, in ms: it was in the receiver's
 * buffers, and the machine may be busy.
 */
export const CUT_MS_MAX = 250;

/**
 * Types of one execution's events: none of a later rank comes before one of an earlier. Does not lean on what the
 * database says of order.
 */
const RANKS: Readonly<Record<string, number>> = { created: 0, sent: 1, completed: 2, cancelled: 2, expired: 2 };

/** What was broken, one line each; empty when all held. */
export function deliveryBreaches({ webhooks, expected, arrivals }: DeliveryEvidence): string[] {
  const byPath = Map.groupBy(
    arrivals.map((arrival, place) => ({ arrival, place })),
    ({ arrival }) => arrival.path,
  );
  const expectedBy = Map.groupBy(expected, ({ webhook_id: id }) => id);
  return [
    ...arrivals.flatMap(ofArrival),
    ...webhooks.flatMap((webhook) =>
      ofWebhook(webhook, expectedBy.get(webhook.id) ?? [], byPath.get(webhook.path) ?? []),
    ),
  ];
}

interface Placed {
  readonly arrival: Arrival;
  /** In the receiver's log. */
  readonly place: number;
}

function ofArrival(arrival: Arrival): string[] {
  const { id } = JSON.parse(arrival.body) as { readonly id: string };
  return id === arrival.id ? [] : [`V2: event ${id} came under the id ${arrival.id}`];
}

function ofWebhook(webhook: Subscribed, expected: readonly ExpectedDelivery[], came: readonly Placed[]): string[] {
  const byEvent = Map.groupBy(came, ({ arrival }) => arrival.id);
  const problems: string[] = [];
  const say = (what: string, event: string) => problems.push(`V2: ${what} (webhook ${webhook.name}, event ${event})`);

  for (const [event, tries] of byEvent)
    if (new Set(tries.map(({ arrival }) => arrival.body)).size > 1) say('it came with two contents', event);
  if (webhook.deletedMs === null) {
    const known = new Set(expected.map(({ event_id: id }) => id));
    for (const event of byEvent.keys()) if (!known.has(event)) say('it came to a webhook that it is not for', event);
    for (const one of expected)
      ofDelivery(
        webhook,
        one,
        (byEvent.get(one.event_id) ?? []).map(({ arrival }) => arrival),
        say,
      );
  } else {
    for (const { arrival } of came)
      if (arrival.beganMs > webhook.deletedMs + scaled(CUT_MS_MAX))
        say(`it came ${arrival.beganMs - webhook.deletedMs} ms after the deletion was answered`, arrival.id);
  }
  for (const ofSubject of Map.groupBy(expected, ({ subject }) => subject).values())
    inOrder(webhook, ofSubject, byEvent, say);
  ranked(came, say);
  return problems;
}

function ofDelivery(
  webhook: Subscribed,
  expected: ExpectedDelivery,
  came: readonly Arrival[],
  say: (what: string, event: string) => void,
): void {
  const { event_id: event, status, attempt_count: count, attempts_max: most, tries } = expected;
  const taken = came.filter(
    (arrival) => arrival.status !== null && arrival.status >= 200 && arrival.status < 300,
  ).length;
  if (status === null) return say('nobody made a delivery of it', event);
  if (status === 'pending') say('it is still pending', event);
  if (status === 'delivered' && taken === 0) say('it is said to be delivered, and the receiver did not take it', event);
  if (status === 'dropped' && count !== most) say(`it was dropped after ${count} tries of ${most}`, event);
  if (tries.length !== count || tries.some((number, index) => number !== index + 1))
    say(`of ${count} tries those are recorded: ${tries.join()}`, event);
  if (expected.answered > came.filter((arrival) => arrival.status !== null).length)
    say('more answers are recorded than the receiver gave', event);
  const before = webhook.redelivered.get(event);
  if (before !== undefined && came.length <= before) say('it was to be sent once more, and was not', event);
}

/**
 * Of one subject nothing is sent before the one before it is through: taken by its receiver, or over with all of its
 * tries. What was taken may come once more behind the next, where its lease ran out while the answer was being stored:
 * at least once is promised. Redeliveries keep no order.
 */
function inOrder(
  webhook: Subscribed,
  expected: readonly ExpectedDelivery[],
  byEvent: ReadonlyMap<string, readonly Placed[]>,
  say: (what: string, event: string) => void,
): void {
  let through: Placed | undefined;
  for (const { event_id: event } of expected) {
    const came = byEvent.get(event) ?? [];
    const [first] = came;
    if (first !== undefined && through !== undefined && first.place < through.place) {
      say(
        `it came before the one before it was through: ${through.arrival.id} came ${byEvent
          .get(through.arrival.id)
          ?.map(({ arrival }) => `at ${arrival.atMs - first.arrival.atMs} ms (${arrival.status})`)
          .join(', ')}`,
        event,
      );
    }
    const regular = webhook.redelivered.has(event) ? came.slice(0, 1) : came;
    const end =
      regular.find(({ arrival: { status } }) => status !== null && status >= 200 && status < 300) ?? regular.at(-1);
    if (end !== undefined && (through === undefined || end.place > through.place)) through = end;
  }
}

function ranked(came: readonly Placed[], say: (what: string, event: string) => void): void {
  const highest = new Map<string, number>();
  const seen = new Set<string>();
  for (const { arrival } of came) {
    if (seen.has(arrival.id)) continue;
    seen.add(arrival.id);
    const { type, data } = JSON.parse(arrival.body) as {
      readonly type: string;
      readonly data: { readonly command_execution_id?: string };
    };
    const [, name = ''] = /^edge\.command_execution\.(\w+)$/u.exec(type) ?? [];
    const [rank, execution] = [RANKS[name], data.command_execution_id];
    if (rank === undefined || execution === undefined) continue;
    if (rank < (highest.get(execution) ?? 0)) say(`${name} came after what follows it`, arrival.id);
    highest.set(execution, Math.max(rank, highest.get(execution) ?? 0));
  }
}
